"""Warm starts as figures: residuals, changed answers, distances, and the chain along its batches."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from srs_core.figures.theme import BLUE, GREEN, GREY, ORANGE, PINK, RED, style, translucent

__all__ = ["SOLVER_COLOURS", "START_COLOURS", "chain_bars", "changed_curves", "distance_bars", "residual_curves"]

SOLVER_COLOURS = {"naive": ORANGE, "anderson": BLUE, "broyden": GREEN}
START_COLOURS = {"zero": GREY, "clean": PINK, "previous": BLUE, "mean": GREEN}
START_WORDS = {
    "zero": "zero (cold)",
    "clean": "the clean picture's fixed point",
    "previous": "the previous copy's fixed point",
    "mean": "the mean of earlier fixed points",
}


def residual_curves(traces: Mapping[tuple[str, str], NDArray[np.float64]], step: int, tolerance: float) -> go.Figure:
    """Median residual at each evaluation of f; keys are (solver, start), and a cold start is dashed."""
    figure = go.Figure()
    for (solver, start), residuals in traces.items():
        cold = start == "zero"
        figure.add_scatter(
            x=np.arange(1, len(residuals) + 1),
            y=np.median(residuals, axis=1),
            mode="lines",
            name=f"{solver}, {'cold' if cold else 'from ' + start}",
            line={"color": SOLVER_COLOURS[solver], "width": 2.5, "dash": "dot" if cold else "solid"},
        )
    figure.add_hline(y=tolerance, line={"color": GREY, "width": 1, "dash": "dash"})
    figure.add_vline(x=step, line={"color": GREY, "width": 1.5})
    style(figure, "evaluations of f", "relative residual, median", height=400)
    figure.update_yaxes(type="log", hoverformat=".2e", exponentformat="power", dtick=1)
    return figure.update_layout(hovermode="x unified", legend={"y": -0.2, "yanchor": "top"}, margin={"t": 8})


def changed_curves(changed: Mapping[str, NDArray[np.float64]], step: int) -> go.Figure:
    """The share of answers that differ from the full model's after each step, by start."""
    figure = go.Figure()
    for start, share in changed.items():
        figure.add_scatter(
            x=np.arange(1, len(share) + 1),
            y=100 * share,
            mode="lines+markers",
            name=START_WORDS[start],
            line={"color": START_COLOURS[start], "width": 2.5, "dash": "dot" if start == "zero" else "solid"},
        )
    figure.add_vline(x=step, line={"color": GREY, "width": 1.5})
    style(figure, "steps", "answers that differ (%)", height=360)
    figure.update_yaxes(rangemode="tozero", hoverformat=".0f")
    return figure.update_layout(hovermode="x unified", legend={"y": -0.25, "yanchor": "top"}, margin={"t": 8})


def distance_bars(distances: Mapping[str, NDArray[np.float64]]) -> go.Figure:
    """How far the solver has to go from each start: the median copy, and the middle eight tenths as a whisker."""
    names = list(distances)[::-1]
    middle = [float(np.median(distances[name])) for name in names]
    low = [m - float(np.quantile(distances[name], 0.1)) for m, name in zip(middle, names, strict=True)]
    high = [float(np.quantile(distances[name], 0.9)) - m for m, name in zip(middle, names, strict=True)]
    figure = go.Figure()
    figure.add_bar(
        x=middle,
        y=[START_WORDS[name] for name in names],
        orientation="h",
        marker={"color": [START_COLOURS[name] for name in names]},
        error_x={"type": "data", "array": high, "arrayminus": low, "color": GREY},
        text=[f"{m:.2f}" for m in middle],
        textposition="inside",
        insidetextanchor="start",
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )
    style(figure, "relative distance to the fixed point", height=260)
    return figure.update_layout(showlegend=False, margin={"t": 8})


def chain_bars(changed: NDArray[np.float64], restarts: Sequence[int]) -> go.Figure:
    """The share of false votes in each batch along the chain, with a mark where it was warmed up again."""
    batches = np.arange(1, len(changed) + 1)
    colours = [translucent(BLUE, 0.55) if batch - 1 in restarts else BLUE for batch in batches]
    figure = go.Figure()
    figure.add_bar(
        x=batches,
        y=100 * changed,
        marker={"color": colours},
        hovertemplate="batch %{x}: %{y:.0f} % differ<extra></extra>",
    )
    figure.add_hline(y=100 * float(changed.mean()), line={"color": RED, "width": 2, "dash": "dash"})
    for restart in restarts:
        figure.add_annotation(x=restart + 1, y=0, yshift=-12, showarrow=False, text="↻", font={"size": 15})
    style(figure, "batch along the chain", "answers that differ (%)", height=300)
    return figure.update_layout(showlegend=False, margin={"t": 8})
