"""Takes an agent SPEC apart, without importing anything and without looking whether it exists."""

from __future__ import annotations

import re

from adapters.errors import SetupError
from records.text import one_line

FORMS = (
    "package.module:Class, path/to/file.py:Class, either with @/path/to/venv behind it, http(s)://host/v1#model, "
    "replay:JOURNAL, or example:NAME"
)
"""What an agent SPEC may be, beside what plugins add."""
LONGEST_LABEL = 24
CHILD = re.compile(r"(?P<module>.+):(?P<name>[^\W\d]\w*)@(?P<python>.+)", re.DOTALL)
"""A class, and the environment in which it runs."""
OWN_CONNECTOR = re.compile(r"(?P<part>[^:]+:[^\W\d]\w*):.*", re.DOTALL)
"""A connector named by import string, and what it is to connect to."""


def class_of(spec: str) -> tuple[str, str]:
    """Module or file, and the class in it, which is empty where a file stands alone.

    Raises:
        SetupError: it is not a SPEC.
    """
    module, colon, name = spec.rpartition(":")
    if not colon and spec.endswith(".py"):
        module, name = spec, ""
    if not module:
        raise SetupError(f"{spec!r} is not an agent SPEC; it takes {FORMS}.")
    return module, name


def agent_label(spec: str) -> str:
    """Shorten a SPEC for a column of a report: the class, the model, the example, or the journal of a replay."""
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
