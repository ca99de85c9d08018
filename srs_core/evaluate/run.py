"""An evaluation from start to end: what is missing is computed, here or on Ray, and kept row by row."""

import platform
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from srs_core import __version__
from srs_core.evaluate.picture import Step, Task, certify_picture
from srs_core.evaluate.plan import Evaluation, Part, result_path, to_run
from srs_core.evaluate.rows import Row
from srs_core.evaluate.table import Table
from srs_core.model import Model, device_of

__all__ = ["Progress", "Worker", "evaluate", "evaluate_stream", "here", "result_paths"]

Worker = Callable[[Model, Iterator[Task]], Generator[Step, None, None]]
"""Whoever certifies the pictures, in any order; each one's rows come in its last step. Closing it stops the work."""


@dataclass(frozen=True)
class Progress:
    """Where an evaluation stands: `done` of `total` pictures, of which `found` were there before this start.

    `fraction` is how far the picture in work is (0 on a cluster), `rows` are those of the picture just finished.
    """

    total: int
    done: int
    found: int
    fraction: float = 0.0
    rows: tuple[Row, ...] = ()


def here(model: Model, tasks: Iterator[Task]) -> Generator[Step, None, None]:
    """Certify one picture after the other in this process."""
    for task in tasks:
        yield from certify_picture(model, task)


def result_paths(evaluation: Evaluation, out: Path, title: str = "") -> dict[str, Path]:
    """The file of each part: `out` itself when there is but one, else `out` with the part's name added."""
    alone = len(evaluation.parts) == 1 and not title
    names: dict[Path, str] = {}
    for part in evaluation.parts:
        path = result_path(out, "-".join(filter(None, (title, part.name))), alone)
        if path in names:
            raise ValueError(
                f"The settings {names[path]!r} and {part.name!r} would both be written to {path.name}; give them names "
                "that differ in letters or digits."
            )
        names[path] = part.name
    return {name: path for path, name in names.items()}


def evaluate_stream(
    evaluation: Evaluation, paths: dict[str, Path], worker: Worker = here, run: dict[str, Any] | None = None
) -> Iterator[Progress]:
    """Certify all pictures under all parts, continuing whatever the files at `paths` already hold.

    Each picture's rows are on the disk before the next progress is told; to stop, stop asking. Files made with other
    settings, or in the hands of another process, are refused before anything is computed.
    """
    run = {**_environment(evaluation.model), **(run or {})}
    with ExitStack() as stack:
        tables = {
            part.name: stack.enter_context(Table(paths[part.name], part.name, evaluation.identity(part), run))
            for part in evaluation.parts
        }
        missing = _missing(evaluation, tables)
        total = len(evaluation.dataset)
        done = found = total - len(missing)
        yield Progress(total, done, found)
        # Pictures are read when their turn comes: a large test set does not fit in memory.
        tasks = (Task(evaluation.dataset[position], parts) for position, parts in missing)
        for step in stack.enter_context(closing(worker(evaluation.model, tasks))):
            if not step.rows:
                yield Progress(total, done, found, step.fraction)
                continue
            for row in step.rows:
                # A plain row may have been computed again only to measure a serialized one against it.
                if row.idx not in tables[row.setting].done:
                    tables[row.setting].append(row)
            done += 1
            yield Progress(total, done, found, 0.0, step.rows)
        for table in tables.values():
            table.finish()


def evaluate(evaluation: Evaluation, paths: dict[str, Path], worker: Worker = here) -> None:
    """Certify all pictures under all parts: `evaluate_stream` run to its end."""
    for _ in evaluate_stream(evaluation, paths, worker):
        pass


def _missing(evaluation: Evaluation, tables: dict[str, Table]) -> list[tuple[int, tuple[Part, ...]]]:
    """The positions of pictures that some file does not have, and the parts to run for each."""
    found = []
    for position, index in enumerate(evaluation.dataset.indices):
        names = {name for name, table in tables.items() if index not in table.done}
        if names:
            found.append((position, to_run(evaluation.parts, names)))
    return found


def _environment(model: Model) -> dict[str, Any]:
    """What this start ran on: it explains the times, and should a vote on the edge ever fall the other way."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": str(device_of(model, torch.empty(0))),
        "threads": torch.get_num_threads(),
        "versions": {
            "srs_core": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
    }
