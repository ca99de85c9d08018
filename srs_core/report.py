"""A self-contained HTML report of one result: it opens anywhere, and asks nothing of any other machine."""

import base64
import json
from collections.abc import Iterable
from html import escape

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from srs_core.figures.certify import METHOD_NAMES, guarantee_figure, radii_figure, residuals_figure, votes_figure
from srs_core.result import Result
from srs_core.smoothing.certificate import Certificate
from srs_core.words import Fact, claim, equal_cost_line, facts, measured_facts

__all__ = ["html_report"]

# The policy forbids every request, so that even a broken script could not leave the machine.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_STYLE = """
:root { color-scheme: light dark; --ink: #1b2733; --paper: #ffffff; --soft: #f3f6f9; --line: #d5dde5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eef4; --paper: #10161d; --soft: #1a232d; --line: #33414f; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
.side { display: flex; flex-wrap: wrap; gap: 1rem; }
.card { flex: 1 1 20rem; background: var(--soft); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; }
img { width: 10rem; image-rendering: pixelated; border-radius: .4rem; }
table { border-collapse: collapse; width: 100%; }
td { padding: .25rem .5rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td:last-child { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
small { display: block; opacity: .75; }
pre { overflow: auto; max-height: 24rem; background: var(--soft); padding: 1rem; font-size: 12px; }
"""
_DRAW = """
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
for (const node of document.querySelectorAll("[data-figure]")) {
  const figure = JSON.parse(node.querySelector("script").textContent);
  figure.layout.font = { color: dark ? "#e8eef4" : "#1b2733" };
  Plotly.newPlot(node, figure.data, figure.layout, { responsive: true, displaylogo: false });
}
"""


def html_report(result: Result) -> str:
    """The whole result as one HTML document, with its figures, its numbers and the certificates themselves."""
    figures = [
        ("Certified radii", radii_figure(result.certificates, _equal_cost(result))),
        ("From votes to guarantee", guarantee_figure(result.certificates)),
        ("Votes", votes_figure(result.certificates, result.classes)),
        ("Convergence of the solver", residuals_figure(result.residuals, result.certificates[0].tol)),
    ]
    title = f"Certificate of {result.picture_name}"
    picture = base64.b64encode(result.picture).decode()
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>",
            f"<h1>{escape(title)}</h1>",
            f'<p><img alt="The picture as the model sees it" src="data:image/png;base64,{picture}"></p>',
            '<div class="side">',
            *(_card(certificate, result.values) for certificate in result.certificates),
            "</div>",
            *_comparison(result),
            *(f"<h2>{escape(name)}</h2>{_figure(figure)}" for name, figure in figures),
            "<h2>To check it again</h2>",
            "<p>Everything needed to recompute the bounds from the counts, or to run it again with the same seed.</p>",
            f"<pre>{escape(json.dumps(result.to_dict(), indent=2))}</pre>",
            "</main>",
            f"<script>{get_plotlyjs()}</script><script>{_DRAW}</script></body></html>",
        ]
    )


def _equal_cost(result: Result) -> tuple[int, float] | None:
    if result.measured is None:
        return None
    return result.measured.equal_cost.n, result.measured.equal_cost.radius


def _card(certificate: Certificate, values: int) -> str:
    name = METHOD_NAMES[certificate.method]
    return (
        f'<section class="card"><h2>{escape(name)}</h2><p>{escape(claim(certificate, values))}</p>'
        f"{_table(facts(certificate))}</section>"
    )


def _comparison(result: Result) -> list[str]:
    serialized = result.of_method("srs")
    if result.measured is None or serialized is None:
        return []
    return [
        "<h2>Side by side</h2>",
        f"<p>{escape(equal_cost_line(serialized, result.measured))}</p>",
        _table(measured_facts(result.measured)),
    ]


def _table(rows: Iterable[Fact]) -> str:
    cells = (
        f"<tr><td>{escape(row.label)}<small>{escape(row.help)}</small></td><td>{escape(row.value)}</td></tr>"
        for row in rows
    )
    return f"<table>{''.join(cells)}</table>"


def _figure(figure: go.Figure) -> str:
    # "<" cannot end the script element when it is written as an escape.
    document = figure.to_json().replace("<", "\\u003c")
    return f'<div data-figure><script type="application/json">{document}</script></div>'
