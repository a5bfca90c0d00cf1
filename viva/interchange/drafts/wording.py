"""Values of a source as text, and what the speakers of a conversation are called in sources."""

from __future__ import annotations

import json

ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "agent", "ai", "model", "bot"), "agent"),
    **dict.fromkeys(("system", "developer"), "system"),
}
"""Who speaks, by the names that sources have for them."""


def as_text(value: object) -> str:
    """Return a value as the user would say it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
