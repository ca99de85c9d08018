"""Pictures made to do harm, each with the reason that a refusal must give, and whole ones to compare them with."""

import gzip
import io
import json
import pickle
import struct
import zipfile
import zlib

import numpy as np
from PIL import Image

from srs_core.images import MAX_PIXELS

RNG = np.random.default_rng(3)


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
