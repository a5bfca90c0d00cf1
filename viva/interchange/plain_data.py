"""Plain data of parsers of the standard library, within the limits of an import."""

from __future__ import annotations

import json
from typing import Any

from viva.interchange.parsing import parse


def plain_data(value: Any, name: str) -> Any:
    """Return a value as JSON would hold it; dates and times become text.

    Args:
        value: Mappings, lists and scalars.
        name: Of the file, for messages.

    Raises:
        SetupError: it exceeds a limit.
    """
    return parse(json.dumps(value, default=str).encode(), ".json", name)
