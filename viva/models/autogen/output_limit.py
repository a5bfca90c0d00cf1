"""Gives AutoGen's clients the maximum number of output tokens: the argument has another name at each provider.

A provider that rejects the name is sent another one, or none; one that rejects the number is asked for fewer tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viva.models.retry import status_of

USUAL, NEWER = "max_tokens", "max_completion_tokens"
"""Most servers know the first; OpenAI's reasoning models accept the second only."""
LEAST_TOKENS = 256
"""Least number of tokens that is asked for; if a provider rejects even so few, no limit is sent."""
REJECTED = frozenset({400, 422})
"""The HTTP statuses with which providers reject an argument."""

_ABOUT_LIMIT = re.compile(
    r"max_\w*tokens|maxOutputTokens|num_predict|completion tokens|in the completion|create args are invalid", re.I
)
_UNKNOWN_NAME = re.compile(
    r"unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|\bextra\b|not permitted|create args are invalid",
    re.I,
)
_OF_PROMPT = re.compile(r"context|in the messages|input|prompt", re.I)


@dataclass(frozen=True, slots=True)
class SentLimit:
    """The limit as one request has it."""

    name: str | None
    """The name of the argument; None if no limit is sent."""
    tokens: int


class OutputLimit:
    """The form in which one client gets the limit, as far as its provider's answers have shown."""

    def __init__(self, provider: str, config: Mapping[str, Any]) -> None:
        """Args:
        provider: The name of AutoGen's class.
        config: Its configuration, which may have a limit of its own.
        """
        while isinstance(config.get("client"), Mapping):  # a client around another, such as a cache
            inner = config["client"]
            provider, config = str(inner.get("provider", "")), inner.get("config") or {}
        openai = "openai" in provider.lower()
        self._options: Mapping[str, Any] = config.get("options") or {}
        self._names: list[str | None] = [USUAL, NEWER, None] if openai else [USUAL, None]
        if "ollama" in provider.lower():
            self._names = ["options", None]
        elif "semantic_kernel" in provider or "SKChat" in provider:
            self._names = [None]  # it takes whole settings instead of arguments
        elif config.get(NEWER):
            self._names = [NEWER, None]
        self.given: int | None = _count(config.get(USUAL) or config.get(NEWER) or self._options.get("num_predict"))
        """The limit in the configuration."""
        self._most: int | None = None
        """The most tokens that the provider accepts, if it has rejected more."""

    def first(self, tokens: int) -> SentLimit:
        """Return the limit of a request."""
        return SentLimit(self._names[0], tokens if self._most is None else min(tokens, self._most))

    def arguments(self, sent: SentLimit) -> dict[str, Any]:
        """Return the limit as arguments of the client."""
        if sent.name is None:
            return {}
        if sent.name == "options":
            return {"options": {**self._options, "num_predict": sent.tokens}}
        return {sent.name: sent.tokens}

    def after(self, error: Exception, sent: SentLimit) -> SentLimit | None:
        """Return the limit to send after a provider rejected one; None if the error has another cause."""
        words = str(error)
        local = status_of(error) is None and isinstance(error, TypeError | ValueError)
        if sent.name is None or not (local or status_of(error) in REJECTED) or not _ABOUT_LIMIT.search(words):
            return None
        if local or _UNKNOWN_NAME.search(words):
            # Another call may have found this out in the meantime.
            if self._names[0] == sent.name:
                self._names.pop(0)
            return SentLimit(self._names[0], sent.tokens)
        fewer = sent.tokens // 2
        if fewer < LEAST_TOKENS:
            return SentLimit(None, sent.tokens)
        if not _OF_PROMPT.search(words):
            # A limit of the model. One that depends on the length of the prompt is found out for each request.
            self._most = min(fewer, self._most or fewer)
        return SentLimit(sent.name, fewer)


def _count(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None
