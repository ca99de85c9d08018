import json

import numpy as np
import pytest
import torch
from PIL import Image

from srs_core.data import CIFAR10_CLASSES, DataError, load_dataset
from srs_core.images import load_image

WNIDS = ("n01440764", "n02012849", "n03126707")
MAPPING = "n01440764 tench, Tinca tinca\nn02012849 crane\nn02111889 Samoyed, Samoyede\nn03126707 crane\n"


def save(path, colour="red", size=(8, 8)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


@pytest.fixture
def pets(tmp_path):
    root = tmp_path / "pets"
    save(root / "dog" / "b.png", "blue")
    save(root / "dog" / "a.JPG", "green")
    save(root / "cat" / "deep" / "c.webp", "red")
    (root / "dog" / "notes.txt").write_text("no picture")
    (root / "empty").mkdir()
    save(root / ".hidden" / "d.png")
    return root


def test_a_folder_of_classes(pets):
    dataset = load_dataset(pets, size=(4, 4))
    assert dataset.class_names == ("cat", "dog")
    assert dataset.labels == (0, 1, 1)
    assert [path.name for path in dataset.images.paths] == ["c.webp", "a.JPG", "b.png"]
    assert (dataset.name, dataset.size, dataset.indices) == ("pets test", (4, 4), (0, 1, 2))
    assert dataset[2].image[:, 0, 0].tolist() == [0, 0, 1]
    assert dataset.every(2).indices == (0, 2)


def test_labels_follow_the_models_classes(pets):
    dataset = load_dataset(pets, size=(32, 32), classes=CIFAR10_CLASSES)
    assert dataset.labels == (3, 5, 5)
    assert dataset.class_names == CIFAR10_CLASSES
    save(pets / "Fire_Truck" / "a.png")
    assert load_dataset(pets, size=(8, 8), classes=["cat", "dog", "fire truck"]).labels == (2, 0, 1, 1)
    with pytest.raises(DataError, match="'Fire_Truck' is none of the 10 classes"):
        load_dataset(pets, size=(8, 8), classes=CIFAR10_CLASSES)


def test_a_folder_needs_a_size(pets):
    with pytest.raises(DataError, match="say which size"):
        load_dataset(pets)


def test_fit_is_passed_on(tmp_path):
    save(tmp_path / "x" / "wide.png", "black", (16, 8))
    assert load_dataset(tmp_path, size=(8, 8))[0].image.max() == 0
    assert load_dataset(tmp_path, size=(8, 8), fit="letterbox")[0].image.max() == 1


@pytest.mark.parametrize("test_folder", ["test", "val", "validation"])
def test_splits_in_folders(tmp_path, test_folder):
    save(tmp_path / "train" / "a" / "1.png", "red")
    save(tmp_path / test_folder / "a" / "1.png", "blue")
    assert load_dataset(tmp_path, "train", size=(8, 8))[0].image[:, 0, 0].tolist() == [1, 0, 0]
    assert load_dataset(tmp_path, "test", size=(8, 8))[0].image[:, 0, 0].tolist() == [0, 0, 1]


def test_folders_without_pictures(tmp_path):
    save(tmp_path / "lonely.png")
    (tmp_path / "class").mkdir()
    with pytest.raises(DataError, match="one folder for each class"):
        load_dataset(tmp_path, size=(8, 8))


@pytest.fixture
def imagenet(tmp_path):
    root = tmp_path / "imagenet"
    for wnid in WNIDS:
        save(root / "val" / wnid / "ILSVRC2012_val_00000001.JPEG", "red", (300, 280))
    return root


def test_imagenet_without_a_list_uses_its_ids(imagenet):
    dataset = load_dataset(imagenet)
    assert dataset.class_names == WNIDS
    assert (dataset.size, dataset.labels) == ((224, 224), (0, 1, 2))
    assert dataset[1].image.shape == (3, 224, 224)


@pytest.mark.parametrize("place", ["imagenet/val", "imagenet", "."])
@pytest.mark.parametrize("file", ["LOC_synset_mapping.txt", "synset_words.txt"])
def test_imagenet_with_a_list_uses_all_its_classes(imagenet, place, file):
    (imagenet.parent / place / file).write_text(MAPPING)
    for spec in (imagenet, imagenet / "val"):
        dataset = load_dataset(spec)
        assert dataset.class_names == ("tench", "crane (n02012849)", "Samoyed", "crane (n03126707)")
        assert dataset.labels == (0, 1, 3)  # the third class of the list has no folder, but keeps its number


def test_imagenet_with_a_json_list(imagenet):
    index = {"0": [WNIDS[0], "tench"], "1": [WNIDS[1], "crane"], "2": [WNIDS[2], "crane_machine"]}
    (imagenet / "imagenet_class_index.json").write_text(json.dumps(index))
    assert load_dataset(imagenet).class_names == ("tench", "crane", "crane machine")


def test_imagenet_with_the_models_classes(imagenet):
    (imagenet / "synset_words.txt").write_text(MAPPING)
    by_name = ["crane (n03126707)", "tench", "crane (n02012849)"]
    assert load_dataset(imagenet, classes=by_name).labels == (1, 2, 0)
    assert load_dataset(imagenet, classes=WNIDS[::-1]).labels == (2, 1, 0)


def test_imagenet_with_a_list_of_other_classes(imagenet):
    (imagenet / "synset_words.txt").write_text("n00000001 thing\n")
    assert load_dataset(imagenet).class_names == WNIDS


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("synset_words.txt", "n01440764\n"),
        ("imagenet_class_index.json", "{"),
        ("imagenet_class_index.json", "[1]"),
        ("imagenet_class_index.json", '{"0": "tench"}'),
    ],
)
def test_imagenet_with_a_damaged_list(imagenet, file, text):
    (imagenet / file).write_text(text)
    with pytest.raises(DataError, match=f"{file} is not a list of class ids and names"):
        load_dataset(imagenet)


def test_imagenet_is_cropped_as_usual(imagenet):
    gradient = np.tile(np.arange(256, dtype=np.uint8)[None, :, None], (256, 1, 3))
    path = imagenet / "val" / WNIDS[0] / "ILSVRC2012_val_00000001.JPEG"
    Image.fromarray(gradient).save(path, quality=95)
    whole = load_image(path, (256, 256)).tensor
    assert torch.equal(load_dataset(imagenet)[0].image, whole[:, 16:240, 16:240])
