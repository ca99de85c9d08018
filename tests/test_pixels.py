"""Known answers: what each kind of picture must look like once it is read and fitted."""

import io
import struct
import zlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from srs_core.images import load_image
from srs_core.vision import torchvision

RNG = np.random.default_rng(7)
NOISE = RNG.integers(0, 256, (32, 32, 3), dtype=np.uint8)


def encode(image, format="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def rgb(tensor):
    """Back to bytes [H, W, 3], insisting that each value is a byte / 255."""
    values = tensor.permute(1, 2, 0).numpy()
    rounded = np.round(values * 255).astype(np.uint8)
    assert np.array_equal(values, rounded.astype(np.float32) / np.float32(255))
    return rounded


def png(width, height, depth, colour, rows, *extra):
    """A PNG made by hand, for the kinds that Pillow cannot write."""

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks = [(b"IHDR", header), *extra, (b"IDAT", data), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(name, body) for name, body in chunks)


def tiff(width, height, bits, photometric, strip, order="<"):
    """A plain TIFF of one grey channel and one strip, made by hand."""
    entries = [
        (256, 3, width),
        (257, 3, height),
        (258, 3, bits),
        (259, 3, 1),
        (262, 3, photometric),
        (273, 4, 8 + 2 + 8 * 12 + 4),
        (277, 3, 1),
        (279, 4, len(strip)),
    ]
    ifd = struct.pack(order + "H", len(entries))
    for tag, kind, value in entries:
        ifd += struct.pack(order + "HHI", tag, kind, 1)
        ifd += struct.pack(order + "HH", value, 0) if kind == 3 else struct.pack(order + "I", value)
    mark = b"II" if order == "<" else b"MM"
    return mark + struct.pack(order + "HI", 42, 8) + ifd + b"\0\0\0\0" + strip


LOSSLESS = {
    "png": ("PNG", {}),
    "bmp": ("BMP", {}),
    "webp": ("WEBP", {"lossless": True}),
    "tiff": ("TIFF", {}),
    "tiff-lzw": ("TIFF", {"compression": "tiff_lzw"}),
    "tiff-deflate": ("TIFF", {"compression": "tiff_adobe_deflate"}),
}


@pytest.mark.parametrize(("format", "options"), LOSSLESS.values(), ids=LOSSLESS)
@pytest.mark.parametrize("fit", ["crop", "letterbox"])
def test_a_picture_of_the_wanted_size_is_bit_exact(format, options, fit):
    picture = load_image(encode(Image.fromarray(NOISE), format, **options), (32, 32), fit=fit)
    assert picture.tensor.dtype == torch.float32
    assert torch.equal(picture.tensor, torch.from_numpy(NOISE).permute(2, 0, 1).float() / 255)
    assert (picture.format, picture.mode, picture.original_size, picture.notes) == (format, "RGB", (32, 32), ())


def test_jpeg_is_close():
    smooth = np.linspace(0, 255, 32 * 32).astype(np.uint8).reshape(32, 32)
    picture = load_image(encode(Image.fromarray(np.stack([smooth] * 3, 2)), "JPEG", quality=95))
    assert np.abs(rgb(picture.tensor)[..., 0].astype(int) - smooth).max() <= 6


def test_grey_and_bilevel():
    grey = NOISE[..., 0]
    assert np.array_equal(rgb(load_image(encode(Image.fromarray(grey))).tensor), np.stack([grey] * 3, 2))
    black_or_white = np.where(grey > 127, np.uint8(255), np.uint8(0))
    bilevel = Image.fromarray(black_or_white).convert("1", dither=Image.Dither.NONE)
    for format in ("PNG", "BMP", "TIFF"):
        assert np.array_equal(rgb(load_image(encode(bilevel, format)).tensor)[..., 1], black_or_white)


@pytest.mark.parametrize("format", ["PNG", "GIF", "BMP", "TIFF"])
def test_palette(format):
    indices = RNG.integers(0, 4, (20, 30), dtype=np.uint8)
    colours = np.array([[255, 0, 0], [0, 255, 0], [1, 2, 3], [250, 128, 7]], dtype=np.uint8)
    image = Image.fromarray(indices)
    image.putpalette(colours.tobytes())
    picture = load_image(encode(image, format))
    assert picture.mode == "P"
    assert np.array_equal(rgb(picture.tensor), colours[indices])


@pytest.mark.parametrize("format", ["PNG", "TIFF", "WEBP"])
def test_alpha_is_put_over_the_background(format):
    pixels = np.zeros((4, 6, 4), dtype=np.uint8)
    pixels[:, :2] = (200, 100, 50, 255)
    pixels[:, 2:4] = (200, 100, 50, 0)
    pixels[:, 4:] = (200, 100, 50, 51)  # a fifth
    options = {"lossless": True, "exact": True} if format == "WEBP" else {}
    data = encode(Image.fromarray(pixels), format, **options)
    white = load_image(data)
    assert rgb(white.tensor)[0].tolist() == [[200, 100, 50]] * 2 + [[255] * 3] * 2 + [[244, 224, 214]] * 2
    assert white.notes == ("Its transparent parts were put over the background colour #ffffff.",)
    blue = load_image(data, background=(0, 0, 255))
    assert rgb(blue.tensor)[0].tolist() == [[200, 100, 50]] * 2 + [[0, 0, 255]] * 2 + [[40, 20, 214]] * 2


def test_an_opaque_alpha_channel_changes_nothing():
    image = Image.fromarray(NOISE)
    image.putalpha(255)
    picture = load_image(encode(image), background=(9, 9, 9))
    assert np.array_equal(rgb(picture.tensor), NOISE)
    assert picture.notes == ()


def test_grey_with_alpha():
    grey = np.full((3, 3), 60, np.uint8)
    alpha = np.array([[0, 255, 0]] * 3, np.uint8)
    image = Image.merge("LA", [Image.fromarray(grey), Image.fromarray(alpha)])
    assert rgb(load_image(encode(image)).tensor)[0].tolist() == [[255] * 3, [60] * 3, [255] * 3]


@pytest.mark.parametrize("format", ["PNG", "GIF"])
def test_a_transparent_palette_entry(format):
    indices = np.array([[0, 1, 2]] * 3, np.uint8)
    image = Image.fromarray(indices)
    image.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
    picture = load_image(encode(image, format, transparency=1), background=(1, 1, 1))
    assert rgb(picture.tensor)[0].tolist() == [[10, 20, 30], [1, 1, 1], [70, 80, 90]]


def test_a_transparent_colour_in_png():
    rows = [bytes([9, 9, 9, 200, 0, 0])] * 2
    data = png(2, 2, 8, 2, rows, (b"tRNS", struct.pack(">3H", 9, 9, 9)))
    assert rgb(load_image(data, background=(0, 7, 0)).tensor)[0].tolist() == [[0, 7, 0], [200, 0, 0]]


def test_cmyk():
    ink = np.zeros((8, 8, 4), np.uint8)
    ink[:4, :, 0] = 255  # cyan above
    ink[4:, :, 3] = 255  # black below
    image = Image.frombytes("CMYK", (8, 8), ink.tobytes())
    exact = load_image(encode(image, "TIFF"))
    assert exact.mode == "CMYK"
    assert rgb(exact.tensor)[0, 0].tolist() == [0, 255, 255]
    assert rgb(exact.tensor)[7, 7].tolist() == [0, 0, 0]
    jpeg = rgb(load_image(encode(image, "JPEG", quality=95)).tensor).astype(int)  # inverted, as Adobe does it
    assert np.abs(jpeg[0, 0] - (0, 255, 255)).max() <= 3
    assert jpeg[7, 7].max() <= 3


SIXTEEN = np.array([[0, 257, 32768], [65535, 65535 - 257, 257 * 100]], dtype=np.uint16)
AS_EIGHT = [[0, 1, 128], [255, 254, 100]]  # round(value * 255 / 65535)


@pytest.mark.parametrize(
    "data",
    [
        encode(Image.fromarray(SIXTEEN)),
        encode(Image.fromarray(SIXTEEN), "TIFF"),
        encode(Image.fromarray(SIXTEEN), "TIFF", compression="tiff_lzw"),
        tiff(3, 2, 16, 1, SIXTEEN.astype("<u2").tobytes(), "<"),
        tiff(3, 2, 16, 1, SIXTEEN.astype(">u2").tobytes(), ">"),
        tiff(3, 2, 16, 0, (65535 - SIXTEEN).astype("<u2").tobytes(), "<"),
    ],
    ids=["png", "tiff", "tiff-lzw", "little-endian", "big-endian", "white-is-zero"],
)
def test_sixteen_bit_grey_is_scaled_and_not_clipped(data):
    picture = load_image(data)
    assert rgb(picture.tensor)[..., 0].tolist() == AS_EIGHT
    assert torch.equal(picture.tensor[0], picture.tensor[2])
    assert picture.notes == ("Its 16-bit samples were scaled to 8 bits.",)


def test_twelve_bit_grey_uses_its_own_range():
    row = bytes([0x00, 0x0F, 0xFF, 0x80, 0x00, 0x00])  # 0x000, 0xfff, 0x800, 0x000
    values = rgb(load_image(tiff(4, 2, 12, 1, row * 2)).tensor)[0, :, 0]
    assert values.tolist() == [0, 255, 128, 0]


def test_sixteen_bit_colour_and_alpha():
    row = struct.pack(">6H", 65535, 0, 32768, 257, 514, 771)
    assert rgb(load_image(png(2, 2, 16, 2, [row] * 2)).tensor)[0].tolist() == [[255, 0, 128], [1, 2, 3]]
    row = struct.pack(">8H", 65535, 0, 32768, 65535, 257, 514, 771, 0)
    assert rgb(load_image(png(2, 2, 16, 6, [row] * 2)).tensor)[0].tolist() == [[255, 0, 128], [255] * 3]
    row = struct.pack(">4H", 257 * 9, 65535, 257 * 9, 0)
    assert rgb(load_image(png(2, 2, 16, 4, [row] * 2)).tensor)[0].tolist() == [[9] * 3, [255] * 3]


def test_a_transparent_sixteen_bit_grey():
    data = png(2, 2, 16, 0, [struct.pack(">2H", 5000, 65535)] * 2, (b"tRNS", struct.pack(">H", 5000)))
    assert rgb(load_image(data, background=(7, 8, 9)).tensor)[0].tolist() == [[7, 8, 9], [255] * 3]


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG", "TIFF"])
def test_only_the_first_frame_counts(format):
    frames = [Image.new("RGB", (16, 16), colour) for colour in ((255, 0, 0), (0, 255, 0), (0, 0, 255))]
    options = {"lossless": True} if format == "WEBP" else {}
    picture = load_image(encode(frames[0], format, save_all=True, append_images=frames[1:], **options))
    assert rgb(picture.tensor)[8, 8].tolist() == [255, 0, 0]
    assert "Only its first frame is used." in picture.notes


def test_a_phone_jpeg_with_a_second_picture_is_a_jpeg():
    first, second = (Image.new("RGB", (16, 16), colour) for colour in ("red", "blue"))
    picture = load_image(encode(first, "MPO", save_all=True, append_images=[second]))
    assert picture.format == "JPEG"
    assert picture.tensor[0].min() > 0.9


UPRIGHT = {  # what each orientation asks for, in NumPy's words
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
    8: lambda a: np.rot90(a),
}


@pytest.mark.parametrize("orientation", UPRIGHT)
@pytest.mark.parametrize("format", ["PNG", "WEBP", "TIFF"])
def test_exif_orientation(orientation, format):
    stored = RNG.integers(0, 256, (6, 10, 3), dtype=np.uint8)
    exif = Image.Exif()
    exif[274] = orientation
    options = {"lossless": True} if format == "WEBP" else {}
    picture = load_image(encode(Image.fromarray(stored), format, exif=exif, **options))
    expected = UPRIGHT[orientation](stored)
    assert np.array_equal(rgb(picture.tensor), expected)
    assert picture.original_size == expected.shape[:2]


@pytest.mark.parametrize("orientation", [0, 9, 77])
def test_an_unknown_orientation_turns_nothing(orientation):
    exif = Image.Exif()
    exif[274] = orientation
    assert np.array_equal(rgb(load_image(encode(Image.fromarray(NOISE), exif=exif)).tensor), NOISE)


def test_damaged_exif_does_not_cost_the_picture():
    data = encode(Image.fromarray(NOISE), exif=b"Exif\0\0II*\0\xff\xff\xff\x7f garbage")
    assert np.array_equal(rgb(load_image(data).tensor), NOISE)


def test_crop_takes_the_centre_and_keeps_its_pixels():
    wide = RNG.integers(0, 256, (32, 40, 3), dtype=np.uint8)
    picture = load_image(encode(Image.fromarray(wide)), (32, 32))
    assert np.array_equal(rgb(picture.tensor), wide[:, 4:36])
    assert picture.notes == ("Cropped to the central 32 × 32 of its 40 × 32 pixels.",)
    assert picture.original_size == (32, 40)


def test_resizing_agrees_with_torch():
    large = RNG.integers(0, 256, (90, 90, 3), dtype=np.uint8)
    picture = load_image(encode(Image.fromarray(large)), (32, 32))
    exact = torch.from_numpy(large).permute(2, 0, 1)[None].float() / 255
    expected = torch.nn.functional.interpolate(exact, (32, 32), mode="bilinear", antialias=True)[0]
    assert (picture.tensor - expected).abs().max() < 1.01 / 255
    assert picture.notes == ("Resized from 90 × 90 to 32 × 32 pixels.",)


def test_resizing_is_antialiased():
    fine = (np.indices((256, 256)).sum(0) % 2 * 255).astype(np.uint8)
    picture = load_image(encode(Image.fromarray(fine)), (32, 32))
    assert (picture.tensor - 0.5).abs().max() < 0.02


def test_keep_is_imagenets_usual_preprocessing():
    transforms = torchvision().transforms.v2
    coarse = torch.rand(1, 3, 8, 10, generator=torch.Generator().manual_seed(0))
    smooth = torch.nn.functional.interpolate(coarse, (400, 500), mode="bicubic")[0].clamp(0, 1)
    image = Image.fromarray((smooth * 255).round().to(torch.uint8).permute(1, 2, 0).numpy())
    usual = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.PILToTensor()])
    picture = load_image(encode(image), (224, 224), keep=224 / 256)
    assert (picture.tensor - usual(image).float() / 255).abs().max() < 4 / 255


def test_letterbox_shows_the_whole_picture():
    wide = np.full((32, 64, 3), 100, np.uint8)
    wide[:, :8] = 0  # the left edge, which a crop would lose
    picture = load_image(encode(Image.fromarray(wide)), (32, 32), fit="letterbox", background=(10, 20, 30))
    values = rgb(picture.tensor)
    assert (values[:8] == (10, 20, 30)).all()
    assert (values[24:] == (10, 20, 30)).all()
    assert (values[8:24, :3] == 0).all()
    assert (values[8:24, 6:] == 100).all()
    assert picture.notes == (
        "Resized from 64 × 32 to 32 × 16 pixels.",
        "Bars were added to make it 32 × 32 pixels.",
    )


sides = st.integers(2, 60)


@given(width=sides, height=sides, target=st.tuples(st.integers(1, 50), st.integers(1, 50)), grey=st.integers(0, 255))
@pytest.mark.parametrize("fit", ["crop", "letterbox"])
def test_any_shape_fits_any_shape(fit, width, height, target, grey):
    if max(width, height) > 20 * min(width, height):
        width = height
    data = encode(Image.new("L", (width, height), grey))
    picture = load_image(data, target, fit=fit, background=(grey, grey, grey))
    assert picture.tensor.shape == (3, *target)
    assert picture.original_size == (height, width)
    assert (rgb(picture.tensor) == grey).all()  # nothing but the picture and its background
