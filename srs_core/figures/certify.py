"""Figures of one picture's certificates: votes, radii, residuals."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from srs_core.figures.theme import BLUE, COLORWAY, GREY, ORANGE, style, translucent
from srs_core.smoothing.bounds import format_radius
from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.snapshot import ResidualSummary
from srs_core.words import percent_down

__all__ = [
    "METHOD_COLOURS",
    "METHOD_NAMES",
    "guarantee_figure",
    "radii_figure",
    "residuals_figure",
    "votes_figure",
]

METHOD_NAMES = {"rs": "Plain smoothing", "srs": "Serialized smoothing"}
METHOD_COLOURS = {"rs": BLUE, "srs": ORANGE}


def votes_figure(
    certificates: Sequence[Certificate], classes: Sequence[str], names: Sequence[str] | None = None, most: int = 10
) -> go.Figure:
    """Shares of the votes by class, one bar for each certificate; the most voted classes if there are many.

    `names` are the certificates' names where their methods are not enough to tell them apart.
    """
    totals = [sum(votes) for votes in zip(*(certificate.votes for certificate in certificates), strict=True)]
    shown = sorted(sorted(range(len(totals)), key=lambda c: -totals[c])[:most])
    figure = go.Figure()
    for certificate, (name, colour) in zip(certificates, _names_and_colours(certificates, names), strict=True):
        votes = [certificate.votes[c] for c in shown]
        figure.add_bar(
            x=[classes[c] if c < len(classes) else f"class {c}" for c in shown],
            y=[count / certificate.n for count in votes],
            customdata=votes,
            name=name,
            marker_color=colour,
            hovertemplate="%{x}: %{customdata} votes, %{y:.1%}",
        )
    figure.add_hline(y=0.5, line={"color": GREY, "dash": "dot", "width": 1})
    style(figure, "", "share of the votes", height=300)
    return figure.update_yaxes(tickformat=".0%", rangemode="tozero")


def radii_figure(
    certificates: Sequence[Certificate],
    equal_cost: tuple[int, float] | None = None,
    names: Sequence[str] | None = None,
) -> go.Figure:
    """The certified radii as bars; `equal_cost` is plain smoothing's (votes, radius) at the serialized price."""
    labels = _names_and_colours(certificates, names)
    bars = [(name, c.radius, colour) for c, (name, colour) in zip(certificates, labels, strict=True)]
    if equal_cost is not None:
        bars.append((f"Plain, same cost<br>({equal_cost[0]:,} votes)", equal_cost[1], translucent(BLUE, 0.45)))
    bars.reverse()
    figure = go.Figure(
        go.Bar(
            x=[radius for _, radius, _ in bars],
            y=[name for name, _, _ in bars],
            orientation="h",
            marker_color=[colour for _, _, colour in bars],
            text=[format_radius(radius) if radius else "no certificate" for _, radius, _ in bars],
            textposition="outside",  # inside, no one colour is readable on all bars in light and dark
            cliponaxis=False,
            hovertemplate="%{y}: %{text}<extra></extra>",
        )
    )
    style(figure, "certified radius (L2 distance)", "", height=110 + 50 * len(bars))
    return figure.update_xaxes(range=[0, 1.25 * max(0.01, *(radius for _, radius, _ in bars))])


def guarantee_figure(certificates: Sequence[Certificate]) -> go.Figure:
    """What remains of each method's share of votes once chance and audit have been allowed for."""
    figure = go.Figure()
    for certificate, (name, colour) in zip(
        reversed(certificates), reversed(_names_and_colours(certificates, None)), strict=True
    ):
        share, lower = certificate.votes[certificate.class_index] / certificate.n, certificate.p_a_lower
        figure.add_scatter(
            x=[lower, share],
            y=[name, name],
            mode="lines+markers+text",
            line={"color": colour, "width": 4},
            marker={
                "color": colour,
                "size": 14,
                "symbol": ["circle", "circle-open"],
                "line": {"width": 2, "color": colour},
            },
            text=[percent_down(lower), ""],
            textposition="top center",
            cliponaxis=False,
            showlegend=False,
            customdata=["guaranteed", "of the votes"],
            hovertemplate="%{y}: %{x:.1%} %{customdata}<extra></extra>",
        )
    for label, symbol in (("guaranteed", "circle"), ("share of the votes", "circle-open")):
        marker = {"color": GREY, "size": 12, "symbol": symbol, "line": {"width": 2, "color": GREY}}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, name=label, hoverinfo="skip")
    figure.add_vline(x=0.5, line={"color": GREY, "dash": "dot", "width": 1})
    style(figure, "share of noisy copies", "", height=160 + 50 * len(certificates))
    # Room above the first line for its number.
    figure.update_yaxes(range=[-0.5, len(certificates) - 0.3])
    least = min([0.5, *(certificate.p_a_lower for certificate in certificates)])
    return figure.update_xaxes(tickformat=".0%", range=[max(0.0, least - 0.05), 1.02])


def _names_and_colours(certificates: Sequence[Certificate], names: Sequence[str] | None) -> list[tuple[str, str]]:
    if names is None:
        return [(METHOD_NAMES[c.method], METHOD_COLOURS[c.method]) for c in certificates]
    return [(name, COLORWAY[i % len(COLORWAY)]) for i, name in enumerate(names)]


def residuals_figure(residuals: Mapping[str, ResidualSummary], tolerance: float | None = None) -> go.Figure:
    """How far the solver is from its fixed point after each step, by method: the median and the middle 80 %."""
    figure = go.Figure()
    for method, summary in residuals.items():
        steps = list(range(1, len(summary.median) + 1))
        colour = METHOD_COLOURS[method]
        figure.add_scatter(
            x=steps + steps[::-1],
            y=[*summary.high, *reversed(summary.low)],
            fill="toself",
            fillcolor=translucent(colour, 0.18),
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(
            x=steps,
            y=list(summary.median),
            name=METHOD_NAMES[method],
            mode="lines+markers",
            line={"color": colour, "width": 2},
            hovertemplate="step %{x}: %{y:.2g}",
        )
    if tolerance:
        longest = max((len(summary.median) for summary in residuals.values()), default=1)
        figure.add_scatter(
            x=[1, longest],
            y=[tolerance, tolerance],
            name="close enough to stop",
            mode="lines",
            line={"color": GREY, "dash": "dot", "width": 1.5},
            hoverinfo="skip",
        )
    style(figure, "evaluations of the network per picture", "distance to the fixed point", height=300)
    return figure.update_yaxes(type="log", dtick=1, exponentformat="power")
