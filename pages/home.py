"""Home: what this is, one button, the models on the shelf."""

from typing import TYPE_CHECKING

import streamlit as st

from pages.widgets import device_words, metrics, model_cards, require_frame
from srs_core.words import Fact, plain_number

if TYPE_CHECKING:
    from srs_core.mdeq.cards import Card

LINKS = (
    ("certify", "Certify", "Your picture or a sample: two methods race, two certificates come out."),
    ("warm_start", "Warm start", "Why a few steps are enough when the solver starts where it last ended."),
    ("correlation", "Correlation", "What the audit protects from, and what it costs."),
    ("plane", "Plane", "A model in two dimensions, where a certificate can be checked with the eyes."),
    ("paper", "Paper", "The paper's own figures, beside what was measured here."),
    ("speed", "Speed", "What a certificate costs on a machine, by method, and what speed costs in turn."),
    ("attack", "Attack", "Try to break a certificate: inside its radius no attack may succeed."),
    ("evaluate", "Evaluate", "Many pictures at once: certified accuracy, and how methods compare."),
    ("history", "History", "All certificates so far: search, compare, export."),
)


def certify_a_sample() -> None:
    """Go to the Certify page and start there at once, with a sample and the default settings."""
    st.session_state["certify_source"] = "samples"
    st.session_state["certify_autostart"] = True
    st.switch_page("pages/certify.py")


def main() -> None:
    """Draw the page from top to bottom."""
    require_frame()
    st.title("How far can a picture be disturbed before the answer may change?")
    st.markdown(
        "A neural network can be fooled by changes that nobody sees. **Randomized smoothing** lets it vote on many "
        "noisy copies of a picture and turns the votes into a certificate: a distance within which no change can alter "
        "the answer. For deep equilibrium models this is slow, so **serialized smoothing** starts each "
        "vote's solver where the last one ended, and checks a random share of the votes so that the certificate still "
        "holds."
    )
    if st.button("Certify a sample now", type="primary", icon=":material/verified_user:"):
        certify_a_sample()
    st.subheader("Where to go")
    with st.container(horizontal=True, gap="small"):
        for name, title, words in LINKS:
            with st.container(border=True, width=262, height="stretch"):
                st.page_link(f"pages/{name}.py", label=f"**{title}**")
                st.caption(words)
    st.subheader("Models on the shelf")
    show_shelf()


def shelf_facts(card: "Card") -> list[Fact]:
    """What a model's card says about it; what was not measured is left out."""
    noise = "unknown" if card.sigma is None else f"{card.sigma:g}"
    facts = [Fact("Noise in training", noise, "σ, the noise's standard deviation, with pixel values from 0 to 1.")]
    measured = card.measured
    if "noisy_accuracy" in measured:
        words = f"Accuracy on {measured.get('pictures', 0):,} test pictures with that noise, complete solves."
        facts.append(Fact("Right under noise", f"{measured['noisy_accuracy']:.1%}", words))
    for entry in measured.get("cold", [])[-1:]:
        words = f"The relative residual ||f(z) - z|| / ||f(z)|| after {entry['steps']} cold steps, on average."
        facts.append(Fact("Distance to fixed point", plain_number(entry["residual"]), words))
    for entry in measured.get("warm", [])[-1:]:
        words = f"Share of answers after {entry['steps']} warm steps that differ from those of complete solves."
        facts.append(Fact("Quick answers that differ", f"{entry['disagreement']:.1%}", words))
    return facts


def show_shelf() -> None:
    """The models with what is known about them, and the device they run on."""
    cards = model_cards()
    if not cards:
        st.info("There is no trained model in `checkpoints/` yet: `python -m srs_core train` makes one.")
        return
    with st.container(horizontal=True, gap="small"):
        for card in cards:
            with st.container(border=True, width=400, height="stretch"):
                st.markdown(f"**{card.name}**", help=f"It knows {', '.join(card.classes[:20])}.")
                st.caption(f"MDEQ of the size “{card.variant}”, {len(card.classes):,} answers")
                metrics(shelf_facts(card), width=170)
    st.caption(f"Computations run on {device_words()}. Nothing is sent anywhere else.")


main()
