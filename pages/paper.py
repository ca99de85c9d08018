"""Paper: the tables of the paper as plots, beside what was measured here."""

from collections.abc import Callable

import streamlit as st

from pages.address import BOUND
from pages.widgets import BARE, require_frame
from srs_core.figures.paper import accuracy_curves, attack_curves, attack_success_bars, difference_bars, speed_map
from srs_core.paper_tables import (
    CertifiedCurve,
    accuracy_under_attack,
    attack_success,
    certified_accuracy,
    cutoff_radii,
    radius_differences,
    timings,
)
from srs_core.smoothing.bounds import cutoff_radius, format_radius

DATASETS = {"CIFAR-10": "cifar10", "ImageNet": "imagenet"}
STUDIES = {
    "start points": "Starting from the clean picture's fixed point instead of the previous batch's.",
    "more steps": "How much a fifth warm step adds to three and to one.",
    "solvers": "Anderson against naive iteration, both with 30 steps.",
    "explicit network": "A common deep network, ResNet-110, under the same smoothing.",
    "deterministic methods": "Methods whose certificates need no noise; SRS at its best sigma for comparison.",
    "Jacobian regularisation": "Training with and without a penalty on the Jacobian of f.",
    "SmoothAdv training": "Training on adversarial examples of the smoothed model.",
}

SIDES = ("The paper", "Its published code", "This project")
DIFFERENCES = (
    (
        "Votes for the winner, after the audit",
        "lowered by the share that may be false",
        "votes *and* their total lowered alike, so the share does not fall",
        "lowered as in the paper, or by a tighter bound that also holds",
    ),
    (
        "Which votes are audited",
        "a sample of them",
        "the first batches after the warm-up",
        "a random choice over the whole run",
    ),
    (
        "The audit's reference",
        "the standard model, cold and with all its steps",
        "as many steps as the warm-up: 10 in its example",
        "the standard model: cold, up to 30 steps, stopped picture by picture",
    ),
    ("The class to certify comes from", "selection draws", "the audited sample", "selection draws"),
    ("S Anderson steps cost", "counted as S steps", "S + 2 evaluations of f", "S evaluations, for the same iterate"),
    (
        "Models",
        "small and large for CIFAR-10, small for ImageNet; the small one trained for 120 epochs",
        "the same",
        "trained on a processor, with less time; each model's card on the Home page says how",
    ),
)


Curves = dict[str, tuple[list[float], list[float]]]
"""Radii and percentages by the curve's name."""


@st.cache_data(show_spinner=False)
def measured_curves() -> dict[tuple[str, float], dict[str, Curves]]:
    """Our own certified accuracy in percent, by variant and sigma and then by model."""
    from srs_core.evaluate.results import shipped_results
    from srs_core.metrics import RADII
    from srs_core.metrics import certified_accuracy as certified_share

    found: dict[tuple[str, float], dict[str, Curves]] = {}
    for results in shipped_results():
        if results.sigma is None:
            continue
        variant = "large" if "large" in results.model else "small"
        percent = [100 * float(share) for share in certified_share(results.frame, RADII)]
        name = f"{results.name} ({len(results.frame)} pictures)"
        models = found.setdefault((variant, results.sigma), {})
        models.setdefault(results.model, {})[name] = (list(RADII), percent)
    return found


def show_accuracy() -> None:
    """The main tables."""
    st.markdown(
        "**Certified accuracy**: of all test pictures, how many are classified right *and* proven right within the "
        "radius. MDEQ-30A is plain smoothing with 30 Anderson steps, SRS-MDEQ-3A serialized smoothing with 3; N is "
        "naive iteration, B Broyden's method. Solid lines are serialized."
    )
    with st.container(horizontal=True):
        dataset = DATASETS[choice("Pictures", tuple(DATASETS), "dataset")]
        main = [curve for curve in certified_accuracy() if (curve.study, curve.dataset) == ("main", dataset)]
        variants = tuple(dict.fromkeys(curve.variant for curve in main))
        variant = choice("Model", variants, f"size_{dataset}", default=variants[-1])
        sigmas = tuple(str(sigma) for sigma in sorted({c.sigma for c in main if c.sigma and c.variant == variant}))
        sigma = choice("Noise σ", sigmas, f"sigma_{dataset}", default="0.5")
        measured = measured_curves().get((variant, float(sigma)), {}) if dataset == "cifar10" else {}
        models = tuple(measured)
        model = choice("Measured here", models, f"measured_{sigma}") if len(models) > 1 else "".join(models)
    shown = [curve for curve in main if (curve.variant, curve.sigma) == (variant, float(sigma))]
    ours = measured.get(model, {})
    st.plotly_chart(accuracy_curves(shown, ours), config=BARE, alt="Certified accuracy by radius.")
    st.dataframe(accuracy_table(shown), hide_index=True)
    if ours:
        st.caption(
            "Dashed with open diamonds: measured here, on the number of pictures given and with fewer votes a picture; "
            "the largest radii are out of reach for so few votes."
        )
    else:
        st.caption("The numbers are the paper's. For this model and noise nothing has been measured here yet.")


def show_ablations() -> None:
    """The smaller studies."""
    study = st.selectbox("Study", tuple(STUDIES), key="study", **BOUND)
    st.markdown(STUDIES[study])
    curves = [curve for curve in certified_accuracy() if curve.study == study]
    groups = tuple(dict.fromkeys((curve.dataset, curve.variant) for curve in curves))
    names = {
        f"{'ImageNet' if dataset == 'imagenet' else 'CIFAR-10'}, {variant}": (dataset, variant)
        for dataset, variant in groups
    }
    group = names[choice("Model", tuple(names), f"group_{study[:4].strip()}") if len(names) > 1 else next(iter(names))]
    shown = [curve for curve in curves if (curve.dataset, curve.variant) == group]
    st.plotly_chart(accuracy_curves(shown), config=BARE, alt=f"Certified accuracy by radius: {study}.")
    st.dataframe(accuracy_table(shown), hide_index=True)
    st.caption("The numbers are the paper's.")


def accuracy_table(curves: list[CertifiedCurve]) -> dict[str, list[str]]:
    """The same numbers as a table, a line for each model."""
    table = {"Model": [curve.model for curve in curves]}
    for position, radius in enumerate(curves[0].radii):
        table[f"r = {radius:.2f}"] = [f"{curve.percent[position]:g} %" for curve in curves]
    return table


def show_speed() -> None:
    """Radius and time, and the radius lost by taking fewer steps."""
    st.markdown(
        "**Fewer steps are faster but certify less, unless the start is warm.** Up and left is better. The number is "
        "the steps, the letter the solver. Times are the paper's, on an A100 graphics card, for 10,000 votes."
    )
    variant = choice("Model", ("small", "large"), "size_cifar10", default="small")
    rows = [row for row in timings() if (row.dataset, row.variant) == ("cifar10", variant)]
    st.plotly_chart(speed_map(rows), config=BARE, alt="Average certified radius against seconds an image.")
    st.markdown(
        "**Radius lost** against 30 steps (mean relative radius difference), for the same few steps from a cold and "
        "from a warm start:"
    )
    st.plotly_chart(
        difference_bars(radius_differences(), variant), config=BARE, alt="Radius lost, by solver and steps."
    )
    st.caption(
        "An evaluation is counted differently here: the published code's S Anderson steps evaluate f S + 2 times, ours "
        "S times for the same iterate."
    )


def show_attacks() -> None:
    """Attacks on certified pictures."""
    st.markdown(
        "**Do certificates hold against attacks?** An attack searches for a disturbance of a given size that changes "
        "the answer. What is certified must survive, so no attack's line may fall below the certified one."
    )
    variant = choice("Model", ("small", "large"), "size_cifar10", default="small")
    st.plotly_chart(
        attack_curves(accuracy_under_attack(), variant), config=BARE, alt="Accuracy under attack by radius."
    )
    attack = choice(
        "Attack", ("PGD", "m=1", "m=4", "m=8", "m=16"), "attack_kind", help="m is the number of noise draws."
    )
    st.plotly_chart(
        attack_success_bars(attack_success(), variant, attack), config=BARE, alt="Attacks that succeeded, by radius."
    )
    st.caption("In the paper no attack succeeded on a picture that was certified for its radius: all green bars are 0.")
    st.page_link("pages/attack.py", label="What attacks do to the certificates made here", icon=":material/bolt:")


def show_differences() -> None:
    """What this project does otherwise, plainly."""
    for topic, *columns in DIFFERENCES:
        with st.container(border=True):
            st.markdown(f"**{topic}**")
            for column, title, words in zip(st.columns(3), SIDES, columns, strict=True):
                column.caption(title)
                column.markdown(words)
    st.markdown(
        "Why the first two lines matter can be seen, and counted, on the page about "
        "correlation, in its part *What goes wrong*."
    )
    st.page_link("pages/correlation.py", label="Votes that depend on each other", icon=":material/arrow_forward:")
    st.subheader("A table that does not follow from its formula")
    st.markdown(
        "The paper prints the largest radius for each share of votes. From its own formula, with its 10,000 votes, "
        "1,000 audited, alpha = 0.001 and σ = 0.5, other numbers come out:"
    )
    printed = cutoff_radii()
    sizes = {"n": 10_000, "alpha": 0.001, "sigma": 0.5, "audit": 1_000}
    computed = {
        name: [format_radius(cutoff_radius(estimator=name, share=row.share, **sizes)) for row in printed]
        for name in ("rs", "paper", "joint")
    }
    st.dataframe(
        {
            "Share of votes": [f"{100 * row.share:g} %" for row in printed],
            "Plain, printed": [f"{row.plain:.3f}" for row in printed],
            "Plain, computed": computed["rs"],
            "SRS, printed": [f"{row.serialized:.3f}" for row in printed],
            "SRS, the paper's formula": computed["paper"],
            "SRS, joint": computed["joint"],
        },
        hide_index=True,
    )


def choice(label: str, options: tuple[str, ...], key: str, default: str | None = None, help: str | None = None) -> str:
    """One of a few options, in the address bar."""
    chosen = default if default in options else options[0]
    return st.segmented_control(label, options, default=chosen, required=True, key=key, help=help, wrap=True, **BOUND)


PARTS: dict[str, Callable[[], None]] = {
    "Certified accuracy": show_accuracy,
    "Ablations": show_ablations,
    "Speed": show_speed,
    "Attacks": show_attacks,
    "What differs here": show_differences,
}


def main() -> None:
    """Draw the page from top to bottom."""
    require_frame()
    st.title("The paper's own figures")
    st.markdown(
        "Gao, Hou, Xu and Liu, *Certified Robustness for Deep Equilibrium Models via Serialized Random Smoothing*, "
        "NeurIPS 2024 (arXiv 2411.00899), as interactive plots. Where this project has measured the same, it is drawn "
        "beside; the last part says plainly what differs."
    )
    part = choice("Table", tuple(PARTS), "table")
    PARTS[part]()


main()
