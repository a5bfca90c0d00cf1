"""Converts messages between Viva's form and AutoGen's. Pictures are sent byte for byte, not encoded again as PNG."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from autogen_core import Image
from autogen_core.models import AssistantMessage, LLMMessage, SystemMessage, UserMessage

from viva.models.model import Content, ModelMessage, PictureFile

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

_NATIVE = (SystemMessage, UserMessage, AssistantMessage)


def to_autogen(messages: Sequence[ModelMessage]) -> list[LLMMessage]:
    """Return messages as AutoGen's clients take them."""
    return [message.native if isinstance(message.native, _NATIVE) else _to_autogen(message) for message in messages]


def from_autogen(message: LLMMessage) -> ModelMessage:
    """Return a message of an AutoGen agent, which keeps its own form.

    Raises:
        ValueError: it is the result of a tool, and Viva's models have none.
    """
    if isinstance(message, SystemMessage):
        return ModelMessage("system", message.content, native=message)
    if isinstance(message, UserMessage):
        content = message.content if isinstance(message.content, str) else tuple(map(_part, message.content))
        return ModelMessage("user", content, message.source, native=message)
    if isinstance(message, AssistantMessage) and isinstance(message.content, str):
        return ModelMessage("assistant", message.content, message.source, native=message)
    raise ValueError(f"a model without tools cannot be sent a {type(message).__name__}")


def _to_autogen(message: ModelMessage) -> LLMMessage:
    name = message.name or message.role
    if message.role == "user":
        content = message.content
        return UserMessage(
            content=content if isinstance(content, str) else [_sent(part) for part in content], source=name
        )
    text = text_of(message.content)
    return SystemMessage(content=text) if message.role == "system" else AssistantMessage(content=text, source=name)


def text_of(content: Content) -> str:
    """Return the text of a message without its pictures."""
    return content if isinstance(content, str) else "\n".join(part for part in content if isinstance(part, str))


def _part(part: str | Image) -> str | PictureFile:
    return part if isinstance(part, str) else PictureFile(base64.b64decode(part.to_base64()))


def _sent(part: str | PictureFile) -> str | Image:
    return part if isinstance(part, str) else SentPicture(part.content)


class SentPicture(Image):
    """A PNG or JPEG file in a message. AutoGen's own class would encode it again, as PNG."""

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
