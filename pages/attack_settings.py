"""The Attack page's settings: widgets with defaults for the device, all of them in the address bar."""

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.address import OneOf, Within
from pages.certify_settings import device_speed
from pages.widgets import number
from srs_core.smoothing.settings import Settings

if TYPE_CHECKING:
    from srs_core.attacks import AttackSettings
    from srs_core.mdeq.cards import Card
    from srs_core.smoothing.certificate import Certificate

__all__ = ["LIMITS", "METHODS", "READERS", "ask_strength", "seed_defaults"]

METHODS = {"serialized": "Serialized", "plain": "Plain"}
SAMPLES = {0: "none (plain model)", 1: "1", 4: "4", 8: "8", 16: "16"}
LIMITS = {
    "n": Within(10, 100_000),
    "reference_steps": Within(1, 200),
    "radius": Within(0.01, 100.0),
    "steps": Within(1, 200),
    "step": Within(0.01, 2.0),
    "restarts": Within(0, 20),
    "votes": Within(10, 100_000),
    "seed": Within(0, 2**31 - 1),
}
READERS = {
    "model": str,
    "picture": Within(0, 1_000_000),
    "by": OneOf(tuple(METHODS)),
    "samples": lambda text: int(OneOf(tuple(map(str, SAMPLES)))(text)),
    **LIMITS,
    "job": str,
    "attacks": str,
}
STRENGTH = (
    ("steps", "Gradient steps", 5, "Steps of each search."),
    ("step", "Length of a step", 0.05, "As a share of the radius."),
    ("restarts", "Restarts", 1, "Further searches from random points inside the radius."),
    ("votes", "Votes on the result", 100, "Noisy copies that decide the answer at the end."),
    ("seed", "Seed", 1, "The same seed gives the same attack."),
)
DEFAULTS: dict[str, Any] = {
    "by": "serialized",
    "reference_steps": 30,
    "samples": 16,
    "steps": 20,
    "step": 0.1,
    "restarts": 0,
    "seed": 0,
    "job": "",
    "attacks": "",
}


def seed_defaults(card: "Card") -> None:
    """Fill in whatever neither the visitor nor the link has set, by what this device does in a few seconds."""
    from srs_core.timing import default_sizes

    sized = default_sizes(device_speed(card.name), Settings(sigma=card.sigma or 0.25))
    for name, value in {**DEFAULTS, "n": sized.n, "votes": min(sized.n, 500)}.items():
        st.session_state.setdefault(f"attack_{name}", value)


def ask_strength(certificate: "Certificate") -> "AttackSettings | None":
    """How hard to attack; a sentence on the page and None when that is impossible."""
    from srs_core.attacks import AttackSettings

    st.segmented_control(
        "Noisy copies that the attack looks at in each step",
        list(SAMPLES),
        format_func=SAMPLES.__getitem__,
        key="attack_samples",
        required=True,
        persist_state="session",
        help="m: with copies the attack follows the gradient of the smoothed model (Smooth-PGD); more copies make a "
        "better attack and take longer. With none it follows the plain model (PGD), which fools the plain model only.",
    )
    with st.expander("More about the attack"):
        columns = st.columns(5)
        for column, (name, label, step, help) in zip(columns, STRENGTH, strict=True):
            with column:
                number("attack", name, label, LIMITS, step, help)
    s = st.session_state
    try:
        settings = AttackSettings(
            samples=s["attack_samples"],
            steps=s["attack_steps"],
            step=s["attack_step"],
            restarts=s["attack_restarts"],
            n=s["attack_votes"],
            sigma=certificate.sigma,
            alpha=certificate.alpha,
            reference_solver=certificate.reference_solver,
            reference_steps=certificate.reference_steps,
            tol=certificate.tol,
            seed=s["attack_seed"],
        )
    except ValueError as error:
        st.error(str(error))
        return None
    if settings.steps * settings.step < 1:
        st.caption(
            f"{settings.steps} steps of {settings.step:g} times the radius do not reach the edge: give the attack more "
            "steps, or longer ones."
        )
    return settings
