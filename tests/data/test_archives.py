import hashlib
import pickle

import numpy as np
import pytest
import torch

from srs_core.data import CIFAR10_CLASSES, DataError, load_dataset
from srs_core.vision import torchvision

RNG = np.random.default_rng(5)
X = RNG.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
Y = np.arange(20, dtype=np.uint8) % 10


@pytest.fixture
def archive(tmp_path):
    def write(name="cifar10.npz", **arrays):
        path = tmp_path / name
        np.savez_compressed(path, **({"x_train": X, "y_train": Y, "x_test": X[:6], "y_test": Y[:6]} | arrays))
        return path

    return write


def test_npz_splits(archive):
    path = archive()
    train, test = load_dataset(path, "train"), load_dataset(str(path))
    assert (len(train), len(test)) == (20, 6)
    assert test.class_names == CIFAR10_CLASSES
    assert train.name == "cifar10.npz train"
    index, image, label = train[13]
    assert (index, label) == (13, 3)
    assert torch.equal(image, torch.from_numpy(X[13]).permute(2, 0, 1).float() / 255)
    images, labels = train.arrays()
    assert images.is_contiguous()
    assert torch.equal(images, torch.from_numpy(X).permute(0, 3, 1, 2))
    assert labels.tolist() == Y.tolist()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("my-CIFAR-10.npz", CIFAR10_CLASSES),
        ("cifar_10_small.npz", CIFAR10_CLASSES),
        ("cifar100.npz", tuple(f"class {i}" for i in range(10))),
        ("digits.npz", tuple(f"class {i}" for i in range(10))),
    ],
)
def test_npz_class_names_by_file_name(archive, name, expected):
    assert load_dataset(archive(name), "train").class_names == expected


def test_npz_class_names_of_its_own_and_of_the_caller(archive):
    own = tuple("abcdefghij")
    path = archive(class_names=np.array(own))
    assert load_dataset(path).class_names == own
    assert load_dataset(path, classes=list("0123456789")).class_names == tuple("0123456789")
    with pytest.raises(DataError, match="labels from 0 to 5, but 3 class names"):
        load_dataset(path, classes=["a", "b", "c"])


def test_npz_with_labels_in_a_column(archive):
    assert load_dataset(archive(y_test=Y[:6, None].astype(np.int64))).labels == (0, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"x_test": X[:6].astype(np.float32)}, r"float32 \[6, 32, 32, 3\]; they must be uint8"),
        ({"x_test": X[:6].transpose(0, 3, 1, 2)}, r"uint8 \[6, 3, 32, 32\]; they must be uint8 \[n, H, W, 3\]"),
        ({"x_test": X[:6, ..., 0]}, "they must be uint8"),
        ({"y_test": Y[:5]}, "6 pictures and 5 labels"),
        ({"y_test": Y[:6] / 2}, "must be integers"),
        ({"y_test": np.eye(6, dtype=np.uint8)}, "must be integers"),
        ({"y_test": np.array([0, 1, 2, 3, 4, 10])}, "labels from 0 to 10, but 10 class names"),
        ({"y_test": np.array([0, 1, 2, 3, 4, -1])}, "labels from -1 to 4"),
        ({"x_test": X[:0], "y_test": Y[:0]}, "has no pictures"),
        ({"y_test": np.array([None] * 6)}, "plain arrays"),
    ],
)
def test_npz_of_a_wrong_shape(archive, arrays, reason):
    with pytest.raises(DataError, match=reason):
        load_dataset(archive(**arrays))


def test_npz_that_lacks_a_split(tmp_path):
    np.savez(tmp_path / "a.npz", x_train=X, y_train=Y)
    with pytest.raises(DataError, match=r"a\.npz has no x_test.*needs x_test and y_test"):
        load_dataset(tmp_path / "a.npz")


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


@pytest.mark.parametrize(
    "content", [b"", b"text", b"PK\3\4", pickle.dumps(Trap())], ids=["empty", "text", "zip", "pickle"]
)
def test_npz_that_is_something_else(tmp_path, content):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"cannot be read as an \.npz archive"):
        load_dataset(path)


def test_npz_that_is_cut_short(archive):
    path = archive()
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DataError, match=r"cannot be read as an \.npz archive"):
        load_dataset(path)


def test_npz_with_flipped_bits(archive):
    path = archive()
    data = bytearray(path.read_bytes())
    middle = data.index(b"x_test.npy") + 400
    data[middle : middle + 40] = bytes(40)
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"cannot be read as an \.npz archive"):
        load_dataset(path)


def test_npz_that_is_a_single_array(tmp_path):
    with (tmp_path / "a.npz").open("wb") as stream:
        np.save(stream, X)
    with pytest.raises(DataError, match=r"cannot be read as an \.npz archive"):
        load_dataset(tmp_path / "a.npz")


def test_size_must_be_the_archives(archive):
    assert load_dataset(archive(), size=(32, 32)).size == (32, 32)
    with pytest.raises(DataError, match="has pictures of 32 × 32 pixels, but the model needs 224 × 224"):
        load_dataset(archive(), size=(224, 224))


def as_python_2_wrote(batch):
    """A pickle like those of CIFAR-10's authors, whose dtype options are numbers where ours are booleans."""
    data = pickle.dumps(batch, protocol=2)
    false_true, zero_one = b"\x89\x88\x87", b"K\x00K\x01\x87"
    assert data.count(false_true) == 1
    return data.replace(false_true, zero_one)


def test_cifar10_by_torchvision(tmp_path, monkeypatch):
    """The real reader on a test set of three pictures, with the checksum of that instead of the official one."""
    cifar10 = torchvision().datasets.CIFAR10
    folder = tmp_path / cifar10.base_folder
    folder.mkdir()
    pixels = X[:3].transpose(0, 3, 1, 2).reshape(3, -1)
    written = {
        "test_batch": as_python_2_wrote({"data": pixels, "labels": [3, 8, 8]}),
        "batches.meta": pickle.dumps({"label_names": list(CIFAR10_CLASSES)}),
    }
    for name, data in written.items():
        (folder / name).write_bytes(data)
    checksums = {name: hashlib.md5(data).hexdigest() for name, data in written.items()}
    monkeypatch.setattr(cifar10, "train_list", [])
    monkeypatch.setattr(cifar10, "test_list", [["test_batch", checksums["test_batch"]]])
    monkeypatch.setattr(cifar10, "meta", cifar10.meta | {"md5": checksums["batches.meta"]})
    dataset = load_dataset("cifar10", root=tmp_path, download=False)
    assert (dataset.name, dataset.class_names, dataset.labels) == ("CIFAR-10 test", CIFAR10_CLASSES, (3, 8, 8))
    assert torch.equal(dataset.arrays().images, torch.from_numpy(X[:3]).permute(0, 3, 1, 2))


def test_cifar10_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"CIFAR-10 is not in .* and downloading is switched off"):
        load_dataset("cifar10", root=tmp_path, download=False)


def test_our_class_names_are_torchvisions_order():
    assert list(CIFAR10_CLASSES) == sorted(CIFAR10_CLASSES)  # the official order is the alphabet's
    assert len(CIFAR10_CLASSES) == 10
