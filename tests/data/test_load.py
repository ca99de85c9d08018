import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from srs_core.data import CIFAR10_CLASSES, DataError, gallery, load_dataset
from srs_core.images import load_image

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "srs_core" / "gallery"


@pytest.mark.parametrize("spec", ["cifar100", "missing.npz", "", "no/such/folder"])
def test_an_unknown_dataset_is_named_with_what_there_is(spec, tmp_path):
    spec = tmp_path / spec if spec else "nothing at all"
    with pytest.raises(DataError, match=r"There is no dataset .*'cifar10', 'gallery', the path of an \.npz"):
        load_dataset(spec)


def test_a_file_that_is_no_dataset(tmp_path):
    (tmp_path / "notes.txt").write_text("no dataset")
    with pytest.raises(DataError, match="There is no dataset"):
        load_dataset(tmp_path / "notes.txt")


def test_an_unknown_split():
    with pytest.raises(DataError, match="split is 'val'; it must be 'train' or 'test'"):
        load_dataset("gallery", "val")


def test_the_gallery_follows_its_rule_and_has_every_class():
    pictures = gallery()
    assert pictures.indices == tuple(range(0, 10_000, 333))
    assert set(pictures.labels) == set(range(10))
    assert pictures.class_names == CIFAR10_CLASSES
    assert pictures.size == (32, 32)
    assert (pictures.title(0), pictures.title(1)) == ("0 · cat", "333 · frog")


def test_the_gallery_names_its_files_by_index_and_class():
    listed = json.loads((GALLERY / "gallery.json").read_text())["pictures"]
    assert sorted(path.name for path in GALLERY.glob("*.png")) == [picture["file"] for picture in listed]
    for picture in listed:
        assert picture["file"] == f"{picture['index']:04}-{CIFAR10_CLASSES[picture['label']]}.png"


def test_the_gallery_is_a_dataset_by_name():
    assert load_dataset("gallery", size=(32, 32), classes=CIFAR10_CLASSES).labels == gallery().labels


@pytest.fixture
def make_gallery():
    spec = importlib.util.spec_from_file_location("make_gallery", ROOT / "scripts" / "make_gallery.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script.make_gallery


def test_the_gallery_script_is_exact(make_gallery, tmp_path):
    """From an archive of noise, the script writes pictures that read back bit for bit."""
    pictures = np.random.default_rng(0).integers(0, 256, (3331, 32, 32, 3), dtype=np.uint8)
    labels = np.arange(3331) // 333 % 10
    np.savez(tmp_path / "some.npz", x_test=pictures, y_test=labels)
    assert make_gallery(tmp_path / "some.npz", tmp_path / "out") == 11
    for entry in json.loads((tmp_path / "out" / "gallery.json").read_text())["pictures"]:
        expected = torch.from_numpy(pictures[entry["index"]]).permute(2, 0, 1).float() / 255
        assert torch.equal(load_image(tmp_path / "out" / entry["file"]).tensor, expected)
        assert entry["label"] == labels[entry["index"]]


def test_the_gallery_script_insists_on_all_classes(make_gallery, tmp_path):
    np.savez(tmp_path / "some.npz", x_test=np.zeros((9, 32, 32, 3), np.uint8), y_test=np.zeros(9, np.int64))
    with pytest.raises(SystemExit, match="No picture of automobile, bird"):
        make_gallery(tmp_path / "some.npz", tmp_path)
