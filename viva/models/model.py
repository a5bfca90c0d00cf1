"""What judges, examiner and analyst need of a language model: one method, and the plain data that it takes and returns.

Anything with this method can examine and judge. `viva.models.autogen` has the clients of AutoGen, `ModelClient` adds
retries, limits and prices to any model, and `MeteredModel` a counter.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel

from viva.records.transcript import NO_USAGE, Usage

FinishReason = Literal["stop", "length", "content_filter", "tool_calls", "unknown"]
"""Why an answer ended; only `stop` and `unknown` are whole answers in words."""


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A PNG or JPEG file in a message, which is sent byte for byte."""

    content: bytes

    @property
    def url(self) -> str:
        """Return the file as a `data:` URL (RFC 2397)."""
        kind = "jpeg" if self.content.startswith(b"\xff\xd8\xff") else "png"
        return f"data:image/{kind};base64,{base64.b64encode(self.content).decode()}"


Content = str | tuple[str | PictureFile, ...]
"""Text, or texts and pictures in the order in which they are read."""


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One message to a model, or one of its own earlier answers."""

    role: Literal["system", "user", "assistant"]
    content: Content
    name: str = ""
    """Who speaks, for providers that are told; empty for the name of the role."""


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of one call; None leaves a limit to the model and to its client."""

    output_tokens: int | None = None
    """Maximum number of tokens of the answer. A provider that accepts fewer is asked for fewer."""
    seconds: float | None = None
    """Maximum time until the answer is complete, with all retries."""
    attempt_seconds: float | None = None
    """Maximum time of one attempt, from the request to the last byte."""
    thinking_tokens: int = 0
    """Tokens on top of `output_tokens` for a model that was cut off while it reasoned."""


NO_LIMITS = CallLimits()


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer of a model."""

    text: str
    value: BaseModel | None = None
    """The validated object, if a schema was given and the model follows schemas; else only the text is there."""
    usage: Usage = NO_USAGE
    """What the call used, including attempts that failed."""
    finish: FinishReason = "stop"
    reasoned: bool = False
    """Whether the model reasoned before it answered, as far as the provider says; an answer that was cut off before its
    first word counts as well."""


@dataclass(frozen=True, slots=True)
class ModelFeatures:
    """What a model accepts, as far as that is known in advance."""

    vision: bool = True
    """Whether it accepts pictures."""
    structured: bool = True
    """Whether it accepts a schema for its answers."""
    output_tokens: int | None = None
    """The maximum number of tokens of an answer that its own configuration sets."""


class Model(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """Return the name by which records and price lists know it."""

    @property
    def features(self) -> ModelFeatures:
        """Return what it accepts."""

    async def ask(
        self, messages: Sequence[ModelMessage], schema: type[BaseModel] | None = None, limits: CallLimits = NO_LIMITS
    ) -> Completion:
        """Return the answer to a conversation.

        Args:
            messages: The conversation so far; the last message is the question.
            schema: The form of the answer. A model that does not follow schemas answers in text.
            limits: The limits of this call.

        Raises:
            ModelError: the provider failed after retries, or refused.
            ModelAnswerError: the answer is not usable; `SchemaError` if it does not match the schema.
            SharedSetupError: the key, the address or the model's name is wrong.
        """
