"""Untrusted bytes become a float32 tensor [3, H, W] in [0, 1], or one clear `ImageError`.

What is promised, whatever the bytes are:

- The result is a `Picture`, or an `ImageError` whose text is a sentence for the user. No other exception.
- The limits below are checked on the header, before a pixel is decoded. Decoding then needs at most about
  24 bytes of memory a pixel, so less than 1 GB, and one picture is decoded at a time.
- A picture that already has the wanted size comes through bit-exact: each value is its byte / 255.

Colour profiles are not applied, and samples deeper than 8 bits are scaled to 8. Sizes are (height, width), as
in the tensor; the notes, which people read, say width × height.
"""

from __future__ import annotations

import io
import logging
import os
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, get_args

import numpy as np
import torch
from PIL import Image, TiffImagePlugin, UnidentifiedImageError
from torch import Tensor

from srs_core import pixels

__all__ = [
    "FORMATS",
    "MAX_ASPECT",
    "MAX_BYTES",
    "MAX_PIXELS",
    "MIN_SIDE",
    "Fit",
    "ImageError",
    "Picture",
    "Source",
    "load_image",
    "to_png",
]

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF")
MAX_BYTES = 64 * 2**20
MAX_PIXELS = 40_000_000
MIN_SIDE = 2
MAX_ASPECT = 20
MAX_JPEG_SCANS = 200
WHITE = (255, 255, 255)

Fit = Literal["crop", "letterbox"]
Source = bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO

_TAG_TILE_WIDTH, _TAG_TILE_LENGTH = 322, 323
_SIGNATURES = (
    (0, b"\x89PNG", "a damaged PNG file"),
    (0, b"\xff\xd8\xff", "a damaged JPEG file"),
    (8, b"WEBP", "a damaged WebP file"),
    (0, b"BM", "a damaged BMP file"),
    (0, b"GIF8", "a damaged GIF file"),
    (0, b"II*\0", "a TIFF file that is damaged or of an unusual kind"),
    (0, b"MM\0*", "a TIFF file that is damaged or of an unusual kind"),
    (4, b"ftyp", "a HEIC or AVIF photo, or a film"),
    (0, b"%PDF", "a PDF document"),
    (0, b"%!PS", "a PostScript document"),
    (0, b"8BPS", "a Photoshop document"),
    (0, b"PK\3\4", "a ZIP archive or an office document"),
)

# Python's warning filters belong to the whole process, and two large pictures at once need twice the memory.
_one_at_a_time = threading.Lock()

# A program that sets up no logging would otherwise find Pillow's remarks on damaged files on its standard error.
logging.getLogger("PIL").addHandler(logging.NullHandler())


class ImageError(ValueError):
    """A picture cannot be used; the text says why, and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture ready for a model, and what was done to make it so."""

    tensor: Tensor
    """float32 [3, height, width] with values in [0, 1]."""
    original_size: tuple[int, int]
    """Height and width before fitting, the right way up."""
    format: str
    """One of `FORMATS`."""
    mode: str
    """Pillow's name for the stored samples, such as RGB, L, P, CMYK or I;16."""
    notes: tuple[str, ...]
    """What was changed, a sentence each."""


def load_image(
    source: Source,
    size: tuple[int, int] | None = None,
    *,
    fit: Fit = "crop",
    background: tuple[int, int, int] = WHITE,
    keep: float = 1.0,
) -> Picture:
    """Read a picture from bytes, a path or a binary stream, and fit it to `size` (height, width).

    `fit="crop"` cuts the largest centred part with the wanted proportions and resizes it with an antialiased
    bilinear filter; `keep` < 1 cuts that much closer (224/256 is ImageNet's "shorter side to 256, centre 224").
    `fit="letterbox"` shows the whole picture, with bars of the background colour. Transparent parts are
    put over `background` (red, green, blue from 0 to 255). With `size=None` the picture keeps its own size.
    """
    if size is not None and (len(size) != 2 or min(size) < 1):
        raise ValueError(f"size is {size}; it must be (height, width), both at least 1, or None.")
    if fit not in get_args(Fit):
        raise ValueError(f"fit is {fit!r}; it must be 'crop' or 'letterbox'.")
    if len(background) != 3 or not all(0 <= value <= 255 for value in background):
        raise ValueError(f"background is {background}; it must be three numbers from 0 to 255.")
    if not 0 < keep <= 1:
        raise ValueError(f"keep is {keep}; it must be above 0 and at most 1.")
    try:
        data = _read(source)
        with _one_at_a_time, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _decode(data, size, fit, background, keep)
    except ImageError as error:
        if isinstance(source, str | os.PathLike):
            raise ImageError(f"{os.fspath(source)}: {error}") from error.__cause__
        raise


def to_png(tensor: Tensor) -> bytes:
    """Return a picture [3, H, W] as PNG; values outside [0, 1], as noise makes them, are clipped."""
    if tensor.ndim != 3 or tensor.shape[0] != 3 or not tensor.is_floating_point():
        raise ValueError(f"A float tensor [3, H, W] is needed, not {tensor.dtype} {list(tensor.shape)}.")
    # NumPy, because torch divides even this little work among threads, which wait for each other on a busy machine.
    values = tensor.detach().cpu().double().numpy()
    if not np.isfinite(values).all():
        raise ValueError("The picture has values that are not finite, so it cannot be shown.")
    rounded = np.rint(values.clip(0, 1) * 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(rounded.transpose(1, 2, 0))).save(buffer, "PNG")
    return buffer.getvalue()


def _read(source: Source) -> bytes:
    """Return the source's bytes, having read no more than one beyond the limit."""
    try:
        if isinstance(source, bytes | bytearray | memoryview):
            data = bytes(source[: MAX_BYTES + 1])
        elif isinstance(source, str | os.PathLike):
            data = _read_file(Path(source))
        else:
            if source.seekable():
                source.seek(0)  # an upload is often handed over again, already read to its end
            data = source.read(MAX_BYTES + 1)
    except (OSError, ValueError, AttributeError) as error:
        if isinstance(error, ImageError):
            raise
        raise ImageError(f"The picture cannot be read ({error}). Check that it is there and open.") from error
    if not isinstance(data, bytes):
        raise ImageError(f"The picture's content is {type(data).__name__}, not bytes. Open it in binary mode.")
    if not data:
        raise ImageError("The file is empty (0 bytes). Choose another file.")
    if len(data) > MAX_BYTES:
        raise ImageError(f"The file is larger than {MAX_BYTES // 2**20} MiB. Make the picture smaller first.")
    return data


def _read_file(path: Path) -> bytes:
    if not path.exists():
        raise ImageError("There is no such file. Check its name and folder.")
    if not path.is_file():  # devices and pipes may never end
        raise ImageError("This is not a file. Give the path of a picture.")
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _decode(
    data: bytes, size: tuple[int, int] | None, fit: Fit, background: tuple[int, int, int], keep: float
) -> Picture:
    notes: list[str] = []
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as stored:
            _check_header(stored, data)
            stored.load()
            if getattr(stored, "is_animated", False):
                notes.append("Only its first frame is used.")
            image = pixels.upright(stored, notes)
            original_size = image.height, image.width
            image = pixels.flatten(image, background, notes)
            # Phones put a second picture behind the first in a JPEG, which Pillow then calls MPO.
            kind = "JPEG" if stored.format == "MPO" else str(stored.format)
            mode = stored.mode
        if size is not None and fit == "crop":
            image = pixels.crop(image, (size[1], size[0]), keep, notes)
        elif size is not None:
            image = pixels.letterbox(image, (size[1], size[0]), background, notes)
    except ImageError:
        raise
    except UnidentifiedImageError as error:
        raise ImageError(
            f"This looks like {_describe(data)}. Choose a PNG, JPEG, WebP, BMP, GIF or TIFF picture."
        ) from error
    except Image.DecompressionBombError as error:
        raise ImageError(f"The picture is too large. {_pixel_limit()}") from error
    except Exception as error:  # hostile bytes make Pillow's decoders raise nearly anything
        raise ImageError("The picture is damaged or cut short. Save it or download it again.") from error
    values = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()
    return Picture(values.float() / 255, original_size, kind, mode, tuple(notes))


def _pixel_limit() -> str:
    return f"At most {MAX_PIXELS // 1_000_000} megapixels are allowed: make it smaller first."


def _check_header(image: Image.Image, data: bytes) -> None:
    """Refuse what is too large, too small or of an unknown kind, before memory is spent on it."""
    width, height = image.size
    has = f"The picture has {width} × {height} pixels."
    if width * height > MAX_PIXELS:
        raise ImageError(f"{has} {_pixel_limit()}")
    if min(width, height) < MIN_SIDE:
        raise ImageError(f"{has} Each side needs at least {MIN_SIDE}: use a larger picture.")
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise ImageError(f"{has} One side may be at most {MAX_ASPECT} times the other: cut out the part that matters.")
    if image.mode not in pixels.MODES:
        raise ImageError(
            f"The picture's samples are of an unusual kind (Pillow's mode {image.mode}). Save it with 8 or 16 "
            "bits a channel, in grey, RGB or CMYK."
        )
    if isinstance(image, TiffImagePlugin.TiffImageFile):
        # The decoder makes room for a whole tile, however small the picture is.
        across, down = (image.tag_v2.get(tag, 1) for tag in (_TAG_TILE_WIDTH, _TAG_TILE_LENGTH))
        if not (isinstance(across, int) and isinstance(down, int) and across * down <= MAX_PIXELS):
            raise ImageError(f"The TIFF file's tiles are too large or damaged. {_pixel_limit()}")
    # Each scan of a progressive JPEG is a pass over all its pixels, and takes but a few bytes to ask for.
    if image.format in ("JPEG", "MPO") and data.count(b"\xff\xda") > MAX_JPEG_SCANS:
        raise ImageError(f"The JPEG file has more than {MAX_JPEG_SCANS} scans. Save it again as a plain JPEG.")


def _describe(data: bytes) -> str:
    """Say what the bytes seem to be, when they are no picture that can be read."""
    for offset, signature, kind in _SIGNATURES:
        if data.startswith(signature, offset):
            return kind
    head = data[:1024]
    if b"<svg" in head.lower():
        return "an SVG drawing"
    is_text = not any(byte < 9 or 13 < byte < 32 for byte in head)
    return "a text file" if is_text else "data of an unknown kind"
