"""A decoded picture is turned upright, made 8-bit RGB, and cut or shrunk to the wanted size.

Each function returns the picture and adds a sentence to `notes` when it changed something a user may want to
know. Sizes here are Pillow's (width, height).
"""

from __future__ import annotations

import numpy as np
from PIL import Image, TiffImagePlugin

__all__ = ["MODES", "Colour", "crop", "flatten", "letterbox", "upright"]

Colour = tuple[int, int, int]

SIXTEEN_BIT_MODES = frozenset({"I;16", "I;16B", "I;16L"})
MODES = SIXTEEN_BIT_MODES | {"1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"}

_TAG_BITS, _TAG_PHOTOMETRIC, _TAG_ORIENTATION = 258, 262, 274
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def upright(image: Image.Image, notes: list[str]) -> Image.Image:
    """Turn the picture as its EXIF orientation asks; a damaged EXIF block turns nothing."""
    try:
        turn = _TURNS.get(image.getexif().get(_TAG_ORIENTATION, 1))
    except Exception:  # hostile EXIF blocks make Pillow raise nearly anything, and the pixels are still good
        notes.append("Its EXIF data is damaged and was ignored.")
        return image
    if turn is None:
        return image
    notes.append("Turned upright, as its EXIF orientation asks.")
    return image.transpose(turn)


def flatten(image: Image.Image, background: Colour, notes: list[str]) -> Image.Image:
    """Return the picture as 8-bit RGB, its transparent parts over the background colour."""
    if image.mode in SIXTEEN_BIT_MODES:
        notes.append("Its 16-bit samples were scaled to 8 bits.")
        image = _to_eight_bits(image)
    if image.mode == "La":  # premultiplied grey, for which Pillow knows no direct way to RGBA
        image = image.convert("LA")
    if not image.has_transparency_data:
        return image if image.mode == "RGB" else image.convert("RGB")
    image = image.convert("RGBA")
    alpha = image.getchannel("A")
    if alpha.getextrema() != (255, 255):
        colour = "#{:02x}{:02x}{:02x}".format(*background)
        notes.append(f"Its transparent parts were put over the background colour {colour}.")
    canvas = Image.new("RGB", image.size, background)
    canvas.paste(image, mask=alpha)
    return canvas


def _to_eight_bits(image: Image.Image) -> Image.Image:
    """Scale 16-bit grey to 8 bits by its full range, where Pillow's own conversion would clip."""
    bits, white_is_zero = 16, False
    if isinstance(image, TiffImagePlugin.TiffImageFile):  # TIFF also has 12 bits, and inverted grey
        bits = image.tag_v2.get(_TAG_BITS, (16,))[0]
        white_is_zero = image.tag_v2.get(_TAG_PHOTOMETRIC, 0) == 0
    table = np.minimum(np.round(np.arange(2**16) * (255 / (2**bits - 1))), 255).astype(np.uint8)
    samples = np.asarray(image)
    grey = Image.fromarray((255 - table if white_is_zero else table)[samples])
    transparent = image.info.get("transparency")
    if isinstance(transparent, int):
        grey.putalpha(Image.fromarray(np.where(samples == transparent, np.uint8(0), np.uint8(255))))
    return grey


def crop(image: Image.Image, target: tuple[int, int], keep: float, notes: list[str]) -> Image.Image:
    """Cut the largest centred part with the target's proportions, `keep` times as wide, and resize it."""
    scale = min(image.width / target[0], image.height / target[1]) * keep
    width, height = (max(1, round(side * scale)) for side in target)
    if (width, height) != image.size:
        notes.append(f"Cropped to the central {width} × {height} of its {image.width} × {image.height} pixels.")
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return _resize(image, target, (left, top, left + width, top + height), notes)


def letterbox(image: Image.Image, target: tuple[int, int], background: Colour, notes: list[str]) -> Image.Image:
    """Resize the whole picture to fit into the target, and fill the rest with the background colour."""
    scale = min(target[0] / image.width, target[1] / image.height)
    width, height = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    image = _resize(image, (width, height), (0, 0, *image.size), notes)
    if (width, height) == target:
        return image
    notes.append(f"Bars were added to make it {target[0]} × {target[1]} pixels.")
    canvas = Image.new("RGB", target, background)
    canvas.paste(image, ((target[0] - width) // 2, (target[1] - height) // 2))
    return canvas


def _resize(
    image: Image.Image, target: tuple[int, int], box: tuple[int, int, int, int], notes: list[str]
) -> Image.Image:
    width, height = box[2] - box[0], box[3] - box[1]
    if (width, height) == target:
        return image.crop(box)  # exact pixels: no filter touches them
    notes.append(f"Resized from {width} × {height} to {target[0]} × {target[1]} pixels.")
    return image.resize(target, Image.Resampling.BILINEAR, box=box)  # Pillow's filters are antialiased
