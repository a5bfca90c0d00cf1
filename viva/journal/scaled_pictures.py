"""Describes images, and scales them down to a number of bytes, for a page or a model that shows a long session."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
MOST_PIXELS = 40_000_000
"""Larger images are not decoded: a file of a few kilobytes can hold gigabytes of one colour."""
LEAST_BYTES = 1_000
"""Minimum size in bytes; in less, nothing can be recognized."""
# Width and JPEG quality, from readable to barely recognizable.
_STEPS = ((1280, 80), (1280, 60), (1024, 60), (800, 55), (640, 50), (480, 45), (320, 40), (160, 30))
_TALLEST = 4
"""Maximum ratio of height to width; screenshots of whole pages are long."""


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """The size of a picture, and whether it shows anything."""

    width: int
    height: int
    blank: bool
    """Whether it shows nothing: it has one colour, or hardly a pixel, as if a screenshot had failed."""


def look_at(content: bytes) -> PictureFacts | None:
    """Decode a whole picture and describe it. Return None if it cannot be decoded or is too large.

    Args:
        content: A PNG, JPEG, GIF (its first frame) or WebP file, which may be untrusted.
    """
    try:
        return _look(content)
    except Exception:  # see `scale_picture`
        return None


def scale_picture(content: bytes, limit: int) -> bytes | None:
    """Make a JPEG of at most `limit` bytes from an image, as large as possible.

    Args:
        content: A PNG, JPEG, GIF (its first frame) or WebP file, which may be untrusted.
        limit: Maximum size in bytes.

    Returns:
        The JPEG; None if the image cannot be decoded, has too many pixels, or does not fit even when small.
    """
    if limit < LEAST_BYTES:
        return None
    try:
        return _scale(content, limit)
    except Exception:
        # Pillow raises OSError, SyntaxError, ValueError, struct.error and others on broken images.
        return None


def _look(content: bytes) -> PictureFacts | None:
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(io.BytesIO(content), formats=FORMATS) as opened:
            width, height = opened.size
            if width * height > MOST_PIXELS:
                return None
            bands = [band.getextrema() for band in _flattened(opened).split()]
    blank = min(width, height) <= 2 or all(least == most for least, most in bands)
    return PictureFacts(width, height, blank)


def _scale(content: bytes, limit: int) -> bytes | None:
    from PIL import Image  # takes 30 ms, and most pages have no images

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of large images, which are refused here anyway
        with Image.open(io.BytesIO(content), formats=FORMATS) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                return None
            opened.draft("RGB", (_STEPS[0][0], _STEPS[0][0]))
            picture = _flattened(opened)
    size, area = 0, 1
    for width, quality in _STEPS:
        if size * min(1.0, width * width * picture.height / picture.width / area) > 1.5 * limit:
            continue  # far too large, to judge by the previous attempt
        if picture.width > width or picture.height > width * _TALLEST:
            picture.thumbnail((width, width * _TALLEST), reducing_gap=2.0)
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=quality)
        if out.tell() <= limit:
            return out.getvalue()
        size, area = out.tell(), picture.width * picture.height
    return None


def _flattened(picture: Image.Image) -> Image.Image:
    """Return the image without transparency, on a white background."""
    from PIL import Image

    if "A" not in picture.getbands() and "transparency" not in picture.info:
        return picture.convert("RGB")
    above = picture.convert("RGBA")
    flat = Image.new("RGB", above.size, "white")
    flat.paste(above, mask=above.getchannel("A"))
    return flat
