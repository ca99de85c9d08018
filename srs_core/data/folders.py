"""Datasets in folders: one folder of pictures for each class, ImageNet's layout among them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from srs_core.data.dataset import DataError, Dataset, Files
from srs_core.images import Fit

__all__ = ["folder"]

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".jpe", ".webp", ".bmp", ".gif", ".tif", ".tiff"})

_IMAGENET_SIZE = (224, 224)
_IMAGENET_KEEP = 224 / 256  # the usual preprocessing: shorter side to 256, then the central 224
_WNID = re.compile(r"n\d{8}")
_WNID_LISTS = ("LOC_synset_mapping.txt", "synset_words.txt", "imagenet_class_index.json")
_SPLIT_FOLDERS = {"train": ("train",), "test": ("test", "val", "validation")}


def folder(path: Path, split: str, size: tuple[int, int] | None, fit: Fit, classes: Sequence[str] | None) -> Dataset:
    """Read a folder of class folders, or its part for the split (train; test, val or validation) if it has one.

    Class folders named by WordNet ids (n01440764, ...) are ImageNet's: its pictures have 224 × 224 pixels
    unless `size` says otherwise, and its class names are read from LOC_synset_mapping.txt, synset_words.txt
    or imagenet_class_index.json in the folder or up to three levels above.
    """
    root = next((path / name for name in _SPLIT_FOLDERS[split] if (path / name).is_dir()), path)
    class_folders = [child for child in sorted(root.iterdir()) if child.is_dir() and child.name[0] != "."]
    found = {child.name: _pictures(child) for child in class_folders}
    found = {name: pictures for name, pictures in found.items() if pictures}
    if not found:
        raise DataError(
            f"{root} has no pictures in class folders. It needs one folder for each class, with the pictures "
            "of that class in it."
        )
    is_imagenet = all(_WNID.fullmatch(name) for name in found)
    readable = _wnid_names(root) if is_imagenet else {}
    numbers, class_names = _number(list(found), readable, classes)
    if size is None and not is_imagenet:
        raise DataError(f"{path} has pictures of any size: say which size=(height, width) the model needs.")
    paths = tuple(picture for pictures in found.values() for picture in pictures)
    labels = tuple(numbers[name] for name, pictures in found.items() for _ in pictures)
    files = Files(paths, size or _IMAGENET_SIZE, fit, _IMAGENET_KEEP if is_imagenet else 1.0)
    return Dataset(f"{path.name} {split}", class_names, files, labels, tuple(range(len(paths))))


def _pictures(class_folder: Path) -> list[Path]:
    return sorted(path for path in class_folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())


def _number(
    names: Sequence[str], readable: Mapping[str, str], classes: Sequence[str] | None
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Give each class folder its label, and each label its name.

    A folder may hold only some of a model's classes, so labels follow the model's own class names when they
    are given, then ImageNet's full list, and the alphabet of the folders only without either.
    """
    if classes is None:
        known = sorted(readable) if all(name in readable for name in names) else sorted(names)
        return {name: known.index(name) for name in names}, tuple(readable.get(name, name) for name in known)
    labels = {_plain(name): label for label, name in enumerate(classes)}
    numbers = {}
    for name in names:
        label = labels.get(_plain(name), labels.get(_plain(readable.get(name, name))))
        if label is None:
            raise DataError(
                f"The folder {name!r} is none of the {len(classes)} classes ({', '.join(classes[:10])}"
                f"{', ...' if len(classes) > 10 else ''}). Rename it, or take it away."
            )
        numbers[name] = label
    return numbers, tuple(classes)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip().lower()


def _wnid_names(root: Path) -> dict[str, str]:
    """Read what ImageNet's class ids mean, from the nearest list; empty when there is none."""
    for place in (root, *root.resolve().parents[:3]):
        for name in _WNID_LISTS:
            if (place / name).is_file():
                return _distinct(_read_wnids(place / name))
    return {}


def _read_wnids(path: Path) -> dict[str, str]:
    try:
        text = path.read_text("utf-8")
        if path.suffix == ".json":
            pairs = [(wnid, name) for wnid, name in json.loads(text).values()]
        else:
            pairs = [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]
        return {wnid: str(names).split(",")[0].strip().replace("_", " ") for wnid, names in pairs}
    except (OSError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise DataError(f"{path} is not a list of class ids and names ({error}). Repair it or remove it.") from error


def _distinct(names: dict[str, str]) -> dict[str, str]:
    """Tell namesakes apart by their id: ImageNet has two cranes, a bird and a machine."""
    count = Counter(names.values())
    return {wnid: name if count[name] == 1 else f"{name} ({wnid})" for wnid, name in names.items()}
