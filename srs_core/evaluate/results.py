"""Result files read back: ours, and any other file that begins with the usual columns."""

import io
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from srs_core.evaluate.rows import USUAL_COLUMNS
from srs_core.evaluate.table import ResultError, sidecar_path
from srs_core.metrics import seconds

__all__ = ["Results", "find_base", "labels_of", "parse_results", "read_results", "results_folder", "shipped_results"]

OUR_NUMBERS = ("p_a", "p_m", "true_mismatch", "gap", "evaluations", "equal_cost_radius", "sigma")
"""Columns that files from elsewhere may lack or leave empty, and that are reckoned with where they are filled."""
LARGEST = 1e15
"""No number of a result comes near it; with larger ones sums overflow and whole numbers are no longer exact."""
SAME_RUN = ("n", "alpha", "seed", "data_hash")
"""What plain smoothing must share with a setting to be measured against it, besides the model and the noise level."""


@dataclass(frozen=True, eq=False)
class Results:
    """One result file: a row for each picture, a name for its curve, and its sidecar's settings if it has one.

    `command` is the command line that made it; empty when the sidecar does not say. `against` is the name of the
    result to compare it with, where the user has chosen one.
    """

    name: str
    frame: pd.DataFrame
    settings: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None
    command: str = ""
    against: str | None = None

    @property
    def model(self) -> str:
        """The model's name; empty when the file does not say."""
        said = self.settings.get("model")
        return said if isinstance(said, str) else _first(self.frame, "model")

    @property
    def sigma(self) -> float | None:
        """The noise level; None when the file does not say."""
        said = _number(self.settings.get("sigma"))
        return _number(_first(self.frame, "sigma")) if said is None else said

    @property
    def plain_steps(self) -> int:
        """The solver steps of plain smoothing, 0 for everything else: what makes a file the one to compare with."""
        steps = self.settings.get("steps")
        return steps if self.settings.get("method") == "rs" and isinstance(steps, int) else 0

    @property
    def data_hash(self) -> str:
        """The fingerprint of the pictures; empty when the file does not say."""
        said = self.settings.get("data_hash")
        return said if isinstance(said, str) else ""


def read_results(path: Path) -> Results:
    """Read a result file and the sidecar beside it."""
    sidecar = sidecar_path(path)
    settings = sidecar.read_bytes() if sidecar.is_file() else None
    return parse_results(path.read_bytes(), path.stem, settings, path)


def parse_results(content: bytes, name: str, sidecar: bytes | None = None, path: Path | None = None) -> Results:
    """Results from a file's bytes; a last line that a running evaluation has not finished is left out."""
    where = path or name
    try:
        frame = pd.read_csv(io.BytesIO(_whole_lines(content, running=sidecar is not None)), sep="\t")
    except (ValueError, UnicodeDecodeError) as error:
        raise ResultError(f"{where} cannot be read as a tab-separated file ({error}).") from error
    missing = [column for column in USUAL_COLUMNS if column not in frame]
    if missing:
        raise ResultError(f"{where} is not a result file: it lacks the columns {', '.join(missing)}.")
    if frame.empty:
        raise ResultError(f"{where} has no rows yet.")
    fault = next(_faults(frame), None)
    if fault is not None:
        raise ResultError(f"{where} is damaged: {fault}")
    settings, command = _said(sidecar)
    return Results(_first(frame, "setting") or name, frame, settings, path, command)


def results_folder() -> Path:
    """Where finished results are kept to be shown: the folder that SRS_RESULTS names, else `results/` here."""
    named = os.environ.get("SRS_RESULTS")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "results"


def shipped_results() -> list[Results]:
    """All result files of the results folder, by name; one that cannot be read is passed over."""
    found = []
    for path in sorted(results_folder().glob("**/*.tsv")):
        try:
            found.append(read_results(path))
        except ResultError:
            continue
    return found


def find_base(results: Results, among: Sequence[Results]) -> Results | None:
    """The file to compare with, always of the same model and noise level.

    It is the one that the user has named; else the one that the sidecar names; else plain smoothing with the most
    solver steps. Files whose sidecars tell of other pictures are passed over, and, unless the user has named them,
    those of another n, alpha or seed.
    """
    mine = (results.model, results.sigma)
    others = [other for other in among if other is not results and (other.model, other.sigma) == mine]
    if results.against is not None:
        same = [other for other in others if other.name == results.against and _agree(results, other, ("data_hash",))]
        return same[0] if same and results.name != results.against else None
    others = [other for other in others if _agree(results, other, SAME_RUN)]
    named = [other for other in others if other.name == results.settings.get("compared_with")]
    plain = [other for other in others if other.plain_steps > 0]
    best = named[0] if named else max(plain, key=lambda other: other.plain_steps, default=None)
    return None if best is None or best.plain_steps < results.plain_steps else best


def labels_of(results: Sequence[Results]) -> dict[str, Results]:
    """A short label for each result file that tells them apart: the setting, with the model where there are several."""
    several = len({each.model for each in results}) > 1
    labels: dict[str, Results] = {}
    for each in results:
        label = name = f"{each.name} · {each.model}" if several and each.model else each.name
        number = 2
        while label in labels:
            label, number = f"{name} ({number})", number + 1
        labels[label] = each
    return labels


def _agree(one: Results, other: Results, keys: Sequence[str]) -> bool:
    """Whether two sidecars tell the same of these settings, wherever both tell them."""
    pairs = ((one.settings.get(key), other.settings.get(key)) for key in keys)
    return all(mine == theirs for mine, theirs in pairs if mine is not None and theirs is not None)


def _whole_lines(content: bytes, running: bool) -> bytes:
    """The file without a torn last line; a file from elsewhere may end without a line end and still be whole."""
    header, last = content.partition(b"\n")[0], content.rfind(b"\n") + 1
    torn = running or content.count(b"\t", last) < header.count(b"\t")
    return content[:last] if torn else content


def _faults(frame: pd.DataFrame) -> Iterator[str]:
    """What is wrong with the values, each as the end of a sentence; later checks rely on earlier ones."""
    for column in USUAL_COLUMNS:
        if column != "time" and not _are_numbers(frame[column]):
            yield f"{column} must hold a number in every row, none beyond {LARGEST:g}."
    for column in OUR_NUMBERS:
        if column in frame and not _are_numbers(frame[column].dropna()):
            yield f"{column} must hold numbers or nothing, none beyond {LARGEST:g}."
    if not (frame["idx"] % 1 == 0).all():
        yield "idx must be a whole number in every row."
    twice = frame.loc[frame["idx"].duplicated(), "idx"]
    if len(twice):
        yield f"idx {int(twice.iloc[0])} stands in more than one row; keep one of them."
    if not (frame["radius"] >= 0).all():
        yield "radius must be at least 0 in every row."
    if not frame["correct"].isin((0, 1)).all():
        yield "correct must be 0 or 1 in every row."
    if not _are_times(frame["time"]):
        yield "time must be h:mm:ss or seconds in every row."


def _are_numbers(values: "pd.Series[Any]") -> bool:
    # What is missing or infinite fails the comparison, too.
    return is_numeric_dtype(values) and not is_bool_dtype(values) and bool((values.abs() <= LARGEST).all())


def _are_times(values: "pd.Series[Any]") -> bool:
    try:
        taken = seconds(values)
    except ValueError:
        return False
    return bool(((taken >= 0) & (taken <= LARGEST)).all())


def _first(frame: pd.DataFrame, column: str) -> str:
    """What a column says of the whole file, by its first row; empty where it says nothing."""
    value = frame[column].iloc[0] if column in frame and len(frame) else None
    return "" if pd.isna(value) else str(value)


def _number(value: Any) -> float | None:
    """The value as a finite number; None for anything else, as a damaged sidecar can hold whatever it likes."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _said(sidecar: bytes | None) -> tuple[dict[str, Any], str]:
    """The settings and the command that a sidecar tells; nothing where it is damaged or there is none."""
    try:
        document = json.loads(sidecar or b"")
        commands = [str(run["command"]) for run in document.get("runs", []) if "command" in run]
        return dict(document["settings"]), commands[0] if commands else ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}, ""
