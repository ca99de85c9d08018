"""The part of `evaluate` that attacks what it has certified: accuracy under attack, and success by radius."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from srs_core.checks import check_whole
from srs_core.cli.app import errors, progress_bar

if TYPE_CHECKING:
    from srs_core.attacks.study import AttackRow, Point
    from srs_core.attacks.tables import AttackSummary
    from srs_core.evaluate.plan import Evaluation

__all__ = ["ATTACK_RADII", "Attacked", "Attacks"]

ATTACK_RADII = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5)


@dataclass(frozen=True)
class Attacked:
    """What the attacks on one result file's pictures gave; `contradictions` won inside of certificates."""

    path: Path
    summaries: "list[AttackSummary]"
    contradictions: int

    def records(self) -> list[dict[str, Any]]:
        """The summaries as plain values, with the file that they come from."""
        return [{"file": str(self.path), **summary.record()} for summary in self.summaries]

    def show(self) -> None:
        """Print the summaries as a table."""
        columns = ("attack", "radius", "certified", "accuracy under attack", "won, uncertified", "won, certified")
        table = Table(*columns, "undecided")
        for s in self.summaries:
            table.add_row(
                s.attack,
                f"{s.radius:g}",
                f"{100 * s.certified_accuracy:.1f} %",
                f"{100 * s.accuracy:.1f} %",
                _rate(s.uncertified_successes, s.uncertified),
                _rate(s.certified_successes, s.certified),
                str(s.undecided),
            )
        Console().print(table)
        if self.contradictions:
            errors.print(
                f"{self.contradictions} attacks won inside of certificates. Each certificate and each verdict may be "
                "wrong with its own small probability; more than that should be reported.",
                style="red",
            )
        errors.print(f"Wrote {self.path}", highlight=False)


@dataclass(frozen=True)
class Attacks:
    """Which attacks to make on every certified picture: noise draws (0 for plain PGD), radii, votes on each result."""

    samples: tuple[int, ...]
    radii: tuple[float, ...]
    votes: int

    def __post_init__(self) -> None:
        for samples in self.samples:
            check_whole("attack", samples, 0)
        check_whole("attack_n", self.votes, 1)
        for radius in self.radii:
            if not 0 < radius < float("inf"):
                raise ValueError(f"attack_radius is {radius}; it must be a positive number.")

    def run(self, name: str, device: str, evaluation: "Evaluation", paths: Mapping[str, Path]) -> list[Attacked]:
        """Attack the pictures of each result file, and summarise; rows go to a file beside it, -attacks.tsv."""
        from srs_core.attacks.settings import AttackSettings
        from srs_core.attacks.study import study_stream
        from srs_core.attacks.tables import before_attacks, by_radius, contradictions
        from srs_core.attacks.target import load_target

        target = load_target(name, device)
        found = []
        for part in evaluation.parts:
            results = paths[part.name]
            path = results.with_name(f"{results.stem}-attacks.tsv")
            size = part.settings.batch_size
            settings = [
                AttackSettings.against(
                    part.settings, samples=m, n=self.votes, batch_size=None if size is None else min(size, self.votes)
                )
                for m in dict.fromkeys(self.samples)
            ]
            stream = study_stream(
                target,
                _points(evaluation, results),
                lambda _: self.radii,
                settings,
                path,
                {"certified_in": results.name, "certificates": evaluation.identity(part)},
            )
            total = len(evaluation.dataset) * len(settings) * len(set(self.radii))
            rows = _watch(stream, f"attacking {part.name}", total)
            found.append(Attacked(path, [*before_attacks(rows), *by_radius(rows)], len(contradictions(rows))))
        return found


def _watch(stream: "Iterable[AttackRow]", title: str, total: int) -> "list[AttackRow]":
    """All rows, followed on a progress bar; an interrupt says how to go on."""
    rows = []
    try:
        with progress_bar() as bar:
            task = bar.add_task(title, total=total)
            for row in stream:
                rows.append(row)
                bar.update(task, advance=1)
    except KeyboardInterrupt:
        errors.print(
            f"Interrupted after {len(rows)} of {total} attacks. Give the same command to continue.", style="yellow"
        )
        raise
    return rows


def _rate(count: int, total: int) -> str:
    return f"{100 * count / total:.1f} % ({count} of {total})" if total else "no picture"


def _points(evaluation: "Evaluation", path: Path) -> "Iterator[Point]":
    """The evaluated pictures with their certificates, read back from the result file."""
    from srs_core.attacks.study import Point
    from srs_core.evaluate.results import read_results

    frame = read_results(path).frame
    rows: dict[int, Any] = {row["idx"]: row for row in frame.to_dict("records")}
    for sample in evaluation.dataset:
        row = rows[sample.index]
        # Where the certificate abstains, its class is only what a few selection draws favoured.
        answer = None if row["abstain"] else int(row["predict"])
        yield Point(sample.index, sample.image, sample.label, answer, float(row["radius"]))
