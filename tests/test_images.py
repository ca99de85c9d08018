"""Hostile pictures: whatever the bytes, the answer is a tensor in range or a sentence."""

import gzip
import io
import json
import pickle
import struct
import subprocess
import sys
import threading
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from srs_core.images import FORMATS, MAX_BYTES, MAX_PIXELS, ImageError, load_image, to_png

RNG = np.random.default_rng(3)
ROOT = Path(__file__).parents[1]


def encode(image, format="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


PHOTO = Image.fromarray(RNG.integers(0, 256, (24, 24, 3), dtype=np.uint8))
VALID = {
    "png": encode(PHOTO),
    "png-palette": encode(PHOTO.quantize(16)),
    "png-16-bit": encode(Image.fromarray(RNG.integers(0, 65536, (24, 24), dtype=np.uint16))),
    "jpeg": encode(PHOTO, "JPEG"),
    "jpeg-progressive": encode(PHOTO, "JPEG", progressive=True, exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0"),
    "webp": encode(PHOTO, "WEBP"),
    "webp-lossless": encode(PHOTO, "WEBP", lossless=True),
    "bmp": encode(PHOTO, "BMP"),
    "gif": encode(PHOTO, "GIF"),
    "tiff": encode(PHOTO, "TIFF"),
    "tiff-deflate": encode(PHOTO, "TIFF", compression="tiff_adobe_deflate"),
}


def chunk(name, body, crc=None):
    crc = zlib.crc32(name + body) if crc is None else crc
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", crc)


def png(width=4, height=4, depth=8, colour=2, data=None, extra=b"", header_crc=None):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0), header_crc)
    if data is None:
        data = zlib.compress(b"\0" * 13 * 4)
    return b"\x89PNG\r\n\x1a\n" + header + extra + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def bmp(width, height, bits=24, body=b"\0" * 64, compression=0):
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(body), 0, 0, 54) + info + body


def gif(width, height, frame=None, code_size=2):
    frame = frame or (width, height)
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    return head + b"," + struct.pack("<HHHHB", 0, 0, *frame, 0) + bytes([code_size]) + b"\x02\x4c\x01\0;"


def jpeg(width, height):
    """A real JPEG whose header claims another size."""
    data = bytearray(VALID["jpeg"])
    start = data.index(b"\xff\xc0")
    data[start + 5 : start + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def webp(width, height):
    bits = (width - 1) | (height - 1) << 14
    body = b"\x2f" + struct.pack("<I", bits) + b"\0" * 9
    return b"RIFF" + struct.pack("<I", 12 + len(body)) + b"WEBPVP8L" + struct.pack("<I", len(body)) + body


def webp_extended(width, height):
    """An animated canvas of any size around the small frame of a real WebP."""
    canvas = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    frame = b"\0" * 6 + b"\x17\0\0" * 2 + b"\0" * 4 + VALID["webp"][12:]
    chunks = b"VP8X" + struct.pack("<II", 10, 2) + canvas
    chunks += b"ANIM" + struct.pack("<I", 6) + b"\0" * 6 + b"ANMF" + struct.pack("<I", len(frame)) + frame
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WEBP" + chunks


def tiff(*changes, width=4, height=4, next_ifd=0):
    """A small RGB TIFF by hand; changes are (tag, type, value) that replace or add entries."""
    entries = {
        256: (4, width),
        257: (4, height),
        258: (3, 8),
        259: (3, 1),
        262: (3, 2),
        273: (4, 200),
        277: (3, 3),
        279: (4, 48),
    }
    entries |= {tag: (kind, value) for tag, kind, value in changes if value is not None}
    for tag, _, value in changes:
        if value is None:
            del entries[tag]
    ifd = struct.pack("<H", len(entries))
    for tag, (kind, value) in sorted(entries.items()):
        ifd += struct.pack("<HHI", tag, kind, 1) + struct.pack("<I", value)
    return (b"II*\0" + struct.pack("<I", 8) + ifd + struct.pack("<I", next_ifd)).ljust(200, b"\0") + b"\x55" * 48


def zipped():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("cat.png", VALID["png"])
    return buffer.getvalue()


def array_file():
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(9))
    return buffer.getvalue()


def many_scans():
    """A progressive JPEG that asks for its last scan again and again."""
    data = VALID["jpeg-progressive"]
    return data[:-2] + data[data.rindex(b"\xff\xda") : -2] * 500 + data[-2:]


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>'
TOO_LARGE = "At most 40 megapixels"
DAMAGED = "damaged"
NO_PICTURE = "Choose a PNG, JPEG, WebP, BMP, GIF or TIFF picture"

OTHER_FILES = {
    "empty": (b"", "empty"),
    "one-zero-byte": (b"\0", NO_PICTURE),
    "newline": (b"\n", "a text file"),
    "text": (b"This is not a picture.\n" * 20, "a text file"),
    "text-utf-8": ("Größe: 5 €\n".encode(), "a text file"),
    "text-utf-16": ("Größe: 5 €\n".encode("utf-16"), NO_PICTURE),
    "html": (b"<!DOCTYPE html><html><body><img src='cat.png'></body></html>", "a text file"),
    "json": (json.dumps({"image": "cat"}).encode(), "a text file"),
    "svg": (SVG, "an SVG drawing"),
    "svg-with-prolog": (b'<?xml version="1.0"?>\n<!-- a drawing -->\n' + SVG, "an SVG drawing"),
    "svg-with-byte-order-mark": (b"\xef\xbb\xbf" + SVG, "an SVG drawing"),
    "svg-compressed": (gzip.compress(SVG), NO_PICTURE),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "a PDF document"),
    "eps": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n", "a PostScript document"),
    "heic": (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 60, "a HEIC or AVIF photo"),
    "avif": (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf" + b"\0" * 60, "a HEIC or AVIF photo"),
    "mp4": (b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2" + b"\0" * 60, "a film"),
    "photoshop": (b"8BPS\0\1" + b"\0" * 60, "a Photoshop document"),
    "zip": (zipped(), "a ZIP archive"),
    "icon": (encode(PHOTO, "ICO", sizes=[(16, 16)]), NO_PICTURE),
    "pnm": (encode(PHOTO, "PPM"), NO_PICTURE),
    "targa": (encode(PHOTO, "TGA"), NO_PICTURE),
    "jpeg-2000": (encode(PHOTO, "JPEG2000"), NO_PICTURE),
    "pickle": (pickle.dumps({"a": 1}), NO_PICTURE),
    "numpy": (array_file(), NO_PICTURE),
    "program": (b"\x7fELF\2\1\1" + b"\0" * 90, NO_PICTURE),
    "zeros": (b"\0" * 10_000, NO_PICTURE),
    "ones": (b"\xff" * 10_000, NO_PICTURE),
    "random-short": (RNG.bytes(40), NO_PICTURE),
    "random-long": (RNG.bytes(10_000), NO_PICTURE),
}
ONLY_A_BEGINNING = {
    f"beginning-of-{name}": (data[:length], DAMAGED)
    for name, data, length in [
        ("png", VALID["png"], 8),
        ("jpeg", VALID["jpeg"], 4),
        ("webp", VALID["webp"], 16),
        ("bmp", VALID["bmp"], 6),
        ("gif", VALID["gif"], 6),
        ("tiff", VALID["tiff"], 4),
    ]
}
HALVES = {f"half-of-{name}": (data[: len(data) // 2], DAMAGED) for name, data in VALID.items()}
LACKING = {
    f"{name}-lacking-its-end": (VALID[name][:-40], DAMAGED) for name in ("png", "jpeg", "webp", "bmp", "gif", "tiff")
}
BOMBS = {
    "png-bomb": (png(60_000, 60_000), TOO_LARGE),
    "png-bomb-at-the-format's-limit": (png(2**31 - 1, 2**31 - 1), TOO_LARGE),
    "png-just-too-large": (png(10_000, MAX_PIXELS // 10_000 + 1), TOO_LARGE),
    "jpeg-bomb": (jpeg(65_500, 65_500), TOO_LARGE),
    "webp-bomb": (webp(16_383, 16_383), TOO_LARGE),
    "webp-smaller-bomb": (webp(12_000, 12_000), TOO_LARGE),
    "webp-canvas-bomb": (webp_extended(12_000, 12_000), TOO_LARGE),
    "bmp-bomb": (bmp(100_000, 100_000), TOO_LARGE),
    "bmp-run-length-bomb": (bmp(30_000, 30_000, 8, compression=1), TOO_LARGE),
    "gif-bomb": (gif(65_535, 65_535), TOO_LARGE),
    "gif-frame-bomb": (gif(10, 10, frame=(65_535, 65_535)), TOO_LARGE),
    "tiff-bomb": (tiff(width=100_000, height=100_000), TOO_LARGE),
    "tiff-tile-bomb": (
        tiff((322, 4, 16_384), (323, 4, 16_384), (324, 4, 200), (325, 4, 48), (259, 3, 8)),
        "tiles",
    ),
    "tiff-tile-of-text": (tiff((322, 2, 0x41), (323, 4, 2**32 - 1), (259, 3, 8)), "tiles"),
    "png-text-bomb": (png(extra=chunk(b"zTXt", b"a\0\0" + zlib.compress(b"a" * 2**27))), DAMAGED),
    "jpeg-of-many-scans": (many_scans(), "scans"),
}
SHAPES = {
    "one-pixel": (encode(PHOTO.resize((1, 1))), "at least 2"),
    "one-wide": (encode(PHOTO.resize((1, 19))), "at least 2"),
    "one-high": (encode(PHOTO.resize((19, 1)), "JPEG"), "at least 2"),
    "one-wide-gif": (encode(PHOTO.resize((1, 9)), "GIF"), "at least 2"),
    "one-wide-and-endless": (png(1, 2**31 - 1), TOO_LARGE),
    "a-thread": (encode(Image.new("L", (2, 5_000))), "at most 20 times"),
    "a-hair": (encode(Image.new("RGB", (6_000, 30)), "BMP"), "at most 20 times"),
}
DAMAGE = {
    "png-without-width": (png(width=0), "damaged|at least 2"),
    "png-of-depth-3": (png(depth=3), DAMAGED),
    "png-of-colour-type-5": (png(colour=5), DAMAGED),
    "png-with-wrong-header-checksum": (png(header_crc=1), DAMAGED),
    "png-with-wrong-data-checksum": (png(data=zlib.compress(b"\0" * 52)[:-1] + b"\0"), DAMAGED),
    "png-of-random-data": (png(data=RNG.bytes(80)), DAMAGED),
    "png-of-too-little-data": (png(data=zlib.compress(b"\0" * 20)), DAMAGED),
    "png-without-data": (png()[:33] + chunk(b"IEND", b""), DAMAGED),
    "png-with-an-endless-chunk": (png()[:33] + struct.pack(">I", 2**31 - 1) + b"IDAT", DAMAGED),
    "jpeg-without-height": (jpeg(24, 0), DAMAGED),
    "jpeg-without-tables": (VALID["jpeg"].replace(b"\xff\xdb", b"\xff\xfe"), DAMAGED),
    "webp-of-zeros": (webp(24, 24), DAMAGED),
    "webp-of-another-chunk": (VALID["webp"].replace(b"VP8 ", b"JUNK"), DAMAGED),
    "bmp-of-7-bits": (bmp(8, 8, bits=7), DAMAGED),
    "bmp-of-negative-width": (bmp(-8, 8), TOO_LARGE),
    "bmp-of-unknown-compression": (bmp(4, 4, compression=77), DAMAGED),
    "gif-without-frame": (gif(9, 9)[:19] + b";", DAMAGED),
    "gif-without-size": (gif(0, 0), "damaged|at least 2"),
    "gif-of-code-size-200": (gif(9, 9, code_size=200), DAMAGED),
    "tiff-without-width": (tiff((256, 4, None)), DAMAGED),
    "tiff-without-strips": (tiff((273, 4, None)), DAMAGED),
    "tiff-with-strip-beyond-the-end": (tiff((273, 4, 2**31)), DAMAGED),
    "tiff-of-unknown-compression": (tiff((259, 3, 31_337)), DAMAGED),
    "tiff-of-9000-channels": (tiff((277, 3, 9_000)), DAMAGED),
    "tiff-with-directory-beyond-the-end": (b"II*\0" + struct.pack("<I", 2**31) + b"\0" * 99, DAMAGED),
    "tiff-of-floats": (encode(Image.fromarray(np.ones((4, 4), np.float32)), "TIFF"), "unusual kind"),
    "tiff-of-32-bits": (encode(Image.fromarray(np.ones((4, 4), np.int32)), "TIFF"), "unusual kind"),
    "tiff-of-lab": (tiff((262, 3, 8)), "unusual kind"),
}
HOSTILE = OTHER_FILES | ONLY_A_BEGINNING | HALVES | LACKING | BOMBS | SHAPES | DAMAGE


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
def test_the_pictures_that_are_damaged_above_are_good_when_whole(data):
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
