"""Asks the user of an agent whether a tool may be called, and reads the answer."""

from __future__ import annotations

import re
from typing import Any

from .wrapper import as_text

_YES = re.compile(
    r"\W*(?:y|yes|yeah|yep|ok|okay|sure|approved?|i approve|allow(?:ed)?|confirm(?:ed)?|go ahead|do it|please do)\b",
    re.IGNORECASE,
)
_LONGEST = 2000


def question(tool: str, arguments: Any) -> str:
    """Return what the user is asked."""
    given = as_text(arguments)
    shown = given if len(given) <= _LONGEST else given[:_LONGEST] + "…"
    return f"May I call the tool {tool} with {shown}? Please answer yes or no."


def is_yes(answer: str) -> bool:
    """Return whether an answer begins with words of approval; anything else is a refusal."""
    return _YES.match(answer) is not None
