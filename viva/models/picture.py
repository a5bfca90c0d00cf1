"""Holds a picture that is sent to a model byte for byte; AutoGen's own class would encode it again, as PNG."""

from __future__ import annotations

import base64
import io
from functools import cached_property
from typing import TYPE_CHECKING

from autogen_core import Image

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage


class Picture(Image):
    """A PNG or JPEG file in a message. Its size in bytes is the same when it is sent."""

    def __init__(self, content: bytes) -> None:
        """Args:
        content: The file, which has been seen to be a picture.
        """
        # AutoGen's own initializer would decode it, which nobody needs.
        self.content = content

    @cached_property
    def image(self) -> PilImage:  # type: ignore[override]  # a plain attribute there
        """Return the decoded picture, for AutoGen code that asks for it."""
        from PIL import Image as Pillow

        return Pillow.open(io.BytesIO(self.content)).convert("RGB")

    def to_base64(self) -> str:
        """Return the file unchanged, in base64."""
        return base64.b64encode(self.content).decode()
