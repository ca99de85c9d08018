"""Warm start: why a few steps are enough when the solver starts where it last ended."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.widgets import cached_model, metrics, model_cards, require_frame, show_picture
from srs_core.figures.warm_start import START_WORDS, chain_bars, changed_curves, distance_bars, residual_curves
from srs_core.smoothing.settings import SOLVER_NAMES, STARTS, Settings
from srs_core.words import Fact

if TYPE_CHECKING:
    from srs_core.chain import CheckedVotes
    from srs_core.warm_start import Stage, Trace

COPIES, STEPS, SHOWN = 16, 12, 8
BATCH, BATCHES = 16, 10
NEVER = "never"
BARE = {"displayModeBar": False}
BOUND: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}


@dataclass(frozen=True)
class View:
    """What the visitor has chosen."""

    model: str
    picture: str
    sigma: float
    solver: str
    start: str
    step: int
    restart: str


@st.cache_data(show_spinner=False)
def gallery_names() -> list[str]:
    """The gallery's pictures, as "class number"."""
    from srs_core.data import gallery

    pictures = gallery()
    return [f"{pictures.class_names[sample.label]} {sample.index}" for sample in pictures]


@st.cache_resource(show_spinner="Solving the noisy copies in full …", max_entries=6)
def stage_of(model: str, picture: str, sigma: float) -> "Stage":
    """Noisy copies of a picture with their fixed points, shared by all visitors."""
    from srs_core.warm_start import set_stage

    return set_stage(cached_model(model), image_of(picture), sigma, COPIES)


@st.cache_data(show_spinner="Following the solver step by step …", max_entries=100)
def trace_of(model: str, picture: str, sigma: float, solver: str, start: str) -> "Trace":
    """A solver's way from a start."""
    from srs_core.warm_start import follow

    return follow(cached_model(model), stage_of(model, picture, sigma), solver, start, STEPS)


@st.cache_data(show_spinner=f"Checking all {BATCH * BATCHES} votes of a chain …", max_entries=50)
def chain_of(view: View) -> "CheckedVotes":
    """A chain of batches, every vote checked."""
    from srs_core.chain import check_votes

    settings = Settings(
        sigma=view.sigma,
        solver=view.solver,
        steps=view.step,
        start=view.start,
        restart_every=None if view.restart == NEVER else int(view.restart),
        n=BATCH * BATCHES,
        n0=BATCH,
        audit=BATCH * BATCHES,
        batch_size=BATCH,
    )
    return check_votes(cached_model(view.model), image_of(view.picture), settings, settings.n)


def image_of(picture: str) -> Any:
    """A gallery picture by its name."""
    from srs_core.data import gallery

    return gallery()[gallery_names().index(picture)].image


def ask_view() -> View:
    """The picture, the noise, the solver and its start."""
    cards = {card.name: card for card in model_cards()}
    if not cards:
        st.info("There is no trained model in `checkpoints/` yet: `python -m srs_core train` makes one.")
        st.stop()
    model = st.selectbox("Model", tuple(cards), key="model", **BOUND) if len(cards) > 1 else next(iter(cards))
    names = gallery_names()
    picture = st.selectbox(
        "Picture", names, key="picture", help="From CIFAR-10's test set. Pictures in doubt show most.", **BOUND
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


def solved(view: View, solver: str | None = None, start: str | None = None) -> "Trace":
    """The trace for this view, or for another solver or start on the same copies."""
    return trace_of(view.model, view.picture, view.sigma, solver or view.solver, start or view.start)


def show_residuals(view: View) -> None:
    """How fast the residual falls, cold and warm, by solver."""
    warm = "previous" if view.start == "zero" else view.start
    traces = {(solver, start): solved(view, solver, start) for start in ("zero", warm) for solver in SOLVER_NAMES}
    st.markdown(
        "An equilibrium model's answer is the state that its layer f leaves unchanged. A solver approaches it step by "
        "step; the **residual** says how much f still changes it. Dotted lines start from zero, solid ones warm; "
        "they begin lower, because the start is already near."
    )
    st.plotly_chart(
        residual_curves({key: trace.residuals for key, trace in traces.items()}, view.step, Settings.tol),
        config=BARE,
        alt="Residual against evaluations of f, for three solvers, cold and warm.",
    )
    cold_residuals, warm_residuals = (solved(view, start=start).residuals for start in ("zero", warm))
    reached = float(np.median(warm_residuals[view.step - 1]))
    below = np.flatnonzero(np.median(cold_residuals, axis=1) <= reached)
    metrics(
        [
            Fact("Residual, cold", f"{np.median(cold_residuals[view.step - 1]):.1e}", "Median, at the grey line."),
            Fact("Residual, warm", f"{reached:.1e}", "Median, at the grey line, from the chosen warm start."),
            Fact(
                "Cold needs",
                f"{below[0] + 1} evaluations" if len(below) else f"over {STEPS}",
                "How many evaluations of f a cold start takes to get as low.",
            ),
        ]
    )
    st.caption(
        f"{COPIES} noisy copies of one picture, the same for all lines. The dashed line is the full solve's tolerance."
    )


def show_answers(view: View) -> None:
    """The answers after each step, and how many of them are not yet the full model's."""
    stage, trace = stage_of(view.model, view.picture, view.sigma), solved(view)
    names = cached_model(view.model).classes
    share = trace.changed(stage)[view.step - 1]
    st.markdown(
        f"After **{view.step} {'step' if view.step == 1 else 'steps'}** from *{START_WORDS[view.start]}*, "
        f"**{100 * share:.0f} %** of {COPIES} noisy copies get another answer than from the full solve. Move the step "
        "slider and watch the answers settle."
    )
    with st.container(horizontal=True, gap="small"):
        for copy in range(SHOWN):
            now, full = names[trace.labels[view.step - 1, copy]], names[stage.labels[copy]]
            with st.container(width=88, gap=None):
                show_picture(stage.pictures[copy], 64)
                st.caption(f":green[✓ {now}]" if now == full else f":red[✗ {now}] (full: {full})")
    st.plotly_chart(
        changed_curves({start: solved(view, start=start).changed(stage) for start in STARTS[::-1]}, view.step),
        config=BARE,
        alt="Share of answers that differ from the full solve's, against steps, by start.",
    )


def show_distances(view: View) -> None:
    """How far the fixed points are from each start."""
    from srs_core.warm_start import start_distances

    distances = start_distances(stage_of(view.model, view.picture, view.sigma))
    st.markdown(
        "Noisy copies of one picture have **fixed points close to each other**. How far has the solver to go from each "
        "start, compared with the size of the fixed point itself? Bars are medians; whiskers span eight tenths of the "
        f"{COPIES} copies."
    )
    st.plotly_chart(distance_bars(distances), config=BARE, alt="Distance to the fixed point, by start.")
    near, mean = (float(np.median(distances[name])) for name in ("previous", "mean"))
    st.markdown(
        f"Between the fixed points of successive copies the distance is **{near:.2f}**, from zero it is 1. The mean of "
        f"all earlier fixed points is at **{mean:.2f}**: averaging takes the other copy's noise out."
    )


def show_chain(view: View) -> None:
    """Answers along a chain of batches."""
    votes = chain_of(view)
    every = None if view.restart == NEVER else int(view.restart)
    # The selection draws are the chain's first batch, so the first of these votes is its second.
    restarts = [] if every is None else [batch for batch in range(BATCHES) if (batch + 1) % every == 0]
    changed = votes.changed_by_batch()
    st.markdown(
        "In a real run the copies come in batches, and each batch starts where the one before ended, mistakes "
        f"included. Here is such a chain of {BATCHES} batches of {BATCH}, with **every vote checked** in full."
    )
    st.plotly_chart(chain_bars(changed, restarts), config=BARE, alt="Share of differing answers in each batch.")
    metrics(
        [
            Fact("Differing answers", f"{100 * votes.changed.mean():.0f} %", "The dashed line: over the whole chain."),
            Fact(
                "Last residual",
                f"{np.median(votes.residuals):.1e}",
                "Median of the relative residual at the last step.",
            ),
            Fact("Votes checked", f"{len(votes.proxy)}", "All of them; a certificate checks a random share."),
        ]
    )
    st.markdown("What such mistakes mean for a certificate, and how a random audit takes care of them:")
    st.page_link("pages/correlation.py", label="Votes that depend on each other", icon=":material/arrow_forward:")


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
        "More steps bring the right answers. This is what plain smoothing pays for, thousands of times a picture.",
        {"view": "Answers", "start": "zero", "step": 8},
    ),
    "3 · Start where the last one ended": (
        "The same single step, but from the fixed point of another noisy copy: most answers are right at once.",
        {"view": "Answers", "start": "previous", "step": 1},
    ),
    "4 · Why it works": (
        "Copies of one picture have fixed points near each other, so most of the way is already behind the solver.",
        {"view": "Distance", "start": "previous", "step": 1},
    ),
    "5 · The catch": (
        "Some answers stay wrong, and they hang together along the chain. A certificate has to account for that.",
        {"view": "Chain", "start": "previous", "step": 1},
    ),
}


def tell(chapter: str) -> None:
    """Set the page to a chapter of the story."""
    st.session_state.update(STORY[chapter][1] | {"solver": "anderson", "restart": NEVER})


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
