"""Hostile pictures: whatever the bytes, the answer is a tensor in range or a sentence."""

import io
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from srs_core.images import FORMATS, MAX_BYTES, MAX_PIXELS, ImageError, load_image, to_png
from tests.hostile_pictures import BOMBS, HOSTILE, VALID, bmp, encode, png, tiff, webp_extended

ROOT = Path(__file__).parents[1]


def test_there_are_enough_hostile_pictures():
    assert len(HOSTILE) >= 60


@pytest.mark.parametrize(("data", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_picture_is_refused_in_a_sentence(data, reason):
    with pytest.raises(ImageError, match=reason) as caught:
        load_image(data, (32, 32))
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "0x" not in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("data", VALID.values(), ids=VALID)
def test_the_pictures_that_are_damaged_there_are_good_when_whole(data):
    assert load_image(data, (32, 32)).tensor.shape == (3, 32, 32)


def test_the_builders_make_good_pictures_too():
    for data, format in [
        (png(), "PNG"),
        (bmp(4, 4), "BMP"),
        (tiff((258, 3, 8)), "TIFF"),
        (webp_extended(30, 30), "WEBP"),
    ]:
        assert load_image(data).format == format


def test_a_png_with_only_a_wrong_checksum_around_its_pixels_loses_nothing():
    # The pixels have a checksum of their own inside, so a picture that comes out at all is the one that was saved.
    whole = VALID["png"]
    end = whole.index(b"IEND") - 4
    wrong = whole[: end - 1] + bytes([whole[end - 1] ^ 1]) + whole[end:]
    assert torch.equal(load_image(wrong).tensor, load_image(whole).tensor)


@pytest.mark.parametrize("name", VALID)
@given(draw=st.data())
def test_cut_and_flipped_bytes_give_a_tensor_or_a_sentence(name, draw):
    data = bytearray(VALID[name])
    for _ in range(draw.draw(st.integers(0, 8))):
        position = draw.draw(st.one_of(st.integers(0, min(99, len(data) - 1)), st.integers(0, len(data) - 1)))
        data[position] = draw.draw(st.integers(0, 255))
    if draw.draw(st.booleans()):
        del data[draw.draw(st.integers(0, len(data))) :]
    try:
        picture = load_image(bytes(data), (16, 16))
    except ImageError:
        return
    assert picture.tensor.shape == (3, 16, 16)
    assert picture.format in FORMATS
    assert picture.tensor.min() >= 0
    assert picture.tensor.max() <= 1


@given(head=st.sampled_from([data[:30] for data in VALID.values()]), tail=st.binary(max_size=300))
def test_a_true_beginning_and_a_random_end(head, tail):
    with pytest.raises(ImageError):
        load_image(head + tail)


MEASURE = """
import sys
from pathlib import Path
from srs_core.images import ImageError, load_image

def peak():  # of this program alone; getrusage would also count the process that started it
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])

load_image(Path(sys.argv[1]), (32, 32))  # what the first picture costs once: plugins, threads
before = peak()
for path in sys.argv[2:]:
    try:
        load_image(Path(path), (32, 32))
    except ImageError:
        pass
print(peak() - before)
"""


def memory_for(files, tmp_path):
    """Bytes by which reading these files raises a fresh process's peak memory."""
    if not Path("/proc/self/status").exists():
        pytest.skip("peak memory is read from /proc, which only Linux has")
    paths = []
    for number, data in enumerate([VALID["png"], *files]):
        paths.append(tmp_path / f"{number}.bin")
        paths[-1].write_bytes(data)
    command = [sys.executable, "-c", MEASURE, *map(str, paths)]
    return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def test_bombs_cost_no_memory(tmp_path):
    assert memory_for([data for data, _ in BOMBS.values()], tmp_path) < 32 * 2**20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "format", "options"),
    [
        ("RGBA", "WEBP", {"lossless": True, "quality": 0, "method": 0}),
        ("CMYK", "JPEG", {"progressive": True, "subsampling": 0}),
    ],
    ids=["webp", "progressive-jpeg"],
)
def test_the_largest_allowed_picture_needs_bounded_memory(mode, format, options, tmp_path):
    side = int(MAX_PIXELS**0.5)
    needed = memory_for([encode(Image.new(mode, (side, side)), format, **options)], tmp_path)
    assert 4 * MAX_PIXELS < needed < 24 * MAX_PIXELS  # it was really decoded, and within the promise


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, io.BytesIO], ids=lambda wrap: wrap.__name__)
def test_sources_in_memory(wrap):
    assert torch.equal(load_image(wrap(VALID["png"])).tensor, load_image(VALID["png"]).tensor)


def test_sources_on_disk(tmp_path):
    path = tmp_path / "a picture.jpg"  # a wrong suffix does not matter
    path.write_bytes(VALID["png"])
    expected = load_image(VALID["png"]).tensor
    assert torch.equal(load_image(path).tensor, expected)
    assert torch.equal(load_image(str(path)).tensor, expected)
    with path.open("rb") as stream:
        stream.read()  # an upload that was looked at before
        assert torch.equal(load_image(stream).tensor, expected)


class Endless(io.RawIOBase):
    def readable(self):
        return True

    def read(self, size=-1):
        assert 0 < size <= MAX_BYTES + 1
        return b"\0" * size


def test_sources_that_cannot_be_read(tmp_path):
    closed = io.BytesIO(VALID["png"])
    closed.close()
    huge = tmp_path / "huge.png"
    with huge.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    for source, reason in [
        (tmp_path / "missing.png", r"missing\.png: There is no such file"),
        (tmp_path, "not a file"),
        ("/dev/zero", "not a file|no such file"),
        ("a\0b.png", "cannot be read|no such file"),
        ("x" * 5000, "cannot be read|no such file"),
        (huge, "larger than 64 MiB"),
        (b"\0" * (MAX_BYTES + 1), "larger than 64 MiB"),
        (Endless(), "larger than 64 MiB"),
        (closed, "cannot be read"),
        (io.StringIO("text"), "not bytes"),
        (None, "cannot be read"),
        (17, "cannot be read"),
    ]:
        with pytest.raises(ImageError, match=reason):
            load_image(source)


def test_a_file_is_named_in_its_error(tmp_path):
    path = tmp_path / "holiday.png"
    path.write_bytes(b"no picture")
    with pytest.raises(ImageError, match=r"holiday\.png: This looks like a text file"):
        load_image(path)


@pytest.mark.parametrize(
    "options",
    [
        {"size": (0, 32)},
        {"size": (32, 32, 3)},
        {"fit": "stretch"},
        {"background": (1, 2)},
        {"background": (0, 0, 256)},
        {"keep": 0},
        {"keep": 1.5},
    ],
    ids=str,
)
def test_impossible_options_are_named(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"^{name} is "):
        load_image(VALID["png"], **options)


def test_warning_filters_survive_threads():
    before = list(warnings.filters)
    results = []

    def read_all():
        results.extend(load_image(data, (8, 8)).tensor.sum() for data in VALID.values())

    threads = [threading.Thread(target=read_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 * len(VALID)
    assert list(warnings.filters) == before


@given(st.integers(2, 9), st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_png_there_and_back_is_exact(height, width, seed):
    values = torch.randint(256, (3, height, width), generator=torch.Generator().manual_seed(seed)) / 255
    assert torch.equal(load_image(to_png(values)).tensor, values)


def test_to_png_clips_what_noise_pushed_out():
    noisy = torch.full((3, 4, 4), 1.7)
    noisy[0] = -0.3
    assert load_image(to_png(noisy)).tensor[:, 0, 0].tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(1, 3, 4, 4),
        torch.zeros(1, 4, 4),
        torch.zeros(3, 4, 4, dtype=torch.uint8),
        torch.full((3, 4, 4), torch.nan),
    ],
    ids=["batch", "grey", "bytes", "nan"],
)
def test_to_png_refuses_what_is_no_picture(tensor):
    with pytest.raises(ValueError, match=r"picture|needed"):
        to_png(tensor)
