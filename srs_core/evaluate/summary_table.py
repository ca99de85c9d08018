"""Result files as one table, for people (text, Markdown), for papers (LaTeX) and for programs (CSV, JSON)."""

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from srs_core.evaluate.results import Results, find_base
from srs_core.metrics import RADII, Summary, summary
from srs_core.smoothing.bounds import format_radius

__all__ = ["FORMATS", "SummaryTable", "csv_table", "latex_table", "markdown_table", "summarise", "text_table"]

LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%_#${}"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    | {"|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}"}
    # At the beginning of a line, the line break before it would take these for its own options.
    | {"[": "{[}", "*": "{*}"}
)
MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|~^&$"})


@dataclass(frozen=True)
class SummaryTable:
    """One line for each result file: its name, model, noise level and numbers, at the radii of the columns."""

    radii: tuple[float, ...]
    results: tuple[Results, ...]
    summaries: tuple[Summary, ...]

    def records(self) -> list[dict[str, Any]]:
        """Plain values by name, with None for what is not known; shares are numbers from 0 to 1."""
        found = []
        for results, s in zip(self.results, self.summaries, strict=True):
            record: dict[str, Any] = {"name": results.name, "model": results.model, "sigma": results.sigma}
            record |= {"pictures": s.pictures, "abstained": s.abstained}
            record |= {f"certified_at_{_plain(r)}": share for r, share in zip(self.radii, s.certified, strict=True)}
            record |= {"acr": s.acr, "mean_p_a": s.p_a, "mean_p_m": s.p_m, "mean_true_mismatch": s.true_mismatch}
            record |= {"mean_gap": s.gap, "bound_violations": s.violations, "beaten_at_equal_cost": s.beaten}
            record |= {
                "mean_rrd": s.rrd,
                "speed_up_evaluations": None if s.speed_up is None else s.speed_up.evaluations,
                "speed_up_seconds": None if s.speed_up is None else s.speed_up.seconds,
                "mean_seconds": s.seconds,
                "mean_evaluations": s.evaluations,
            }
            found.append(record)
        return found

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table as people read it: a header and lines, without columns in which nothing is known."""
        lines = [self._line(r, s) for r, s in zip(self.results, self.summaries, strict=True)]
        if len({results.model for results in self.results}) == 1:
            lines = [{name: cell for name, cell in line.items() if name != "model"} for line in lines]
        kept = [name for name in lines[0] if any(line[name] for line in lines)]
        return kept, [[line[name] for name in kept] for line in lines]

    def _line(self, results: Results, s: Summary) -> dict[str, str]:
        return {
            "setting": " ".join(results.name.split()),
            "model": " ".join(results.model.split()),
            "sigma": _number(results.sigma, "{:g}"),
            "pictures": str(s.pictures),
            "abstained %": f"{100 * s.abstained:.1f}",
            **{f"r={_plain(r)} %": f"{100 * share:.1f}" for r, share in zip(self.radii, s.certified, strict=True)},
            "ACR": format_radius(s.acr),
            "p_A": _number(s.p_a, "{:.3f}"),
            "p_m %": _number(s.p_m, "{:.2f}", 100),
            "gap %": _number(s.gap, "{:.2f}", 100),
            "RRD": _number(s.rrd, "{:.3f}"),
            "fewer evaluations": "" if s.speed_up is None else _number(s.speed_up.evaluations, "{:.1f}x"),
            "faster": "" if s.speed_up is None else _number(s.speed_up.seconds, "{:.1f}x"),
            "plain wins %": _number(s.beaten, "{:.0f}", 100),
            "seconds": f"{s.seconds:.2f}",
        }


def summarise(results: Sequence[Results], radii: Sequence[float] = RADII, baseline: str | None = None) -> SummaryTable:
    """Put result files into one table, each beside the file that `find_base` compares it with.

    `baseline` is the name of those files, where the user has chosen one. A radius that is given twice is one column.
    """
    for radius in radii:
        if not (math.isfinite(radius) and radius >= 0):
            raise ValueError(f"radius is {radius}; give finite numbers of at least 0.")
    columns = tuple(dict.fromkeys(float(radius) for radius in radii))
    if baseline is not None:
        known = dict.fromkeys(each.name for each in results)
        if baseline not in known:
            raise ValueError(f"There is no result named {baseline!r} to compare with; there are {', '.join(known)}.")
        results = [replace(each, against=baseline) for each in results]
    bases = [find_base(each, results) for each in results]
    summaries = [
        summary(each.frame, columns, None if base is None else base.frame)
        for each, base in zip(results, bases, strict=True)
    ]
    return SummaryTable(columns, tuple(results), tuple(summaries))


def text_table(table: SummaryTable) -> str:
    """For a terminal: columns in line, the first to the left and numbers to the right."""
    header, lines = table.cells()
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    shown = ""
    for first, *others in [header, ["-" * width for width in widths], *lines]:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        shown += "  ".join(cells).rstrip() + "\n"
    return shown


def markdown_table(table: SummaryTable) -> str:
    """For a README or an issue."""
    header, lines = table.cells()
    rule = ["---", *["---:"] * (len(header) - 1)]
    shown, *body = [[cell.translate(MARKDOWN) for cell in line] for line in [header, *lines]]
    return "".join(f"| {' | '.join(line)} |\n" for line in [shown, rule, *body])


def latex_table(table: SummaryTable) -> str:
    """For a paper: a tabular of the booktabs package."""
    header, lines = table.cells()
    top, *body = [f"  {' & '.join(cell.translate(LATEX) for cell in line)} \\\\" for line in [header, *lines]]
    begin = f"\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}"
    return "\n".join([begin, r"  \toprule", top, r"  \midrule", *body, r"  \bottomrule", r"\end{tabular}"]) + "\n"


def csv_table(table: SummaryTable) -> str:
    """For a spreadsheet or a program, with all digits."""
    records = table.records()
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return stream.getvalue()


FORMATS: dict[str, Callable[[SummaryTable], str]] = {
    "text": text_table,
    "markdown": markdown_table,
    "latex": latex_table,
    "csv": csv_table,
}


def _number(value: float | None, form: str, scale: float = 1.0) -> str:
    return "" if value is None else form.format(scale * value)


def _plain(radius: float) -> str:
    """A radius with all digits that tell it from others, and without a needless fraction."""
    return str(radius).removesuffix(".0")
