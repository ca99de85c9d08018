"""Result files read back: ours, and any other file that begins with the usual columns."""

import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from srs_core.evaluate.rows import USUAL_COLUMNS
from srs_core.evaluate.table import ResultError, sidecar_path

__all__ = ["Results", "find_base", "labels_of", "parse_results", "read_results", "results_folder", "shipped_results"]


@dataclass(frozen=True, eq=False)
class Results:
    """One result file: a row for each picture, a name for its curve, and its sidecar's settings if it has one.

    `command` is the command line that made it; empty when the sidecar does not say.
    """

    name: str
    frame: pd.DataFrame
    settings: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None
    command: str = ""

    @property
    def model(self) -> str:
        """The model's name; empty when the file does not say."""
        return str(self._constant("model") or "")

    @property
    def sigma(self) -> float | None:
        """The noise level; None when the file does not say."""
        value = self._constant("sigma")
        return None if value is None else float(value)

    @property
    def plain_steps(self) -> int:
        """The solver steps of plain smoothing, 0 for everything else: what makes a file the one to compare with."""
        return int(self.settings["steps"]) if self.settings.get("method") == "rs" else 0

    @property
    def data_hash(self) -> str:
        """The fingerprint of the pictures; empty when the file does not say."""
        return str(self.settings.get("data_hash", ""))

    def _constant(self, name: str) -> Any:
        if name in self.settings:
            return self.settings[name]
        return self.frame[name].iloc[0] if name in self.frame and len(self.frame) else None


def read_results(path: Path) -> Results:
    """Read a result file and the sidecar beside it."""
    sidecar = sidecar_path(path)
    settings = sidecar.read_bytes() if sidecar.is_file() else None
    return parse_results(path.read_bytes(), path.stem, settings, path)


def parse_results(content: bytes, name: str, sidecar: bytes | None = None, path: Path | None = None) -> Results:
    """Results from a file's bytes; a last line that a running evaluation has not finished is left out."""
    where = path or name
    whole = content[: content.rfind(b"\n") + 1]
    try:
        frame = pd.read_csv(io.BytesIO(whole), sep="\t")
    except (ValueError, UnicodeDecodeError) as error:
        raise ResultError(f"{where} cannot be read as a tab-separated file ({error}).") from error
    missing = [column for column in USUAL_COLUMNS if column not in frame]
    if missing:
        raise ResultError(f"{where} is not a result file: it lacks the columns {', '.join(missing)}.")
    if frame.empty:
        raise ResultError(f"{where} has no rows yet.")
    numbers = [column for column in USUAL_COLUMNS if column != "time"]
    if frame[numbers].select_dtypes("number").shape[1] < len(numbers) or frame[numbers].isna().any(axis=None):
        raise ResultError(f"{where} is damaged: {', '.join(numbers)} must be numbers in every row.")
    title = str(frame["setting"].iloc[0]) if "setting" in frame else name
    settings, command = _said(sidecar)
    return Results(title, frame, settings, path, command)


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
    """The file to compare with: plain smoothing of the same model and noise level with the most solver steps."""
    found = [
        other
        for other in among
        if other.plain_steps and (other.model, other.sigma) == (results.model, results.sigma) and other is not results
    ]
    best = max(found, key=lambda other: other.plain_steps, default=None)
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


def _said(sidecar: bytes | None) -> tuple[dict[str, Any], str]:
    """The settings and the command that a sidecar tells; nothing where it is damaged or there is none."""
    try:
        document = json.loads(sidecar or b"")
        commands = [str(run["command"]) for run in document.get("runs", []) if "command" in run]
        return dict(document["settings"]), commands[0] if commands else ""
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}, ""
