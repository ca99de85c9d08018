"""Warm start: why a few steps are enough when the solver starts where it last ended."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.address import BOUND
from pages.warm_start_parts import show_answers, show_chain, show_distances, show_residuals
from pages.warm_start_runs import NEVER, STEPS, View, gallery_names, image_of
from pages.widgets import require_frame, shelf, show_picture
from srs_core.figures.warm_start import START_WORDS
from srs_core.smoothing.settings import SOLVER_NAMES, STARTS

IN_DOUBT = "bird 4995"
"""A picture on which the models hesitate: on a clear one even a single warm step makes hardly a mistake."""


def ask_view() -> View:
    """The picture, the noise, the solver and its start."""
    cards = {card.name: card for card in shelf()}
    model = st.selectbox("Model", tuple(cards), key="model", **BOUND) if len(cards) > 1 else next(iter(cards))
    names = gallery_names()
    picture = st.selectbox(
        "Picture",
        names,
        index=names.index(IN_DOUBT),
        key="picture",
        help="From CIFAR-10's test set. Pictures in doubt, show most.",
        **BOUND,
    )
    show_picture(image_of(picture), 160)
    sigma = st.slider(
        "Noise",
        0.05,
        1.0,
        cards[model].sigma or 0.25,
        0.01,
        key="noise_level",
        help="Its standard deviation, σ; pixels go from 0 to 1. The model was trained with the default.",
        **BOUND,
    )
    solver = st.segmented_control(
        "Solver",
        SOLVER_NAMES,
        default="anderson",
        required=True,
        wrap=True,
        key="solver",
        help="naive repeats f; anderson mixes the last few evaluations; broyden is a quasi-Newton method.",
        **BOUND,
    )
    start = st.segmented_control(
        "The solver starts from",
        STARTS,
        default="previous",
        required=True,
        wrap=True,
        key="start",
        help="; ".join(f"{name}: {words}" for name, words in START_WORDS.items()),
        **BOUND,
    )
    step = st.slider("Steps", 1, STEPS, 3, key="step", help="S: evaluations of f for each noisy copy.", **BOUND)
    restart = st.segmented_control(
        "Warm the chain up again every",
        (NEVER, "3", "6"),
        default=NEVER,
        required=True,
        key="restart",
        help="After so many batches the chain is begun anew with a full solve. Only in the part on the chain.",
        **BOUND,
    )
    return View(model, picture, sigma, solver, start, step, restart)


PARTS: dict[str, Callable[[View], None]] = {
    "Residual": show_residuals,
    "Answers": show_answers,
    "Distance": show_distances,
    "Chain": show_chain,
}
STORY: dict[str, tuple[str, dict[str, Any]]] = {
    "1 · Start from nothing": (
        "From zero, one step is not enough: the state has hardly begun to look like the picture.",
        {"view": "Answers", "start": "zero", "step": 1},
    ),
    "2 · Keep going": (
        "More steps bring the full solve's answers. Plain smoothing pays for this, thousands of times a picture.",
        {"view": "Answers", "start": "zero", "step": 8},
    ),
    "3 · Start where the last one ended": (
        "The same single step, but from the fixed point of another noisy copy: most answers are there at once.",
        {"view": "Answers", "start": "previous", "step": 1},
    ),
    "4 · Why it works": (
        "Copies of one picture have fixed points near each other, so most of the way is already behind the solver.",
        {"view": "Distance", "start": "previous", "step": 1},
    ),
    "5 · The catch": (
        "Some answers are still not the full solve's, and one mistake is where the next copy starts. A certificate "
        "has to account for that.",
        {"view": "Chain", "start": "previous", "step": 1},
    ),
}


def tell(chapter: str) -> None:
    """Set the page to a chapter of the story."""
    st.session_state.update(STORY[chapter][1] | {"solver": "anderson", "restart": NEVER, "picture": IN_DOUBT})


def show_story(view: View, part: str) -> None:
    """The chapter that the present settings belong to, if any."""
    for chapter, (words, values) in STORY.items():
        if values == {"view": part, "start": view.start, "step": view.step}:
            st.info(f"**{chapter}.** {words}")


def main() -> None:
    """Draw the page from top to bottom."""
    require_frame()
    st.title("Starting where the last one ended")
    st.markdown("The idea of serialized smoothing in five clicks, on a real model and a real picture:")
    with st.container(horizontal=True, gap="small"):
        for chapter in STORY:
            st.button(chapter, on_click=tell, args=(chapter,))
    controls, content = st.columns([1, 3], gap="medium")
    with controls:
        view = ask_view()
    with content:
        part = st.segmented_control(
            "Part", tuple(PARTS), default="Residual", required=True, key="view", label_visibility="collapsed", **BOUND
        )
        show_story(view, part)
        PARTS[part](view)


main()
