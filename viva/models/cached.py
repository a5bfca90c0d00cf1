"""Reads how many input tokens a provider served from its cache: AutoGen's results do not have this number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from autogen_core.models import ChatCompletionClient

LONGEST_READ = 1_000_000
"""Maximum size of an answer in which the number is looked up, in bytes."""
_SEEN: ContextVar[list[int] | None] = ContextVar("_SEEN", default=None)


def watch(client: ChatCompletionClient) -> None:
    """Have a client that uses the OpenAI SDK report cached tokens to `cached_tokens`; other clients report none."""
    # AutoGen's client holds the SDK's, which holds one of httpx or, since version 3 of the SDK, of httpx2.
    http: Any = getattr(getattr(client, "_client", None), "_client", None)
    hooks = getattr(http, "event_hooks", None)
    if isinstance(hooks, dict):
        http.event_hooks = {**hooks, "response": [*hooks.get("response", []), _note]}


@contextmanager
def cached_tokens() -> Iterator[list[int]]:
    """Collect the number of cached input tokens of each answer that arrives inside the context."""
    seen: list[int] = []
    token = _SEEN.set(seen)
    try:
        yield seen
    finally:
        _SEEN.reset(token)


async def _note(response: Any) -> None:
    # The SDK runs in a task of its own, whose context is a copy of this one: both refer to the same list.
    seen = _SEEN.get()
    if seen is None or not response.is_success or "json" not in response.headers.get("content-type", ""):
        return
    if len(await response.aread()) > LONGEST_READ:
        return
    try:
        cached = response.json()["usage"]["prompt_tokens_details"]["cached_tokens"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return  # not reported
    if type(cached) is int and cached > 0:
        seen.append(cached)
