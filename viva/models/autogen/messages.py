"""Converts messages between Viva's form and AutoGen's. Pictures are sent byte for byte, not encoded again as PNG."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

from autogen_core import Image
from autogen_core.models import AssistantMessage, LLMMessage, SystemMessage, UserMessage

from viva.models.model import Content, ModelMessage, PictureFile

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage


class AgentMessages(Sequence[ModelMessage]):
    """The messages of an AutoGen agent, converted only when another client than one of AutoGen's reads them."""

    def __init__(self, native: Sequence[LLMMessage]) -> None:
        self.native = native

    def __len__(self) -> int:
        return len(self.native)

    @overload
    def __getitem__(self, index: int) -> ModelMessage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ModelMessage]: ...
    def __getitem__(self, index: int | slice) -> ModelMessage | Sequence[ModelMessage]:
        if isinstance(index, slice):
            return AgentMessages(self.native[index])
        return _from_autogen(self.native[index])


def to_autogen(messages: Sequence[ModelMessage]) -> Sequence[LLMMessage]:
    """Return messages as AutoGen's clients take them."""
    return messages.native if isinstance(messages, AgentMessages) else [_to_autogen(message) for message in messages]


def _from_autogen(message: LLMMessage) -> ModelMessage:
    if isinstance(message, SystemMessage):
        return ModelMessage("system", message.content)
    if isinstance(message, UserMessage):
        content = message.content if isinstance(message.content, str) else tuple(map(_part, message.content))
        return ModelMessage("user", content, message.source)
    if isinstance(message, AssistantMessage) and isinstance(message.content, str):
        return ModelMessage("assistant", message.content, message.source)
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
