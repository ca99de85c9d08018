"""A result file on disk: locked against a second writer, repaired after a crash, and never mixed."""

import json
import os
import re
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from types import NoneType, TracebackType
from typing import Any, get_args

from filelock import FileLock, Timeout

from srs_core.evaluate.rows import COLUMNS, Row
from srs_core.files import write_text

__all__ = ["ResultError", "Table", "sidecar_path"]

HEADER = "\t".join(COLUMNS) + "\n"
FORMAT = 1

CELLS = {int: r"-?[0-9]+", float: r"-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?", str: r"[^\t]+", NoneType: ""}
"""What a cell of each kind looks like."""

NARROWER = {"idx": r"[0-9]+", "time": r"([0-9]+ days?, )?[0-9]+:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"}
"""Columns of which more is known than their kind."""

ONCE_FIXED = {"proxy_precision": "float32"}
"""Settings that older files do not name, and what they were then."""


class ResultError(ValueError):
    """A result file cannot be used; the text says why, and what to do."""


def sidecar_path(path: Path) -> Path:
    """Where the settings of a result file are kept: results.tsv.json beside results.tsv."""
    return path.with_name(f"{path.name}.json")


class Table:
    """One result file, open for more rows; `done` are the indices of the pictures it has.

    Opening takes a lock, cuts off a torn last line, and compares `identity`, all that the rows depend on, with what the
    file's sidecar says. `run` describes this start (device, versions, ...) and is added to the sidecar's list.
    """

    def __init__(self, path: Path, name: str, identity: dict[str, Any], run: dict[str, Any]) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(path.with_name(f"{path.name}.lock"))
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise ResultError(
                f"Another evaluation is writing {path} at this moment. Wait until it is done, or choose another file."
            ) from None
        try:
            self._order = _repaired(path)
            earlier = _agreed_runs(path, identity) if self._order else []
            write_text(
                sidecar_path(path),
                json.dumps(
                    {"format": FORMAT, "name": name, "settings": identity, "runs": [*earlier, run]},
                    indent=2,
                    allow_nan=False,
                )
                + "\n",
            )
            if not self._order:
                write_text(path, HEADER)
            self._stream = path.open("a", encoding="utf-8", newline="")
        except BaseException:
            self._release()
            raise
        self.done = set(self._order)

    def append(self, row: Row) -> None:
        """Add a row and push it through to the disk, so that a crash a moment later does not cost it."""
        self._stream.write(row.line())
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self.done.add(row.idx)
        self._order.append(row.idx)

    def finish(self) -> None:
        """Bring the rows of a finished file into the order of their indices; workers deliver them as they come."""
        if self._order == sorted(self._order):
            return
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)[1:]
        write_text(self.path, HEADER + "".join(sorted(lines, key=lambda line: int(line.split("\t", 1)[0]))))

    def close(self) -> None:
        """Give the file free."""
        self._stream.close()
        self._release()

    def __enter__(self) -> "Table":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _release(self) -> None:
        with suppress(OSError):  # where an open file cannot be removed, it stays: only the lock on it counts
            Path(self._lock.lock_file).unlink()
        self._lock.release()


def _repaired(path: Path) -> list[int]:
    """Cut off what a crash left of an unfinished line, and return the indices of the whole rows in their order."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    header = HEADER.encode()
    if header.startswith(content):
        return []
    if not content.startswith(header):
        raise ResultError(
            f"{path} has other columns than this program's result files. Choose another file for the results."
        )
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as stream:
            stream.truncate(whole)
            os.fsync(stream.fileno())
    found: dict[int, int] = {}
    for number, line in enumerate(content[len(header) : whole].decode(errors="replace").split("\n")[:-1], start=2):
        if not LINE.fullmatch(line):
            raise ResultError(f"Line {number} of {path} is damaged. Delete that line to have its picture done again.")
        index = int(line.split("\t", 1)[0])
        if index in found:
            raise ResultError(
                f"Line {number} of {path} is about picture {index}, as line {found[index]} is. Delete one of the two; "
                "if they differ, both, to have the picture done again."
            )
        found[index] = number
    return list(found)


def _line_pattern() -> re.Pattern[str]:
    """What a whole line looks like: a cell for each of the columns of `Row`, of the column's kind."""
    cells = (
        NARROWER.get(column.name, "|".join(CELLS[kind] for kind in get_args(column.type) or (column.type,)))
        for column in fields(Row)
    )
    return re.compile("\t".join(f"({cell})" for cell in cells))


LINE = _line_pattern()


def _agreed_runs(path: Path, identity: dict[str, Any]) -> list[dict[str, Any]]:
    """The earlier runs that a file's sidecar lists, if it was made with exactly these settings."""
    sidecar = sidecar_path(path)
    try:
        document = json.loads(sidecar.read_text(encoding="utf-8"))
        before, runs = dict(document["settings"]), list(document["runs"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResultError(
            f"{path} has rows, but {sidecar.name}, which says how they were made, cannot be read ({error}). Choose "
            "another file for the results."
        ) from error
    now = json.loads(json.dumps(identity))
    differ = [key for key in {**now, **before} if now.get(key) != before.get(key, ONCE_FIXED.get(key))]
    if differ:
        told = "; ".join(f"{key} was {_told(before, key)} and is {_told(now, key)} now" for key in differ)
        raise ResultError(
            f"{path} was made with other settings: {told}. Results of different settings are not mixed: give the "
            "same settings to continue it, or choose another file."
        )
    return runs


def _told(values: dict[str, Any], key: str) -> str:
    return repr(values[key]) if values.get(key) is not None else "not set"
