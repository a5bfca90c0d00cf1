"""Removes secrets from error texts. The replies of an agent are not changed, because they are evidence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
SHORTEST = 6
"""Minimum length of a secret; shorter values occur too often in ordinary words."""

SHORTEST_END = 4
"""Minimum length of what a cut leaves of a secret and is removed; less tells nothing, and occurs by chance."""

_kept: set[str] = set()


def keep_secret(value: str) -> None:
    """Remember a secret that is not in the environment, such as a key in a model's configuration file."""
    if len(value) >= SHORTEST:
        _kept.add(value)


def redact(text: str) -> str:
    """Remove the values of secret environment variables, and the secrets remembered here, from a text."""
    for value, label in _secrets():
        if value in text:
            text = text.replace(value, label)
    return text


def redact_end(text: str, length: int, *, cut: bool = False) -> str:
    """Return the last `length` characters of a text without secrets, and without what a cut has left of one.

    Args:
        text: The text.
        length: The maximum number of characters.
        cut: Whether the beginning of the text is missing already.
    """
    if cut or len(text) > length:
        text = text[-length:]
        left = max((_end_of(value, text) for value, _ in _secrets()), default=0)
        text = text[left:]
    return redact(text)


def _secrets() -> Iterator[tuple[str, str]]:
    """Yield each secret, and what stands for it."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and SECRET_NAMES.search(name):
            yield value, f"[{name}]"
    for value in _kept:
        yield value, "[secret]"


def _end_of(value: str, text: str) -> int:
    """Return how many characters at the beginning of a text are the end of a secret, as after a cut within it."""
    lengths = range(len(value) - 1, SHORTEST_END - 1, -1)
    return next((length for length in lengths if text.startswith(value[-length:])), 0)
