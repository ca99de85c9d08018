"""A dataset by its name or its place, and the pictures that come with the package."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from srs_core.data.archives import CIFAR10_CLASSES, cifar10, npz
from srs_core.data.dataset import DataError, Dataset, Files, Pixels
from srs_core.data.folders import folder
from srs_core.images import Fit

__all__ = ["Split", "gallery", "load_dataset"]

Split = Literal["train", "test"]
_GALLERY = Path(__file__).parents[1] / "gallery"


def load_dataset(
    spec: str | Path,
    split: Split = "test",
    *,
    size: tuple[int, int] | None = None,
    classes: Sequence[str] | None = None,
    fit: Fit = "crop",
    root: str | Path = "data",
    download: bool = True,
) -> Dataset:
    """Open "cifar10", "gallery", an .npz archive, an image folder or ImageNet's folder.

    `size` is the (height, width) that the model needs; pictures in folders are fitted to it as `fit` says,
    pictures in archives must have it. `classes` are the model's class names in its order, which makes a
    folder's labels the model's. "cifar10" is looked for in `root`, and downloaded there if `download` allows.
    """
    if split not in get_args(Split):
        raise DataError(f"split is {split!r}; it must be 'train' or 'test'.")
    path = Path(spec).expanduser()
    if path.is_dir() and str(spec) not in ("cifar10", "gallery"):
        return folder(path, split, size, fit, classes)
    if str(spec) == "cifar10":
        dataset = cifar10(split, Path(root), download=download)
    elif str(spec) == "gallery":
        dataset = gallery()
    elif path.is_file() and path.suffix.lower() == ".npz":
        dataset = npz(path, split)
    else:
        raise DataError(
            f"There is no dataset {str(spec)!r}. Give 'cifar10', 'gallery', the path of an .npz file, or the path of "
            "a folder with one folder of pictures for each class."
        )
    if size is not None and dataset.size != tuple(size):
        raise DataError(
            f"{dataset.name} has pictures of {dataset.size[1]} × {dataset.size[0]} pixels, but the model needs "
            f"{size[1]} × {size[0]}. Choose a dataset made for the model."
        )
    return dataset if classes is None else replace(dataset, class_names=tuple(classes))


def gallery() -> Dataset:
    """The sample gallery: CIFAR-10 test pictures 0, 333, 666, ..., 9990, chosen by that rule and not by hand."""
    pictures = json.loads((_GALLERY / "gallery.json").read_text("utf-8"))["pictures"]
    files = Files(tuple(_GALLERY / picture["file"] for picture in pictures), (32, 32))
    return Dataset(
        "CIFAR-10 gallery",
        CIFAR10_CLASSES,
        Pixels(files.stacked()),
        tuple(picture["label"] for picture in pictures),
        tuple(picture["index"] for picture in pictures),
    )
