"""A report as one HTML file: the table and the plots, with everything they need inside it."""

from html import escape

from srs_core.evaluate.summary_table import SummaryTable
from srs_core.figures.evaluate import figures_of

__all__ = ["html_report"]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b2733; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: 0.3rem 0.7rem; text-align: right; border-bottom: 1px solid #d8dee4; }
th:first-child, td:first-child { text-align: left; }
"""
NOTE = (
    "Percentages are of all pictures; an abstention counts as not certified. “r=0.25 %” is the share classified right "
    "with a certified radius above 0.25. ACR is the average certified radius, 0 where the answer is wrong or "
    "abstained: a few easy pictures can outweigh many hard ones in it, and it grows with the number of votes, so "
    "compare the curves first. “plain wins” is how often plain smoothing certifies as much or more"
    " for the same price; where both abstain nobody wins."
)


def html_report(table: SummaryTable) -> str:
    """The whole report; it loads nothing from anywhere, so it can be kept and sent as it is."""
    header, lines = table.cells()
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>\n" for line in lines)
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    parts = [
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>Certified robustness</title><style>{STYLE}</style></head><body>\n<h1>Certified robustness</h1>",
        f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>",
        f"<p>{NOTE}</p>",
    ]
    include = True
    for heading, figure in figures_of(table.results).items():
        drawn = figure.to_html(full_html=False, include_plotlyjs=include, config={"displaylogo": False})
        parts.append(f"<h2>{escape(heading)}</h2>\n{drawn}")
        include = False
    return "\n".join([*parts, "</body></html>\n"])
