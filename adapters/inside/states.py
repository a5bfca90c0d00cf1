"""The rules for what an agent's `save_state` returns, the same in Viva's process and in the agent's own.

It uses only the standard library of Python 3.8 or newer.
"""

from __future__ import annotations

import json
from typing import Any

STATE_LIMIT = 4 * 1024 * 1024
"""Maximum size of a state in bytes of JSON: one is kept of each round."""
MOST_LEVELS = 90
"""Maximum depth of nested lists and objects."""

MOST_VALUES = 100_000
"""Maximum number of commas and brackets: the limit of `viva/records/bounded_json.py`, which reads a state again."""

_dumps = json.dumps  # bound before the agent's code can replace it


class UnfitState(Exception):
    """A state cannot be stored; the message says why, and names the method."""


def offers_state(agent: Any) -> bool:
    """Return whether an agent tells its state. Checks of the state need no more; a fork needs `load_state`, too."""
    return callable(getattr(agent, "save_state", None))


def state_text(state: Any) -> str:
    """Return a state as JSON.

    Raises:
        UnfitState: it is not plain JSON, is nested too deeply or is too large.
    """
    try:
        _check(state)
        text = _dumps(state, allow_nan=False)
    except UnfitState:
        raise
    except Exception as error:
        raise UnfitState(f"save_state returned something that is not JSON: {str(error)[:300]}") from error
    if len(text) > STATE_LIMIT:
        raise UnfitState(f"save_state returned {len(text):,} bytes of JSON, beyond the limit of {STATE_LIMIT:,}")
    return text


def _check(state: Any) -> None:
    """Check that reading the JSON again gives the same: Python turns keys that are not text into text."""
    level: list[Any] = [state]
    values = 0
    for _ in range(MOST_LEVELS):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, (dict, list, tuple)):
                values += max(1, len(value))
            if values > MOST_VALUES:
                raise UnfitState(f"save_state returned more than {MOST_VALUES:,} values")
            if isinstance(value, dict):
                for key in value:
                    if not isinstance(key, str):
                        raise UnfitState(f"save_state returned an object with a key that is not text: {key!r:.80}")
                inner.extend(value.values())
            elif isinstance(value, (list, tuple)):
                inner.extend(value)
        if not inner:
            return
        level = inner
    raise UnfitState(f"save_state returned something that is nested more than {MOST_LEVELS} levels deep")
