"""The one shape that all datasets have, whether their pictures are in memory or in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from srs_core.images import Fit, load_image

__all__ = ["Arrays", "DataError", "Dataset", "Files", "Images", "Pixels", "Sample"]

MAX_ARRAY_BYTES = 4 * 2**30


class DataError(ValueError):
    """A dataset cannot be used; the text says why, and what to do."""


class Sample(NamedTuple):
    """One picture: its index in the whole dataset, float32 [3, H, W] in [0, 1], and its class."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which a sample has no use for
    image: Tensor
    label: int


class Arrays(NamedTuple):
    """All pictures at once: uint8 [n, 3, H, W] and int64 [n]."""

    images: Tensor
    labels: Tensor


class Images(Protocol):
    """Where a dataset's pictures come from."""

    @property
    def size(self) -> tuple[int, int]:
        """Height and width, the same for all pictures."""

    def __len__(self) -> int: ...

    def image(self, position: int) -> Tensor:
        """One picture, float32 [3, H, W] in [0, 1]."""

    def select(self, positions: Sequence[int]) -> Images:
        """These pictures only."""

    def stacked(self) -> Tensor:
        """All pictures, uint8 [n, 3, H, W]."""


@dataclass(frozen=True, eq=False)
class Pixels:
    """Pictures in memory, uint8 [n, 3, H, W]."""

    values: Tensor

    @property
    def size(self) -> tuple[int, int]:
        """Height and width, the same for all pictures."""
        return self.values.shape[2], self.values.shape[3]

    def __len__(self) -> int:
        return len(self.values)

    def image(self, position: int) -> Tensor:
        """One picture, float32 [3, H, W] in [0, 1]."""
        return self.values[position].float() / 255

    def select(self, positions: Sequence[int]) -> Pixels:
        """These pictures only."""
        return Pixels(self.values[torch.tensor(positions)])

    def stacked(self) -> Tensor:
        """All pictures, uint8 [n, 3, H, W]."""
        return self.values


@dataclass(frozen=True, eq=False)
class Files:
    """Pictures in files, each read and fitted when it is asked for."""

    paths: tuple[Path, ...]
    size: tuple[int, int]
    fit: Fit = "crop"
    keep: float = 1.0

    def __len__(self) -> int:
        return len(self.paths)

    def image(self, position: int) -> Tensor:
        """One picture, float32 [3, H, W] in [0, 1]."""
        return load_image(self.paths[position], self.size, fit=self.fit, keep=self.keep).tensor

    def select(self, positions: Sequence[int]) -> Files:
        """These pictures only."""
        return Files(tuple(self.paths[position] for position in positions), self.size, self.fit, self.keep)

    def stacked(self) -> Tensor:
        """All pictures, uint8 [n, 3, H, W]."""
        shape = (len(self), 3, *self.size)
        needed = shape[0] * 3 * shape[2] * shape[3]
        if needed > MAX_ARRAY_BYTES:
            raise DataError(
                f"{len(self)} pictures of {self.size[1]} × {self.size[0]} pixels need {needed / 2**30:.1f} GiB of "
                f"memory at once; at most {MAX_ARRAY_BYTES / 2**30:.0f} GiB are allowed. Take every k-th picture."
            )
        values = torch.empty(shape, dtype=torch.uint8)
        for position in range(len(self)):
            values[position] = (self.image(position) * 255).round().to(torch.uint8)
        return values


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled pictures of one size; a subset's pictures keep their index in the whole dataset."""

    name: str
    class_names: tuple[str, ...]
    images: Images = field(repr=False)
    labels: tuple[int, ...] = field(repr=False)
    indices: tuple[int, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not len(self.images) == len(self.labels) == len(self.indices):
            raise DataError(
                f"{self.name} has {len(self.images)} pictures and {len(self.labels)} labels; it needs one label "
                "for each picture."
            )
        if not self.labels:
            raise DataError(f"{self.name} has no pictures.")
        if min(self.labels) < 0 or max(self.labels) >= len(self.class_names):
            raise DataError(
                f"{self.name} has labels from {min(self.labels)} to {max(self.labels)}, but {len(self.class_names)} "
                f"class names; labels must be from 0 to {len(self.class_names) - 1}."
            )

    @property
    def size(self) -> tuple[int, int]:
        """Height and width, the same for all pictures."""
        return self.images.size

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, position: int) -> Sample:
        return Sample(self.indices[position], self.images.image(position), self.labels[position])

    def __iter__(self) -> Iterator[Sample]:
        return (self[position] for position in range(len(self)))

    def title(self, position: int) -> str:
        """A short name of one picture for people, such as "333 · ship"."""
        return f"{self.indices[position]} · {self.class_names[self.labels[position]]}"

    def arrays(self) -> Arrays:
        """All pictures and labels as two tensors, for training; nothing is copied when they are in memory."""
        return Arrays(self.images.stacked(), torch.tensor(self.labels))

    def every(self, k: int) -> Dataset:
        """The first picture and each k-th after it; every(20) of CIFAR-10's test set is the usual 500."""
        if k < 1:
            raise DataError(f"every is {k}; it must be at least 1.")
        return self.select(range(0, len(self), k))

    def range(self, start: int, stop: int) -> Dataset:
        """The pictures at positions start, ..., stop - 1; a stop beyond the end means the end."""
        if not 0 <= start < min(stop, len(self)):
            raise DataError(
                f"The range from {start} to {stop} selects no picture; {self.name} has positions 0 to {len(self) - 1}."
            )
        return self.select(range(start, min(stop, len(self))))

    def select(self, positions: Sequence[int]) -> Dataset:
        """The pictures at these positions, in this order."""
        return Dataset(
            self.name,
            self.class_names,
            self.images.select(positions),
            tuple(self.labels[position] for position in positions),
            tuple(self.indices[position] for position in positions),
        )
