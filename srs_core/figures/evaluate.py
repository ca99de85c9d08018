"""Figures of many pictures: certified accuracy by radius, and how bounds and radii are spread."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from srs_core.evaluate.results import Results, find_base, labels_of
from srs_core.figures.theme import COLORWAY, GREY, style, translucent
from srs_core.metrics import accuracy_interval, certified_accuracy, relative_radius_differences

__all__ = ["accuracy_figure", "figures_of", "histogram_figure", "radius_figure"]

Points = tuple[Sequence[float], Sequence[float]]
"""Radii, and percentages at them."""

MARKS = ("circle", "square", "diamond", "cross", "triangle-up", "x", "star")
LEAST_SPREAD = 1e-12
"""What differs by less differs by rounding only, and shares one bin."""
EXPLAINED = {
    "p_a": "lower bound on the share of votes for the class (p_A)",
    "p_m": "bound on the share of votes that the standard model would not confirm (p_m)",
    "gap": "how far the bound p_m lies above the true mismatch (gap)",
    "rrd": "radius lost against plain smoothing (RRD)",
}


def accuracy_figure(
    frames: Mapping[str, pd.DataFrame], paper: Mapping[str, Points] | None = None, intervals: bool = False
) -> go.Figure:
    """Certified accuracy by radius: a line for each setting, and dotted lines with marks for what a paper states.

    `paper` has radii and percentages for each name. The bands of `intervals` are 95 % intervals for the
    accuracy on all pictures of the kind.
    """
    figure = go.Figure()
    for name, frame in frames.items():
        colour = _colour(name, list(frames))
        radii = np.unique(np.concatenate([[0.0], frame.loc[frame["correct"] == 1, "radius"].to_numpy()]))
        # The accuracy falls just at each picture's radius: the share above it holds from there to the next.
        shares = certified_accuracy(frame, radii)
        if intervals:
            low, high = zip(*(accuracy_interval(share, len(frame)) for share in shares), strict=True)
            figure.add_scatter(
                x=[*radii, *radii[::-1]],
                y=[*high, *low[::-1]],
                fill="toself",
                fillcolor=translucent(colour, 0.14),
                line={"width": 0, "shape": "hv"},
                hoverinfo="skip",
                showlegend=False,
            )
        figure.add_scatter(
            x=radii,
            y=shares,
            name=name,
            mode="lines",
            line={"color": colour, "shape": "hv", "width": 2},
            hovertemplate="beyond radius %{x:.3f}: %{y:.1%}",
        )
    for place, (name, (stated, percent)) in enumerate((paper or {}).items()):
        figure.add_scatter(
            x=stated,
            y=[each / 100 for each in percent],
            name=name,
            mode="lines+markers",
            line={"color": GREY, "dash": "dot", "width": 1.5},
            marker={"symbol": MARKS[place % len(MARKS)], "size": 7},
            hovertemplate="radius %{x:g}: %{y:.0%}",
        )
    style(figure, "radius (L2 distance, pixel values from 0 to 1)", "pictures certified right beyond it", height=420)
    return figure.update_yaxes(tickformat=".0%", range=[0, 1]).update_xaxes(rangemode="tozero")


def histogram_figure(
    values: Mapping[str, NDArray[np.float64]], title: str, percent: bool = False, among: Sequence[str] = ()
) -> go.Figure:
    """How a number is spread over the pictures, side by side for each setting, in the same bins of a round width.

    A setting has the colour of its place `among` all settings, so that it is the same in every figure.
    """
    figure = go.Figure()
    everything = np.concatenate(list(values.values()))
    width = _round_width(float(np.ptp(everything)))
    low, high = (
        float(f(edge / width)) * width for f, edge in ((np.floor, everything.min()), (np.ceil, everything.max()))
    )
    for name, each in values.items():
        figure.add_histogram(
            x=each,
            name=name,
            xbins={"start": low, "end": high + width, "size": width},
            marker_color=_colour(name, among or list(values)),
            hovertemplate="%{x}: %{y} pictures",
        )
    style(figure, title, "pictures", height=300)
    figure.update_layout(barmode="group", bargap=0.15)
    return figure.update_xaxes(tickformat=".1%" if percent else None)


def radius_figure(
    frames: Mapping[str, pd.DataFrame], base: pd.DataFrame, base_name: str, among: Sequence[str] = ()
) -> go.Figure:
    """Each picture's radius against its radius by the base; on the line both certify the same."""
    figure = go.Figure()
    largest = float(base["radius"].max())
    for name, frame in frames.items():
        # Of other columns a file from elsewhere may have any, even radius_base.
        both = frame[["idx", "radius"]].merge(base[["idx", "radius"]], on="idx", suffixes=("", "_base"))
        figure.add_scatter(
            x=both["radius_base"],
            y=both["radius"],
            customdata=both["idx"],
            name=name,
            mode="markers",
            marker={"color": translucent(_colour(name, among or list(frames)), 0.7), "size": 7},
            hovertemplate="picture %{customdata}: %{x:.3f} → %{y:.3f}",
        )
        largest = max(largest, float(frame["radius"].max()))
    figure.add_scatter(
        x=[0, largest], y=[0, largest], mode="lines", line={"color": GREY, "dash": "dot"}, name="the same radius"
    )
    return style(figure, f"radius by {base_name}", "radius", height=380)


def figures_of(results: Sequence[Results]) -> dict[str, go.Figure]:
    """All plots that these files have data for, by their headings; each file beside its base as `find_base` has it."""
    labelled = labels_of(results)
    figures = {"Certified accuracy": accuracy_figure({name: r.frame for name, r in labelled.items()})}
    spread = (("Lower bounds on p_A", "p_a", False), ("Mismatch bounds p_m", "p_m", True), ("Gaps", "gap", True))
    for heading, column, percent in spread:
        values = {
            name: r.frame[column].dropna().to_numpy(dtype=float) for name, r in labelled.items() if column in r.frame
        }
        if values := _filled(values):
            figures[heading] = histogram_figure(values, EXPLAINED[column], percent, list(labelled))
    bases = {name: find_base(r, results) for name, r in labelled.items()}
    against = {
        name: (labelled[name], base)
        for name, base in bases.items()
        if base is not None and labelled[name].frame["idx"].isin(base.frame["idx"]).any()
    }
    differences = {name: relative_radius_differences(r.frame, base.frame) for name, (r, base) in against.items()}
    if differences := _filled(differences):
        figures["Relative radius differences"] = histogram_figure(differences, EXPLAINED["rrd"], True, list(labelled))
    for base in dict.fromkeys(base for _, base in against.values()):
        frames = {name: r.frame for name, (r, own) in against.items() if own is base}
        title = next(name for name, r in labelled.items() if r is base)
        figures[f"Radii against {title}"] = radius_figure(frames, base.frame, title, list(labelled))
    return figures


def _filled(values: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    return {name: each for name, each in values.items() if len(each)}


def _colour(name: str, among: Sequence[str]) -> str:
    return COLORWAY[list(among).index(name) % len(COLORWAY)]


def _round_width(spread: float) -> float:
    """A bin width of 1, 2 or 5 times a power of ten that cuts the spread into 8 to 20 bins."""
    if spread < LEAST_SPREAD:
        return 0.01
    power = 10.0 ** np.floor(np.log10(spread / 20))
    return float(next(power * factor for factor in (1, 2, 5, 10) if power * factor * 20 >= spread))
