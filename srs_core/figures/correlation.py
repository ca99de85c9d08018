"""The audit and its price as figures: a grid of votes, radii by formula, and who wins at equal cost."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from srs_core.figures.theme import BLUE, GREEN, GREY, ORANGE, PINK, RED, YELLOW, style, translucent
from srs_core.simulation import Cell, SimulatedRun

__all__ = ["FORMULA_COLOURS", "FORMULA_NAMES", "audit_grid", "cutoff_curves", "radius_bars", "radius_curves", "win_map"]

FORMULA_NAMES = {
    "rs": "plain RS, all votes full",
    "joint": "joint (default)",
    "exact": "exact",
    "paper": "the paper's formula",
    "published": "published code (no certificate)",
    "plain": "plain RS at equal cost",
}
FORMULA_COLOURS = {"rs": GREY, "joint": BLUE, "exact": GREEN, "paper": ORANGE, "published": RED, "plain": PINK}

STATES = (
    ("a vote for the winner, not audited", translucent(BLUE, 0.35)),
    ("audited and confirmed", GREEN),
    ("audited and dropped", RED),
    ("a vote for another class, not audited", translucent(GREY, 0.25)),
    ("another class, audited", GREY),
    ("audited and found to be the winner's", YELLOW),
    ("false, but not audited", PINK),
)
REVEALED = len(STATES) - 1


def audit_grid(run: SimulatedRun, early: bool, reveal: bool) -> go.Figure:
    """Every vote of a run as a square, in the order of the chain, line by line from the top left.

    With `reveal` the false votes that the audit did not meet are shown too, which no real run could.
    """
    audited = run.early_audit if early else run.random_audit
    ours = (run.cells == Cell.TRUE_VOTE) | (run.cells == Cell.FALSE_VOTE)
    state = np.where(ours, 0, 3)
    state[audited & (run.cells == Cell.TRUE_VOTE)] = 1
    state[audited & (run.cells == Cell.FALSE_VOTE)] = 2
    state[audited & (run.cells == Cell.OTHER)] = 4
    state[audited & (run.cells == Cell.LOST_VOTE)] = 5
    if reveal:
        state[~audited & (run.cells == Cell.FALSE_VOTE)] = REVEALED
    columns = int(np.ceil(np.sqrt(len(state))))
    rows = -(-len(state) // columns)
    grid = np.full(rows * columns, np.nan)
    grid[: len(state)] = state
    steps = len(STATES)
    scale = [pair for i, (_, c) in enumerate(STATES) for pair in ((i / steps, c), ((i + 1) / steps, c))]
    figure = go.Figure()
    figure.add_heatmap(
        z=grid.reshape(rows, columns),
        zmin=-0.5,
        zmax=steps - 0.5,
        colorscale=scale,
        showscale=False,
        xgap=1 if columns <= 60 else 0.4,
        ygap=1 if columns <= 60 else 0.4,
        customdata=_words(state, rows * columns).reshape(rows, columns),
        hovertemplate="%{customdata}<extra></extra>",
    )
    for kind in sorted(set(state.tolist())):
        name, colour = STATES[kind]
        number = int((state == kind).sum())
        marker = {"size": 11, "symbol": "square", "color": colour}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, name=f"{name}: {number:,}")
    style(figure, height=520)
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, autorange="reversed", scaleanchor="x", constrain="domain", constraintoward="top")
    below = {"orientation": "h", "yanchor": "top", "y": -0.02, "x": 0}
    return figure.update_layout(legend=below, margin={"t": 8}, dragmode=False)


def _words(state: NDArray[np.int64], size: int) -> NDArray[np.object_]:
    words = np.full(size, "", dtype=object)
    words[: len(state)] = [f"vote {i + 1:,}: {STATES[kind][0]}" for i, kind in enumerate(state)]
    return words


def radius_bars(radii: Mapping[str, float], true_radius: float) -> go.Figure:
    """The radius that each formula claims, beside the largest one that is true for any number of votes."""
    names = list(radii)[::-1]
    values = [radii[name] for name in names]
    colours = [FORMULA_COLOURS[name] for name in names]
    figure = go.Figure()
    figure.add_bar(
        x=values,
        y=[FORMULA_NAMES[name] for name in names],
        orientation="h",
        marker={"color": colours, "pattern": {"shape": ["/" if name == "published" else "" for name in names]}},
        text=[f"{np.floor(value * 1000) / 1000:.3f}" if value > 0 else "abstains" for value in values],
        textposition="auto",
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )
    figure.add_vline(x=true_radius, line={"color": RED, "dash": "dash", "width": 2})
    figure.add_annotation(
        x=true_radius, y=1.02, yref="paper", yanchor="bottom", showarrow=False, text="more than this is false"
    )
    style(figure, "certified radius", height=270)
    return figure.update_layout(showlegend=False, margin={"t": 30})


def radius_curves(
    x: Sequence[float], curves: Mapping[str, Sequence[float]], here: float, true_radius: float
) -> go.Figure:
    """Radius by formula against the share of false votes (in percent), with a line at the present one."""
    figure = go.Figure()
    for name, values in curves.items():
        dash = {"published": "dot", "plain": "dash"}.get(name, "solid")
        line = {"color": FORMULA_COLOURS[name], "width": 2.5, "dash": dash}
        figure.add_scatter(x=x, y=values, mode="lines", name=FORMULA_NAMES[name], line=line)
    figure.add_hline(y=true_radius, line={"color": RED, "dash": "dash", "width": 1.5})
    figure.add_vline(x=here, line={"color": GREY, "width": 1})
    style(figure, "false votes for the winner (%)", "certified radius", height=380)
    figure.update_layout(hovermode="x unified", legend={"y": -0.25, "yanchor": "top"}, margin={"t": 8})
    return figure.update_yaxes(rangemode="tozero", hoverformat=".3f")


def cutoff_curves(
    shares: Sequence[float], curves: Mapping[str, Sequence[float]], printed: Mapping[str, Sequence[float]]
) -> go.Figure:
    """The largest radius for a share of votes, by formula, and the paper's printed table as markers."""
    figure = go.Figure()
    percent = [100 * share for share in shares]
    for name, values in curves.items():
        line = {"color": FORMULA_COLOURS[name], "width": 2.5}
        figure.add_scatter(x=percent, y=values, mode="lines+markers", name=FORMULA_NAMES[name], line=line)
    for (name, values), symbol in zip(printed.items(), ("x-thin", "cross-thin"), strict=True):
        marker = {"size": 12, "symbol": symbol, "color": PINK, "line": {"width": 2.5, "color": PINK}}
        figure.add_scatter(x=percent, y=values, mode="markers", name=name, marker=marker)
    style(figure, "share of votes for the winner (%)", "largest possible radius", height=400)
    return figure.update_layout(legend={"y": -0.25, "yanchor": "top"}, margin={"t": 8}, hovermode="x unified")


def win_map(
    p_a: NDArray[np.float64], mismatch: NDArray[np.float64], advantage: NDArray[np.float64], here: tuple[float, float]
) -> go.Figure:
    """Where serialized smoothing gives the larger radius at equal cost (blue) and where plain smoothing does."""
    # A few extreme places would leave no colour for the rest.
    largest = float(np.nanquantile(np.abs(advantage), 0.9)) or 1.0
    figure = go.Figure()
    figure.add_heatmap(
        x=100 * p_a,
        y=100 * mismatch,
        z=advantage,
        zmin=-largest,
        zmax=largest,
        colorscale=[(0, ORANGE), (0.5, "rgba(128, 128, 128, 0.12)"), (1, BLUE)],
        colorbar={"title": {"text": "SRS minus RS"}, "thickness": 12, "len": 0.9, "tickformat": "+.2f"},
        hovertemplate="winner right %{x:.1f} %, false votes %{y:.1f} %<br>SRS − RS = %{z:+.3f}<extra></extra>",
    )
    figure.add_contour(
        x=100 * p_a,
        y=100 * mismatch,
        z=advantage,
        contours={"start": 0, "end": 0, "size": 1, "coloring": "none"},
        line={"width": 2, "color": GREY},
        hoverinfo="skip",
        showscale=False,
    )
    figure.add_scatter(
        x=[100 * here[0]],
        y=[100 * here[1]],
        mode="markers",
        marker={"size": 14, "symbol": "star", "color": "white", "line": {"width": 2, "color": "black"}},
        name="your settings",
        hovertemplate="your settings<extra></extra>",
    )
    style(figure, "how often the full model answers the winner (%)", "false votes for the winner (%)", height=460)
    figure.update_xaxes(range=[100 * p_a[0], 100 * p_a[-1]], showgrid=False)
    figure.update_yaxes(range=[100 * mismatch[0], 100 * mismatch[-1]], showgrid=False)
    return figure.update_layout(showlegend=False, margin={"t": 8}, dragmode=False)
