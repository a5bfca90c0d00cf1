"""A picture for a model that is sent byte for byte, where AutoGen's own would be packed again, as PNG."""

from __future__ import annotations

import base64
import io
from functools import cached_property
from typing import TYPE_CHECKING

from autogen_core import Image

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage


class Picture(Image):
    """A PNG or JPEG file as part of a message: a budget of bytes that it was scaled to holds on the wire."""

    def __init__(self, content: bytes) -> None:
        """Args:
        content: The file, which has been seen to be a picture.
        """
        # AutoGen's own initializer would decode it, which nobody needs.
        self.content = content

    @cached_property
    def image(self) -> PilImage:  # type: ignore[override]  # a plain attribute there
        """The picture decoded, for code of AutoGen's that asks for it."""
        from PIL import Image as Pillow

        return Pillow.open(io.BytesIO(self.content)).convert("RGB")

    def to_base64(self) -> str:
        """Give the file as it is."""
        return base64.b64encode(self.content).decode()
