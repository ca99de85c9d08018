"""The plane drawn to scale: regions, noise, and certified circles around a point."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from srs_core.figures.theme import BLUE, GREEN, GREY, PINK, RED, SKY, YELLOW, style, translucent

if TYPE_CHECKING:
    from srs_core.planar_map import PlaneMap

__all__ = ["CLASS_COLOURS", "CLASS_SYMBOLS", "Circle", "Cloud", "plane_figure"]

CLASS_COLOURS = (SKY, YELLOW, PINK)
CLASS_SYMBOLS = ("circle", "square", "diamond")
KINDS = {
    "rs": (BLUE, "solid", 3),
    "srs": (RED, "solid", 3),
    "ideal": (GREY, "dot", 2),
    "true": (GREEN, "dash", 3),
}
CERTIFIED = ("rs", "srs")
PICK_EVERY = 1 / 50


@dataclass(frozen=True)
class Circle:
    """A circle around the point: one of the `KINDS`, with the words for its legend entry."""

    kind: str
    label: str
    radius: float


@dataclass(frozen=True)
class Cloud:
    """Noisy copies of the point, with the standard model's classes and which of them a proxy got wrong."""

    points: NDArray[np.float64]
    classes: NDArray[np.int64]
    changed: NDArray[np.bool_]


def plane_figure(
    plane: "PlaneMap",
    class_names: Sequence[str],
    point: tuple[float, float],
    circles: Sequence[Circle],
    cloud: Cloud | None = None,
    nearest: tuple[float, float] | None = None,
    smoothed: bool = False,
    window: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 1.0),
    pickable: bool = False,
    legend: bool = False,
    height: int = 480,
) -> go.Figure:
    """Colour the regions of f (or of g), line the borders of g, and draw circles to scale around the point.

    `window` is (left, right, bottom, top). A pickable figure has an invisible lattice of points to click on.
    """
    figure = go.Figure()
    _regions(figure, plane, class_names, smoothed, window)
    _borders(figure, plane, window)
    if pickable:
        figure.add_trace(_lattice())
    if cloud is not None:
        _cloud(figure, cloud, class_names)
    for circle in circles:
        colour, dash, width = KINDS[circle.kind]
        angle = np.linspace(0, 2 * np.pi, 181)
        x, y = point[0] + circle.radius * np.cos(angle), point[1] + circle.radius * np.sin(angle)
        if circle.kind in CERTIFIED:
            # Without a light rim a circle is lost on a region of a similar colour.
            rim = {"color": "white", "width": width + 2.5}
            figure.add_scatter(x=x, y=y, mode="lines", line=rim, name="rim", showlegend=False, hoverinfo="skip")
        line = {"color": colour, "dash": dash, "width": width}
        figure.add_scatter(x=x, y=y, mode="lines", line=line, name=circle.label, hoverinfo="name")
    if nearest is not None:
        figure.add_scatter(
            x=[point[0], nearest[0]],
            y=[point[1], nearest[1]],
            mode="lines+markers",
            line={"color": GREEN, "width": 2, "dash": "dash"},
            marker={"size": [0, 9], "symbol": "x", "opacity": 1},
            name="nearest point with another answer",
            hoverinfo="name",
            showlegend=False,
        )
    figure.add_scatter(
        x=[point[0]],
        y=[point[1]],
        mode="markers",
        marker={"size": 13, "symbol": "star", "color": "white", "line": {"width": 2, "color": "black"}},
        name="the chosen point",
        showlegend=False,
        hovertemplate="the chosen point (%{x:.3f}, %{y:.3f})<extra></extra>",
    )
    style(figure, "first pixel", "second pixel", height)
    below = {"orientation": "v", "yanchor": "top", "y": -0.14, "xanchor": "center", "x": 0.5}
    left, right, bottom, top = window
    figure.update_xaxes(range=[left, right], constrain="domain", showgrid=False, zeroline=False)
    figure.update_yaxes(
        range=[bottom, top],
        scaleanchor="x",
        scaleratio=1,
        constrain="domain",
        constraintoward="top",
        showgrid=False,
        zeroline=False,
    )
    return figure.update_layout(
        clickmode="event+select", dragmode=False, showlegend=legend, legend=below, margin={"t": 8}
    )


def _crop(axis: NDArray[np.float64], low: float, high: float) -> slice:
    """The part of an axis between two values, and a cell more on both sides."""
    first, last = np.searchsorted(axis, (low, high))
    return slice(max(int(first) - 1, 0), int(last) + 2)


def _regions(
    figure: go.Figure,
    plane: "PlaneMap",
    names: Sequence[str],
    smoothed: bool,
    window: tuple[float, float, float, float],
) -> None:
    columns, rows = _crop(plane.x_axis, *window[:2]), _crop(plane.y_axis, *window[2:])
    labels = (plane.smoothed if smoothed else plane.regions)[rows, columns]
    last = len(names) - 1
    steps = [(i / len(names), (i + 1) / len(names), translucent(c, 0.45)) for i, c in enumerate(CLASS_COLOURS)]
    figure.add_heatmap(
        x=plane.x_axis[columns],
        y=plane.y_axis[rows],
        z=labels,
        zmin=-0.5,
        zmax=last + 0.5,
        colorscale=[pair for low, high, colour in steps for pair in ((low, colour), (high, colour))],
        showscale=False,
        customdata=np.array(names, dtype=object)[labels],
        hovertemplate="(%{x:.2f}, %{y:.2f}): %{customdata}<extra></extra>",
    )


def _borders(figure: go.Figure, plane: "PlaneMap", window: tuple[float, float, float, float]) -> None:
    """Lines where g changes its answer: where a class's lead over the others is zero."""
    columns, rows = _crop(plane.x_axis, *window[:2]), _crop(plane.y_axis, *window[2:])
    shares = plane.shares[:, rows, columns]
    for label in range(len(shares)):
        lead = shares[label] - np.delete(shares, label, axis=0).max(axis=0)
        figure.add_contour(
            x=plane.x_axis[columns],
            y=plane.y_axis[rows],
            z=lead,
            contours={"start": 0, "end": 0, "size": 1, "coloring": "none"},
            line={"width": 1.5, "color": GREY},
            name="border of the smoothed model",
            showlegend=False,
            hoverinfo="skip",
        )


def _lattice() -> go.Scatter:
    axis = np.arange(1, round(1 / PICK_EVERY)) * PICK_EVERY
    x, y = np.meshgrid(axis, axis)
    return go.Scatter(
        x=x.ravel(),
        y=y.ravel(),
        mode="markers",
        marker={"size": 9, "opacity": 0, "color": GREY},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        name="pick",
        showlegend=False,
        hovertemplate="click to certify (%{x:.2f}, %{y:.2f})<extra></extra>",
    )


def _cloud(figure: go.Figure, cloud: Cloud, names: Sequence[str]) -> None:
    for label, name in enumerate(names):
        for changed in (False, True):
            chosen = (cloud.classes == label) & (cloud.changed == changed)
            if not chosen.any():
                continue
            figure.add_scatter(
                x=cloud.points[chosen, 0],
                y=cloud.points[chosen, 1],
                mode="markers",
                marker={
                    "size": 9 if changed else 6,
                    "symbol": "x" if changed else CLASS_SYMBOLS[label],
                    "color": "black" if changed else CLASS_COLOURS[label],
                    "line": {"width": 0.8, "color": "white" if changed else "rgba(0,0,0,0.65)"},
                },
                unselected={"marker": {"opacity": 1}},
                name=f"{name}, but the shortcut said otherwise" if changed else name,
                showlegend=False,
                hovertemplate="noisy copy: %{fullData.name}<extra></extra>",
            )
