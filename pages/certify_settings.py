"""The Certify page's settings: widgets with safe defaults for the device, all of them in the address bar."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from pages.address import OneOf, Within
from pages.widgets import cached_model, chosen_card, number, pick_model
from srs_core.smoothing.settings import ESTIMATORS, PRECISIONS, SOLVER_NAMES, STARTS, Settings

if TYPE_CHECKING:
    from srs_core.mdeq.cards import Card
    from srs_core.mdeq.inference import InferenceMDEQ
    from srs_core.smoothing.certificate import Certificate
    from srs_core.timing import Speed

__all__ = ["MODES", "READERS", "Inputs", "Mode", "device_speed", "query_of", "seed_defaults", "settings_form"]

Mode = Literal["both", "plain", "serialized"]
MODES: dict[Mode, str] = {"both": "Both, side by side", "plain": "Plain only", "serialized": "Serialized only"}
SOLVER_WORDS = {"naive": "naive (repeat)", "anderson": "Anderson", "broyden": "Broyden"}
START_WORDS = {
    "previous": "previous batch",
    "mean": "mean of all so far",
    "clean": "the clean picture",
    "zero": "zero (cold)",
}
ESTIMATOR_WORDS = {"joint": "joint (tightest)", "exact": "exact", "paper": "as in the paper"}
PRECISION_WORDS = {"float32": "full (float32)", "bfloat16": "coarse (bfloat16)"}


LIMITS = {
    "n": Within(10, 1_000_000),
    "audit": Within(1, 1_000_000),
    "steps": Within(1, 100),
    "sigma": Within(0.01, 4.0),
    "alpha": Within(1e-9, 0.5),
    "n0": Within(1, 10_000),
    "batch_size": Within(1, 4096),
    "seed": Within(0, 2**31 - 1),
    "reference_steps": Within(1, 200),
}
CHOICES = {
    "solver": OneOf(SOLVER_NAMES),
    "start": OneOf(STARTS),
    "estimator": OneOf(ESTIMATORS),
    "proxy_precision": OneOf(PRECISIONS),
}
FORM = (*LIMITS, *CHOICES)
SHARED = ("n", "sigma", "alpha", "n0", "batch_size", "seed", "reference_steps")
READERS: dict[str, Callable[[str], Any]] = {
    "model": str,
    "picture": Within(0, 1_000_000),
    "run": OneOf(tuple(MODES)),
    **LIMITS,
    **CHOICES,
    "job": str,
    "kept": str,
}
"""How each setting is read from the address bar; whatever does not fit is refused there."""


@dataclass(frozen=True)
class Inputs:
    """What the visitor has chosen; `settings` are the serialized run's, from which the plain run's follow."""

    model: "InferenceMDEQ"
    mode: Mode
    settings: Settings


def query_of(certificates: "Sequence[Certificate]") -> dict[str, str]:
    """The part of the address that fills the widgets with the settings of these certificates of one run."""
    by_method = {certificate.method: certificate for certificate in certificates}
    chosen = by_method.get("srs", certificates[0])
    # A plain certificate knows nothing about the quick votes' settings, so they keep their defaults.
    names = [name for name in FORM if "srs" in by_method or name in SHARED]
    run = "both" if len(by_method) == 2 else {"srs": "serialized"}.get(chosen.method, "plain")
    query = {name: str(value) for name in names if (value := getattr(chosen, name)) is not None}
    return {"model": chosen.model, "run": run, **query, "n": str(chosen.planned_n)}


@st.cache_resource(show_spinner="Measuring how fast this device is …")
def device_speed(name: str) -> "Speed":
    """How fast the model runs here, measured once on a sample picture."""
    from srs_core.data import gallery
    from srs_core.images import load_image
    from srs_core.timing import measure_speed

    model = cached_model(name)
    side = model.variant.image_size
    image = gallery()[0].image
    if image.shape[1] != side:
        from srs_core.images import to_png

        image = load_image(to_png(image), (side, side)).tensor
    return measure_speed(model, image, Settings())


@st.cache_resource(show_spinner="Looking what this processor can do …")
def precision_complaint(name: str, precision: str) -> str | None:
    """Why the quick votes cannot be computed in this precision here; None if they can."""
    from srs_core.model import in_precision

    try:
        in_precision(cached_model(name), precision)
    except ValueError as error:
        return str(error)
    return None


def seed_defaults(card: "Card") -> None:
    """Fill in whatever neither the visitor nor the link has set, by what this device does in about ten seconds."""
    from srs_core.timing import default_sizes

    sigma = card.sigma or 0.25
    sized = default_sizes(device_speed(card.name), Settings(sigma=sigma))
    for name in FORM:
        st.session_state.setdefault(f"certify_{name}", getattr(sized, name))
    st.session_state.setdefault("certify_run", "both")


def settings_form(cards: "list[Card]") -> Inputs | None:
    """Draw the settings and return them, or a sentence on the page and None when they are impossible."""
    card = chosen_card("certify", cards)
    seed_defaults(card)

    def follow_model() -> None:
        # Noise of another strength than in training makes a model guess, so sigma goes with the model.
        st.session_state["certify_sigma"] = chosen_card("certify", cards).sigma or 0.25

    main = st.columns(4)
    with main[0]:
        pick_model("certify", cards, on_change=follow_model)
    _number(
        main[1],
        "Votes",
        "n",
        step=100,
        help="N: how many noisy copies each method looks at. More votes certify larger radii and take longer.",
    )
    _number(
        main[2],
        "Votes to audit",
        "audit",
        step=50,
        help="K: how many of the quick votes the standard model checks. It sets how large a radius serialized "
        "smoothing can reach.",
    )
    _number(
        main[3],
        "Steps per vote",
        "steps",
        step=1,
        help="S: how many evaluations of the network each quick vote of serialized smoothing may spend.",
    )
    st.segmented_control(
        "What to run",
        list(MODES),
        format_func=lambda mode: MODES[mode],
        key="certify_run",
        required=True,
        persist_state="session",
        help="Plain smoothing (RS) solves every noisy copy completely. Serialized smoothing (SRS) starts each solve "
        "where the last one ended, takes a few steps, and has a random share of its votes audited.",
    )
    with st.expander("More settings"):
        _more_settings(card)
    values = {name: st.session_state[f"certify_{name}"] for name in FORM}
    try:
        settings = Settings(method="srs", **values)
        model = cached_model(card.name)
    except (ValueError, OSError) as error:
        st.error(str(error))
        return None
    if st.session_state["certify_run"] != "plain" and (why := precision_complaint(card.name, settings.proxy_precision)):
        st.error(why)
        return None
    return Inputs(model, st.session_state["certify_run"], settings)


def _more_settings(card: "Card") -> None:
    first, second, third = st.columns(3)
    _number(
        first,
        "Noise level",
        "sigma",
        step=0.01,
        help="σ: the standard deviation of the noise, with pixel values from 0 to 1. Best what the model was trained "
        "with" + (f": {card.sigma:g}." if card.sigma else "."),
    )
    _number(
        first,
        "Chance of a wrong certificate",
        "alpha",
        step=0.001,
        format="%g",
        help="α: at most this share of certificates may claim too much. 0.001 means 99.9 % confidence.",
    )
    _number(
        first,
        "Random seed",
        "seed",
        step=1,
        help="The same seed and settings draw the same noise and the same audit, so that a run can be repeated.",
    )
    _choice(
        second,
        "Solver",
        "solver",
        SOLVER_WORDS,
        help="How the quick votes look for the fixed point: naive iteration, Anderson mixing or Broyden's method.",
    )
    _choice(
        second,
        "Start each vote from",
        "start",
        START_WORDS,
        help="The warm start of serialized smoothing. The previous batch's solution is the paper's way.",
    )
    _number(
        second,
        "Steps of a full solve",
        "reference_steps",
        step=1,
        help="L: how many steps the standard model may take. It is this model that is certified.",
    )
    _choice(
        third,
        "Bound",
        "estimator",
        ESTIMATOR_WORDS,
        help="How the audit's findings lower the guaranteed share. All three hold; the joint one gives away least.",
    )
    _number(
        third,
        "Draws to choose the answer",
        "n0",
        step=10,
        help="n0: noisy copies that choose the class before the votes are counted; they do not count as votes.",
    )
    _choice(
        third,
        "Precision of quick votes",
        "proxy_precision",
        PRECISION_WORDS,
        help="Coarse votes are quicker where the processor multiplies bfloat16. The audit always computes in full "
        "precision, so the certificate holds; votes that change by it cost radius.",
    )
    third.number_input(
        "Copies at a time",
        min_value=1,
        max_value=4096,
        key="certify_batch_size",
        placeholder="automatic",
        persist_state="session",
        help="The batch size B: how many noisy copies are solved together. Leave it empty for this device's usual.",
    )


def _number(place: Any, label: str, name: str, *, step: float, help: str, format: str | None = None) -> None:
    with place:
        number("certify", name, label, LIMITS, step, help, format)


def _choice(place: Any, label: str, name: str, words: Mapping[str, str], *, help: str) -> None:
    place.selectbox(
        label, list(words), format_func=words.__getitem__, key=f"certify_{name}", help=help, persist_state="session"
    )
