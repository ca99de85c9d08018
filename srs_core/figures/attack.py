"""Figures of attacks: votes before and after, what was tried at which distance, and success over many pictures."""

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from srs_core.figures.theme import BLUE, COLORWAY, GREEN, GREY, ORANGE, RED, style, translucent
from srs_core.smoothing.bounds import format_radius

if TYPE_CHECKING:
    from srs_core.attacks.result import AttackResult
    from srs_core.attacks.tables import AttackSummary
    from srs_core.smoothing.certificate import Certificate

__all__ = ["OUTCOME_WORDS", "attempts_figure", "success_figure", "votes_change_figure"]

OUTCOME_WORDS = {"same": "attack failed", "undecided": "too close to tell", "changed": "attack won"}
ATTACK_WORDS = {"PGD": "PGD on the plain model"}
MARKERS = {"same": (BLUE, "circle"), "undecided": (GREY, "diamond"), "changed": (RED, "x")}


def votes_change_figure(
    certificate: "Certificate", result: "AttackResult", classes: Sequence[str], most: int = 10
) -> go.Figure:
    """Shares of the votes by class, on the picture itself and on the attacked one; the most voted classes if many."""
    before, after = (_shares(votes) for votes in (certificate.votes, result.votes))
    shown = sorted(sorted(range(len(before)), key=lambda c: -(before[c] + after[c]))[:most])
    names = [classes[c] if c < len(classes) else f"class {c}" for c in shown]
    figure = go.Figure()
    for name, shares, colour in (("before the attack", before, BLUE), ("after the attack", after, ORANGE)):
        figure.add_bar(
            x=names,
            y=[shares[c] for c in shown],
            name=name,
            marker_color=colour,
            hovertemplate="%{x}: %{y:.1%} of the votes",
        )
    figure.add_hline(y=0.5, line={"color": GREY, "dash": "dot", "width": 1})
    style(figure, "", "share of the votes", height=300)
    return figure.update_yaxes(tickformat=".0%", range=[0, 1])


def attempts_figure(attempts: "Sequence[AttackResult]", certified: float, reach: float) -> go.Figure:
    """Every attack by how far it went and how many votes it left to the original answer, beside the certified ball."""
    figure = go.Figure()
    if certified > 0:
        figure.add_vrect(x0=0, x1=certified, fillcolor=translucent(GREEN, 0.15), line_width=0)
        figure.add_vline(
            x=certified,
            line={"color": GREEN, "width": 2},
            annotation_text=f"certified {format_radius(certified)}",
            annotation_position="top",
        )
    for outcome, (colour, symbol) in MARKERS.items():
        those = [attempt for attempt in attempts if attempt.outcome == outcome]
        if those:
            figure.add_scatter(
                x=[attempt.distance for attempt in those],
                y=[attempt.votes[attempt.label] / sum(attempt.votes) for attempt in those],
                mode="markers",
                name=OUTCOME_WORDS[outcome],
                marker={"color": colour, "symbol": symbol, "size": 12},
                hovertemplate="distance %{x:.3f}: %{y:.1%} of the votes for the original answer",
            )
    figure.add_hline(y=0.5, line={"color": GREY, "dash": "dot", "width": 1})
    style(figure, "distance of the attacked picture (L2)", "votes left to the original answer", height=320)
    figure.update_xaxes(range=[0, max([reach, *(1.05 * attempt.distance for attempt in attempts)])])
    figure.update_layout(legend={"y": 1.12}, showlegend=True, margin={"t": 60})
    return figure.update_yaxes(tickformat=".0%", range=[-0.04, 1.04])


def success_figure(summaries: "Sequence[AttackSummary]", title: str = "times the certified radius") -> go.Figure:
    """How often attacks won, by how far they were allowed to go; up to 1 is inside of the certificates.

    A dotted line adds the attacks whose verdict was too close to tell: the truth lies between the two.
    """
    figure = go.Figure()
    figure.add_vrect(x0=0, x1=1, fillcolor=translucent(GREEN, 0.15), line_width=0)
    for attack, colour in zip(dict.fromkeys(summary.attack for summary in summaries), cycle(COLORWAY)):
        those = [summary for summary in summaries if summary.attack == attack]
        name = ATTACK_WORDS.get(attack, f"Smooth-PGD, {attack}")
        for told, dash, counts in (
            ("won", "solid", [summary.successes for summary in those]),
            ("won or too close to tell", "dot", [summary.successes + summary.undecided for summary in those]),
        ):
            figure.add_scatter(
                x=[summary.radius for summary in those],
                y=[count / summary.pictures for count, summary in zip(counts, those, strict=True)],
                customdata=[[count, summary.pictures] for count, summary in zip(counts, those, strict=True)],
                mode="lines+markers",
                name=f"{name}: {told}",
                line={"color": colour, "dash": dash},
                hovertemplate=f"%{{x:g}}: {told} in %{{customdata[0]}} of %{{customdata[1]}}",
            )
    style(figure, title, "attacks that won", height=340)
    figure.update_xaxes(rangemode="tozero")
    return figure.update_yaxes(tickformat=".0%", range=[-0.03, 1.03])


def _shares(votes: Sequence[int]) -> list[float]:
    total = max(1, sum(votes))
    return [count / total for count in votes]
