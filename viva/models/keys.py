"""Checks API keys before the first request: a key that no header can hold would be printed whole by the error."""

from __future__ import annotations

import os

from viva.errors import SetupError


def checked_key(variable: str) -> str | None:
    """Return the key in an environment variable; None if it is not set, or empty.

    Raises:
        SetupError: the key cannot be sent. The message names the variable, and does not contain the key.
    """
    key = os.environ.get(variable)
    if not key:
        return None
    check_key(key, variable)
    return key


def check_key(key: str, where: str) -> None:
    """Check that a key can be sent as a part of a header, and is what the provider gave.

    Args:
        key: The key.
        where: The name of the variable, or the place in a file.

    Raises:
        SetupError: it has white space around it or line breaks in it, or contains other characters than ASCII.
    """
    if key != key.strip():
        raise SetupError(
            f"{where} begins or ends with white space, often a line break from a pasted secret. Remove it: "
            "the key must be the provider's alone."
        )
    if not (key.isascii() and key.isprintable()):
        raise SetupError(f"{where} contains a line break or another character that no API key has.")
