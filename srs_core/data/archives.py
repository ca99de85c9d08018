"""Datasets that fit in memory: CIFAR-10 from torchvision, and .npz archives."""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch

from srs_core.data.dataset import DataError, Dataset, Pixels
from srs_core.vision import torchvision

__all__ = ["CIFAR10_CLASSES", "cifar10", "npz"]

CIFAR10_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)


def cifar10(split: str, root: Path, *, download: bool = True) -> Dataset:
    """Read CIFAR-10 with torchvision from `root`, and first download it there when it is missing."""
    try:
        source = torchvision().datasets.CIFAR10(root, train=split == "train", download=download)
    except (RuntimeError, OSError) as error:
        missing = "could not be downloaded" if download else "downloading is switched off"
        raise DataError(
            f"CIFAR-10 is not in {root} and {missing} ({error}). Check the network, or give the path of an .npz "
            "file with x_train, y_train, x_test and y_test."
        ) from error
    return _dataset(f"CIFAR-10 {split}", source.data, np.asarray(source.targets), CIFAR10_CLASSES)


def npz(path: Path, split: str) -> Dataset:
    """Read one split of an archive with x_train, y_train, x_test, y_test (pictures uint8 [n, H, W, 3]).

    Class names are the archive's own `class_names` if it has them, CIFAR-10's if the file's name says so
    (cifar10.npz), else numbers.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            pictures, labels = archive[f"x_{split}"], archive[f"y_{split}"]
            names = tuple(map(str, archive["class_names"])) if "class_names" in archive else None
    except KeyError as error:
        raise DataError(f"{path} has no {error.args[0]}. It needs x_{split} and y_{split}.") from error
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} cannot be read as an .npz archive of plain arrays ({error}).") from error
    if labels.shape == (len(pictures), 1):  # Keras keeps labels in a column
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DataError(f"{path}: y_{split} is {labels.dtype} {list(labels.shape)}; it must be integers [n].")
    if names is None and re.search(r"cifar[-_]?10(?!\d)", path.name.lower()):
        names = CIFAR10_CLASSES
    if names is None:
        names = tuple(f"class {number}" for number in range(int(labels.max(initial=0)) + 1))
    return _dataset(f"{path.name} {split}", pictures, labels, names)


def _dataset(
    name: str, pictures: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], names: tuple[str, ...]
) -> Dataset:
    if pictures.dtype != np.uint8 or pictures.ndim != 4 or pictures.shape[3] != 3:
        raise DataError(
            f"{name}: the pictures are {pictures.dtype} {list(pictures.shape)}; they must be uint8 [n, H, W, 3]."
        )
    values = torch.from_numpy(pictures).permute(0, 3, 1, 2).contiguous()
    return Dataset(name, names, Pixels(values), tuple(labels.tolist()), tuple(range(len(labels))))
