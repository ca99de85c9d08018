"""The part of `evaluate` that attacks what it has certified: accuracy under attack, and success by radius."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from srs_core.cli.app import errors, progress_bar

if TYPE_CHECKING:
    from srs_core.attacks.study import Point
    from srs_core.attacks.tables import AttackSummary
    from srs_core.evaluate.plan import Evaluation

__all__ = ["ATTACK_RADII", "Attacks"]

ATTACK_RADII = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5)


@dataclass(frozen=True)
class Attacks:
    """Which attacks to make on every certified picture: noise draws (0 for plain PGD), radii, votes on each result."""

    samples: tuple[int, ...]
    radii: tuple[float, ...]
    votes: int

    def __post_init__(self) -> None:
        for radius in self.radii:
            if not 0 < radius < float("inf"):
                raise ValueError(f"attack_radius is {radius}; it must be a positive number.")

    def run(
        self, name: str, device: str, evaluation: "Evaluation", paths: Mapping[str, Path]
    ) -> "dict[Path, list[AttackSummary]]":
        """Attack the pictures of each result file, and summarise; rows go to a file beside it, -attacks.tsv."""
        from srs_core.attacks.settings import AttackSettings
        from srs_core.attacks.study import study_stream
        from srs_core.attacks.tables import by_radius
        from srs_core.attacks.target import load_target

        target = load_target(name, device)
        found = {}
        for part in evaluation.parts:
            results = paths[part.name]
            path = results.with_name(f"{results.stem}-attacks.tsv")
            settings = [
                AttackSettings.against(part.settings, samples=m, n=self.votes, batch_size=part.settings.batch_size)
                for m in dict.fromkeys(self.samples)
            ]
            total = len(evaluation.dataset) * len(settings) * len(self.radii)
            stream = study_stream(
                target,
                _points(evaluation, results),
                lambda _: self.radii,
                settings,
                path,
                data=f"{evaluation.dataset.name}, certified in {results.name}",
            )
            rows = []
            with progress_bar() as bar:
                task = bar.add_task(f"attacking {part.name}", total=total)
                for row in stream:
                    rows.append(row)
                    bar.update(task, advance=1)
            found[path] = by_radius(rows)
        return found

    @staticmethod
    def records(found: "Mapping[Path, list[AttackSummary]]") -> list[dict[str, Any]]:
        """The summaries as plain values, with the file that each comes from."""
        return [{"file": str(path), **summary.record()} for path, those in found.items() for summary in those]

    @staticmethod
    def show(found: "Mapping[Path, list[AttackSummary]]") -> None:
        """Print the summaries as a table for each file."""
        console = Console()
        for path, summaries in found.items():
            table = Table(
                "attack", "radius", "accuracy under attack", "won, uncertified", "won, certified", "undecided"
            )
            for s in summaries:
                table.add_row(
                    s.attack,
                    f"{s.radius:g}",
                    f"{100 * s.accuracy:.1f} %",
                    _rate(s.uncertified_successes, s.uncertified),
                    _rate(s.certified_successes, s.certified),
                    str(s.undecided),
                )
            console.print(table)
            errors.print(f"Wrote {path}", highlight=False)


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
        yield Point(sample.index, sample.image, sample.label, int(row["top_class"]), float(row["radius"]))
