"""Keeps secrets out of error texts. What an agent says as its answer is not touched: that is evidence."""

from __future__ import annotations

import os
import re

SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
SHORTEST = 6
"""Shorter values stand in ordinary words too often to be told apart."""

_kept: set[str] = set()


def keep_secret(value: str) -> None:
    """Remember a secret that is not in the environment: a key that stands in a model's configuration file."""
    if len(value) >= SHORTEST:
        _kept.add(value)


def redact(text: str) -> str:
    """Take the values of secret environment variables, and of secrets kept here, out of a text."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and SECRET_NAMES.search(name) and value in text:
            text = text.replace(value, f"[{name}]")
    for value in _kept:
        text = text.replace(value, "[secret]")
    return text
