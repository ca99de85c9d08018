"""What an evaluation is: a model, pictures, and settings that all see the same noise."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from srs_core.data import Dataset
from srs_core.model import Model
from srs_core.smoothing.estimate import check_feasible
from srs_core.smoothing.settings import Settings

__all__ = ["Evaluation", "Part", "Selection", "base_of", "fingerprint", "name_parts", "result_path", "to_run"]

SAME_NOISE = ("sigma", "n", "n0", "alpha", "seed", "solver", "steps", "tol")
"""What two plain settings must share to be the same run."""


@dataclass(frozen=True)
class Selection:
    """Which pictures of a dataset: those at positions first, first + every, ... before stop."""

    every: int = 1
    first: int = 0
    stop: int | None = None

    def of(self, dataset: Dataset) -> Dataset:
        """The selected pictures; they keep their index in the whole dataset."""
        stop = len(dataset) if self.stop is None else self.stop
        return dataset.range(self.first, stop).every(self.every)


@dataclass(frozen=True)
class Part:
    """One setting of an evaluation, under the name that its file and its curve bear."""

    name: str
    settings: Settings

    def __post_init__(self) -> None:
        # It stands in every row, where an end of line, a tab or a quote would make other cells of what follows.
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable() or '"' in self.name:
            raise ValueError(
                f"name is {self.name!r}; the name of a setting must be a text that is not empty, without control "
                'characters and without ".'
            )


@dataclass(frozen=True)
class Evaluation:
    """A model on selected pictures under one or more settings."""

    model: Model
    dataset: Dataset
    selection: Selection
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("An evaluation needs at least one setting.")
        twice = [name for name, count in Counter(part.name for part in self.parts).items() if count > 1]
        if twice:
            raise ValueError(f"Two settings are called {twice[0]!r}; give each a name of its own.")
        for part in self.parts:
            if part.settings.method != "auto":  # whose numbers a pilot chooses, picture by picture
                check_feasible(part.settings)

    def identity(self, part: Part) -> dict[str, Any]:
        """All that the rows of one part depend on, by the names that the user knows."""
        base = base_of(part, self.parts)
        return {
            "model": getattr(self.model, "name", type(self.model).__name__),
            "model_hash": getattr(self.model, "hash", "unknown"),
            "data": self.dataset.name,
            "data_hash": fingerprint(self.dataset),
            **asdict(self.selection),
            "compared_with": None if base is None else base.name,
            **part.settings.to_dict(),
        }


def name_parts(settings: Sequence[Settings]) -> tuple[Part, ...]:
    """Name each setting as the paper would; namesakes also bear what sets them apart, as start=clean."""
    labels = [_label(each) for each in settings]
    parts = []
    for label, each in zip(labels, settings, strict=True):
        group = [other.to_dict() for other, name in zip(settings, labels, strict=True) if name == label]
        apart = [key for key in group[0] if len({values[key] for values in group}) > 1]
        parts.append(Part("-".join([label, *(f"{key}={getattr(each, key)}" for key in apart)]), each))
    return tuple(parts)


def base_of(part: Part, parts: Sequence[Part]) -> Part | None:
    """The part that is plain smoothing of the same standard model on the same noise as a serialized part, if any."""
    if part.settings.method != "srs":
        return None
    plain = part.settings.plain()
    return next((other for other in parts if other.settings.method == "rs" and _same(other.settings, plain)), None)


def to_run(parts: Sequence[Part], missing: Collection[str]) -> tuple[Part, ...]:
    """The parts whose rows are missing, and the plain ones that they are measured against; plain ones first."""
    wanted = {part.name for part in parts if part.name in missing}
    wanted |= {base.name for part in parts if part.name in missing and (base := base_of(part, parts)) is not None}
    return tuple(sorted((p for p in parts if p.name in wanted), key=lambda part: part.settings.method != "rs"))


def result_path(out: Path, name: str, alone: bool) -> Path:
    """The file of one setting: `out` itself if it is the only one, else with the setting's name added."""
    if alone:
        return out
    return out.with_name(f"{out.stem}-{re.sub(r'[^A-Za-z0-9.=_+-]+', '-', name)}{out.suffix}")


def _label(settings: Settings) -> str:
    return "AUTO" if settings.method == "auto" else settings.label


def _same(one: Settings, other: Settings) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in SAME_NOISE)


def fingerprint(dataset: Dataset) -> str:
    """A short name for these pictures: their indices, labels and the first one's pixels."""
    digest = hashlib.sha256(repr((dataset.size, dataset.indices, dataset.labels)).encode())
    digest.update(dataset[0].image.numpy().tobytes())
    return digest.hexdigest()[:16]
