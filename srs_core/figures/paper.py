"""The paper's tables as figures, with our own measurements beside them where there are any."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from srs_core.figures.theme import BLUE, COLORWAY, GREEN, GREY, ORANGE, RED, style
from srs_core.paper_tables import AttackCurve, AttackSuccess, CertifiedCurve, RadiusDifference, Timing

__all__ = ["accuracy_curves", "attack_curves", "attack_success_bars", "difference_bars", "speed_map"]

Measured = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""Our own curves by name: radii, and certified accuracy in percent."""


def accuracy_curves(curves: Sequence[CertifiedCurve], measured: Measured | None = None) -> go.Figure:
    """Certified accuracy by radius: the paper's plain smoothing dotted, its SRS solid, ours with open marks.

    A measured curve has the colour of the paper's of the same name; what follows a name in brackets is only told.
    """
    figure = go.Figure()
    names = [curve.model for curve in curves] + [_setting(name) for name in measured or {}]
    colours = {name: COLORWAY[i % len(COLORWAY)] for i, name in enumerate(dict.fromkeys(names))}
    for curve in curves:
        figure.add_scatter(
            x=curve.radii,
            y=curve.percent,
            mode="lines+markers",
            name=curve.model,
            line={"color": colours[curve.model], "width": 2.5, "dash": "solid" if curve.serialized else "dot"},
            hovertemplate="%{y:g} % at radius %{x:.2f}",
        )
    for name, (radii, percent) in (measured or {}).items():
        figure.add_scatter(
            x=radii,
            y=percent,
            mode="lines+markers",
            name=f"{name}, measured here",
            line={"color": colours[_setting(name)], "width": 2, "dash": "dash"},
            marker={"symbol": "diamond-open", "size": 10},
            hovertemplate="%{y:.1f} % at radius %{x:.2f}",
        )
    style(figure, "radius", "certified accuracy (%)", height=430)
    figure.update_yaxes(rangemode="tozero")
    return figure.update_layout(legend={"y": -0.2, "yanchor": "top"}, margin={"t": 8})


def _setting(name: str) -> str:
    return name.partition(" (")[0]


def speed_map(timings: Sequence[Timing]) -> go.Figure:
    """Average certified radius against seconds an image: up and left is better. Rows without a radius are left out."""
    figure = go.Figure()
    for serialized, colour, symbol in ((False, GREY, "circle"), (True, BLUE, "diamond")):
        rows = [t for t in timings if t.model.startswith("SRS") == serialized and t.average_radius is not None]
        figure.add_scatter(
            x=[row.seconds for row in rows],
            y=[row.average_radius for row in rows],
            mode="markers+text",
            text=[row.model.removeprefix("SRS-").removeprefix("MDEQ-") for row in rows],
            textposition="bottom center",
            marker={"size": 13, "color": colour, "symbol": symbol},
            name="serialized (SRS)" if serialized else "plain (RS)",
            hovertemplate="%{text}: radius %{y:.2f} in %{x:.2f} s<extra></extra>",
        )
    style(figure, "seconds an image (A100, logarithmic)", "average certified radius", height=380)
    figure.update_xaxes(type="log", tickvals=(0.25, 0.5, 1, 2, 5, 10, 20, 50, 100))
    return figure.update_yaxes(rangemode="tozero")


def difference_bars(rows: Sequence[RadiusDifference], variant: str) -> go.Figure:
    """The share of the radius lost against 30 steps, cold and warm, for the same few steps."""
    figure = go.Figure()
    for model, colour, name in (("MDEQ", GREY, "cold start (MDEQ)"), ("SRS-MDEQ", BLUE, "warm start (SRS-MDEQ)")):
        chosen = [row for row in rows if (row.variant, row.model) == (variant, model)]
        figure.add_bar(
            x=[row.solver_steps for row in chosen],
            y=[100 * row.difference for row in chosen],
            name=name,
            marker={"color": colour},
            text=[f"{100 * row.difference:.1f} %" for row in chosen],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{x}: %{y:.1f} %<extra></extra>",
        )
    style(figure, "solver and steps", "radius lost against 30 steps (%)", height=360)
    return figure.update_layout(barmode="group")


def attack_curves(curves: Sequence[AttackCurve], variant: str) -> go.Figure:
    """What attacks left of the accuracy, above what was certified: no attack may go below the certified line."""
    figure = go.Figure()
    palette = dict(zip(("PGD", "m=1", "m=4", "m=8", "m=16"), (ORANGE, *COLORWAY[3:7]), strict=True))
    for curve in curves:
        if curve.variant != variant:
            continue
        certified = curve.attack == "Certified"
        figure.add_scatter(
            x=curve.radii,
            y=curve.percent,
            mode="lines+markers",
            name="certified" if certified else _attack_name(curve.attack),
            line={"color": GREEN if certified else palette[curve.attack], "width": 4 if certified else 2},
            hovertemplate="%{y:g} %",
        )
    style(figure, "radius of the attack", "accuracy (%)", height=400)
    figure.update_yaxes(rangemode="tozero")
    return figure.update_layout(hovermode="x unified", legend={"y": -0.2, "yanchor": "top"}, margin={"t": 8})


def attack_success_bars(rows: Sequence[AttackSuccess], variant: str, attack: str) -> go.Figure:
    """How often an attack succeeded on pictures without a certificate for its radius, and on pictures with one."""
    chosen = [row for row in rows if (row.variant, row.attack) == (variant, attack)]
    radii = [f"{row.radius:g}" for row in chosen]
    figure = go.Figure()
    for name, colour, values in (
        ("not certified", RED, [row.uncertified_percent for row in chosen]),
        ("certified", GREEN, [row.certified_percent for row in chosen]),
    ):
        figure.add_bar(
            x=radii, y=values, name=name, marker={"color": colour}, texttemplate="%{y:d} %", textposition="outside"
        )
    style(figure, "radius of the attack", "attacks that succeeded (%)", height=340)
    figure.update_xaxes(type="category")
    return figure.update_layout(barmode="group")


def _attack_name(attack: str) -> str:
    return "PGD" if attack == "PGD" else f"Smooth-PGD, {attack.removeprefix('m=')} noise draws"
