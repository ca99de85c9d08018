import io

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from srs_core.data.dataset import DataError, Dataset, Files, Pixels
from srs_core.images import ImageError


def numbered(n):
    """A dataset whose picture i has the value i everywhere, and the class i mod 3."""
    values = torch.arange(n, dtype=torch.uint8)[:, None, None, None].expand(n, 3, 4, 5).contiguous()
    return Dataset("numbers", ("a", "b", "c"), Pixels(values), tuple(i % 3 for i in range(n)), tuple(range(n)))


def test_a_sample_is_index_image_and_label():
    index, image, label = numbered(6)[4]
    assert (index, label) == (4, 1)
    assert image.dtype == torch.float32
    assert torch.equal(image, torch.full((3, 4, 5), 4 / 255))
    assert numbered(6).size == (4, 5)


@given(n=st.integers(1, 120), k=st.integers(1, 130))
def test_every_keeps_original_indices(n, k):
    subset = numbered(n).every(k)
    assert subset.indices == tuple(i for i in range(n) if i % k == 0)
    for sample in subset:
        assert sample.image[0, 0, 0] * 255 == pytest.approx(sample.index)
        assert sample.label == sample.index % 3


@given(n=st.integers(1, 60), start=st.integers(0, 59), length=st.integers(1, 80), k=st.integers(1, 9))
def test_subsets_of_subsets(n, start, length, k):
    start = start % n
    subset = numbered(n).range(start, start + length).every(k)
    assert subset.indices == tuple(range(n))[start : start + length : k]
    images, labels = subset.arrays()
    assert images.dtype == torch.uint8
    assert labels.dtype == torch.int64
    assert images[:, 0, 0, 0].tolist() == list(subset.indices)
    assert labels.tolist() == [index % 3 for index in subset.indices]


def test_iterating_ends():
    assert [sample.index for sample in numbered(3)] == [0, 1, 2]
    with pytest.raises(IndexError):
        numbered(3)[3]


def test_title():
    assert numbered(9).every(4).title(1) == "4 · b"


def test_arrays_in_memory_are_not_copied():
    dataset = numbered(5)
    assert dataset.arrays().images.data_ptr() == dataset.arrays().images.data_ptr()


@pytest.mark.parametrize("k", [0, -3])
def test_every_needs_a_positive_step(k):
    with pytest.raises(DataError, match=f"every is {k}"):
        numbered(5).every(k)


@pytest.mark.parametrize(("start", "stop"), [(5, 9), (2, 2), (3, 1), (-1, 3)])
def test_an_empty_range_is_named(start, stop):
    with pytest.raises(DataError, match=f"from {start} to {stop} selects no picture; numbers has positions 0 to 4"):
        numbered(5).range(start, stop)


def test_labels_must_match():
    values = torch.zeros(2, 3, 4, 4, dtype=torch.uint8)
    with pytest.raises(DataError, match="2 pictures and 3 labels"):
        Dataset("d", ("a",), Pixels(values), (0, 0, 0), (0, 1, 2))
    with pytest.raises(DataError, match="labels from 0 to 7, but 1 class names"):
        Dataset("d", ("a",), Pixels(values), (0, 7), (0, 1))
    with pytest.raises(DataError, match="no pictures"):
        Dataset("d", ("a",), Pixels(values[:0]), (), ())


def test_files_are_read_when_asked_for(tmp_path):
    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (255, 51, 0)).save(buffer, "PNG")
    good.write_bytes(buffer.getvalue())
    bad.write_bytes(b"")
    dataset = Dataset("d", ("a",), Files((good, bad), (4, 4)), (0, 0), (0, 1))
    assert dataset[0].image[:, 0, 0].tolist() == pytest.approx([1, 0.2, 0])
    assert dataset.range(0, 1).arrays().images[0, :, 3, 3].tolist() == [255, 51, 0]
    with pytest.raises(ImageError, match=r"bad\.png: The file is empty"):
        dataset[1]


def test_too_many_files_for_memory_are_refused_before_reading(tmp_path):
    files = Files((tmp_path / "missing.png",) * 30_000, (224, 224))
    with pytest.raises(DataError, match=r"30000 pictures of 224 × 224 pixels need 4\.2 GiB"):
        files.stacked()
