"""Parses agent SPECs without importing anything, and without checking whether the parts exist."""

from __future__ import annotations

import re

from viva.errors import SetupError
from viva.records.text import one_line

FORMS = (
    "package.module:Class, path/to/file.py:Class, either one followed by @/path/to/venv, http(s)://host/v1#model, "
    "replay:JOURNAL, or example:NAME"
)
"""The forms of an agent SPEC, besides those that plugins add."""
LONGEST_LABEL = 24
CHILD = re.compile(r"(?P<module>.+):(?P<name>[^\W\d]\w*)@(?P<python>.+)", re.DOTALL)
"""A class, and the environment in which it runs."""
OWN_CONNECTOR = re.compile(r"(?P<part>[^:]+:[^\W\d]\w*):.*", re.DOTALL)
"""A connector named by import string, and the rest of the SPEC."""


def class_of(spec: str) -> tuple[str, str]:
    """Return the module or file and the class of a SPEC; the class is empty if the SPEC is only a file.

    Raises:
        SetupError: the text is not a SPEC.
    """
    module, colon, name = spec.rpartition(":")
    if not colon and spec.endswith(".py"):
        module, name = spec, ""
    if not module:
        raise SetupError(f"{spec!r} is not an agent SPEC. Use {FORMS}.")
    return module, name


def agent_label(spec: str) -> str:
    """Return a short form of a SPEC for reports: the class, the model, the example, or the journal of a replay."""
    scheme, _, rest = spec.partition(":")
    if scheme in ("http", "https"):
        address, _, model = rest.partition("#")
        label = model or address.strip("/")
    elif scheme == "replay":
        journal, _, run = rest.rpartition("#")
        label = f"replay:{run if journal else rest.rstrip('/').rpartition('/')[2]}"
    elif match := CHILD.fullmatch(spec):
        label = match["name"]
    else:
        module, _, name = spec.rpartition(":")
        label = name or module
    return one_line(label or spec, LONGEST_LABEL)
