"""Prepares the agent's pictures for models that see: small enough in bytes and on each side, or named as not shown."""

from __future__ import annotations

from viva.journal.images import kind_of
from viva.journal.scaled_pictures import look_at, scale_picture
from viva.models.model import PictureFile

MOST_PICTURES = 4
PICTURE_BYTES = 400_000
"""Maximum number of bytes of one picture; a larger one is scaled down."""
MOST_SIDE = 5_120
"""Maximum width and height in pixels; providers refuse pictures of more than about 8,000."""
LARGEST_PICTURE = 20 * 1024 * 1024
"""Maximum size in bytes of a file that is read to be scaled down."""


def is_picture(start: bytes) -> bool:
    """Return whether a file begins as a picture does."""
    return kind_of(start) is not None


def fit(content: bytes) -> tuple[PictureFile, bool] | None:
    """Return a picture as a model can be shown it, and whether it was made smaller; None if it cannot be shown.

    Args:
        content: The whole file, which anybody may have made.
    """
    facts = look_at(content)
    if facts is None:
        return None
    small = len(content) <= PICTURE_BYTES and max(facts.width, facts.height) <= MOST_SIDE
    if small and kind_of(content) in ("png", "jpeg"):
        return PictureFile(content), False
    scaled = scale_picture(content, PICTURE_BYTES)
    return None if scaled is None else (PictureFile(scaled), not small)
