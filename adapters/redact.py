"""Removes secrets from error texts. The replies of an agent are not changed, because they are evidence."""

from __future__ import annotations

import os
import re

SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
SHORTEST = 6
"""Minimum length of a secret; shorter values occur too often in ordinary words."""

_kept: set[str] = set()


def keep_secret(value: str) -> None:
    """Remember a secret that is not in the environment, such as a key in a model's configuration file."""
    if len(value) >= SHORTEST:
        _kept.add(value)


def redact(text: str) -> str:
    """Remove the values of secret environment variables, and the secrets remembered here, from a text."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and SECRET_NAMES.search(name) and value in text:
            text = text.replace(value, f"[{name}]")
    for value in _kept:
        text = text.replace(value, "[secret]")
    return text
