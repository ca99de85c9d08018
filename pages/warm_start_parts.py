"""The Warm start page's four parts: residuals, answers, distances, and a chain of batches."""

import numpy as np
import streamlit as st

from pages.warm_start_runs import BATCH, BATCHES, COPIES, NEVER, STEPS, View, chain_of, solved, stage_of
from pages.widgets import BARE, cached_model, metrics, show_picture
from srs_core.figures.warm_start import START_WORDS, chain_bars, changed_curves, distance_bars, residual_curves
from srs_core.smoothing.settings import SOLVER_NAMES, STARTS, Settings
from srs_core.words import Fact

__all__ = ["show_answers", "show_chain", "show_distances", "show_residuals"]

SHOWN = 8


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
            Fact("Residual, cold", f"{np.median(cold_residuals[view.step - 1]):.2g}", "Median, at the grey line."),
            Fact("Residual, warm", f"{reached:.2g}", "Median, at the grey line, from the chosen warm start."),
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
                f"{np.median(votes.residuals):.2g}",
                "Median of the relative residual at the last step.",
            ),
            Fact("Votes checked", f"{len(votes.proxy)}", "All of them; a certificate checks a random share."),
        ]
    )
    st.markdown("What such mistakes mean for a certificate, and how a random audit takes care of them:")
    st.page_link("pages/correlation.py", label="Votes that depend on each other", icon=":material/arrow_forward:")
