"""Figures of a benchmark: what an evaluation costs, what each method costs and certifies, and how time grows."""

from collections.abc import Sequence

import plotly.graph_objects as go

from srs_core.benchmark.evaluation import Benchmark
from srs_core.benchmark.runs import Record
from srs_core.figures.certify import METHOD_COLOURS
from srs_core.figures.theme import BLUE, GREEN, GREY, ORANGE, RED, style

__all__ = ["batch_figure", "evaluation_figure", "growth_figure", "radius_and_time_figure", "time_figure"]

WORDS = {"rs": "plain (RS)", "srs": "serialized (SRS)"}


def evaluation_figure(benchmark: Benchmark) -> go.Figure:
    """Milliseconds for one evaluation of f on one picture, and the least that this machine's matrix products allow."""
    measured = benchmark.evaluation
    limit = benchmark.flops_per_evaluation / benchmark.matmul_gflops / 1e6
    bars: list[tuple[str, float | None, str]] = [
        ("training form", measured.plain_ms_per_sample, GREY),
        ("inference form", measured.ms_per_sample, BLUE),
        ("in bfloat16", measured.bfloat16_ms_per_sample, GREEN),
        ("at the peak (float32)", limit, RED),
    ]
    shown = [(name, ms, colour) for name, ms, colour in reversed(bars) if ms is not None]
    figure = go.Figure(
        go.Bar(
            x=[ms for _, ms, _ in shown],
            y=[name for name, _, _ in shown],
            orientation="h",
            marker={"color": [colour for _, _, colour in shown]},
            text=[f"{ms:.2f} ms" for _, ms, _ in shown],
            textposition="auto",
            hovertemplate="%{y}: %{x:.3f} ms<extra></extra>",
        )
    )
    style(figure, "milliseconds per evaluation", height=260)
    return figure.update_layout(margin={"t": 8})


def radius_and_time_figure(records: Sequence[Record]) -> go.Figure:
    """The certified radius against seconds, up and left is better; hollow marks are plain smoothing at equal cost."""
    figure = go.Figure()
    for method, symbol in (("rs", "circle"), ("srs", "diamond")):
        rows = [record for record in records if record.method == method]
        figure.add_scatter(
            x=[row.seconds for row in rows],
            y=[row.radius for row in rows],
            customdata=[(row.label, f"{row.evaluations:,}") for row in rows],
            mode="markers",
            name=WORDS[method],
            marker={"size": 13, "color": METHOD_COLOURS[method], "symbol": symbol},
            hovertemplate="%{customdata[0]}: radius %{y:.3f} in %{x:.1f} s, %{customdata[1]} evaluations"
            "<extra></extra>",
        )
    matched = [(row, row.equal_cost) for row in records if row.equal_cost is not None]
    figure.add_scatter(
        x=[row.seconds for row, _ in matched],
        y=[equal.radius for _, equal in matched],
        customdata=[(row.label, f"{equal.n:,}") for row, equal in matched],
        mode="markers",
        name="plain with as many evaluations",
        marker={"size": 11, "color": METHOD_COLOURS["rs"], "symbol": "circle-open", "line": {"width": 2}},
        hovertemplate="plain smoothing with the evaluations of %{customdata[0]}: radius %{y:.3f} from %{customdata[1]} "
        "votes<extra></extra>",
    )
    style(figure, "seconds (logarithmic)", "certified radius", height=400)
    figure.update_xaxes(type="log")
    figure.update_yaxes(rangemode="tozero")
    return figure.update_layout(legend={"y": -0.25, "yanchor": "top"}, margin={"t": 8})


def time_figure(records: Sequence[Record]) -> go.Figure:
    """Where the time of each run went, in percent: the layer f, the network's two ends, everything else."""
    shown = list(reversed(records))
    figure = go.Figure()
    for name, colour, shares in (
        ("layer f", BLUE, [row.step_seconds / row.seconds for row in shown]),
        ("stem and head", GREEN, [row.ends_seconds / row.seconds for row in shown]),
        ("everything else", ORANGE, [row.outside_share for row in shown]),
    ):
        figure.add_bar(
            x=[100 * share for share in shares],
            y=[row.label for row in shown],
            orientation="h",
            name=name,
            marker={"color": colour},
            text=[f"{100 * share:.0f} %" for share in shares],
            textposition="inside",
            insidetextanchor="middle",
            hovertemplate=f"%{{y}}: %{{x:.1f}} % in {name}<extra></extra>",
        )
    style(figure, "share of the run's time (%)", height=120 + 32 * len(shown))
    figure.update_xaxes(range=(0, 100))
    return figure.update_layout(barmode="stack", legend={"traceorder": "normal"})


def growth_figure(records: Sequence[Record]) -> go.Figure:
    """Seconds by the number of votes; a straight line says that twice the votes take twice the time."""
    figure = go.Figure()
    for method in ("rs", "srs"):
        rows = sorted((record for record in records if record.method == method), key=lambda record: record.n)
        figure.add_scatter(
            x=[row.n for row in rows],
            y=[row.seconds for row in rows],
            mode="lines+markers",
            name=f"{WORDS[method]}: {rows[0].label}" if rows else WORDS[method],
            line={"color": METHOD_COLOURS[method], "width": 2.5},
            marker={"size": 9},
            hovertemplate="%{x:,} votes: %{y:.1f} s<extra></extra>",
        )
    style(figure, "votes", "seconds", height=340)
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    return figure.update_layout(legend={"y": -0.25, "yanchor": "top"}, margin={"t": 8})


def batch_figure(records: Sequence[Record]) -> go.Figure:
    """Milliseconds per evaluation, everything included, by how many noisy copies are solved together."""
    figure = go.Figure(
        go.Bar(
            x=[str(row.batch_size) for row in records],
            y=[1e3 * row.seconds / row.evaluations for row in records],
            marker={"color": METHOD_COLOURS["srs"]},
            texttemplate="%{y:.2f} ms",
            hovertemplate="%{x} at a time: %{y:.3f} ms<extra></extra>",
        )
    )
    style(figure, "copies solved together", "milliseconds per evaluation", height=300)
    figure.update_xaxes(type="category")
    return figure.update_layout(margin={"t": 8})
