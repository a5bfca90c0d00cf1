"""The keys of a section of `viva.yaml`. They are derived from the options that a command declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Takes(Enum):
    """What a key takes in YAML, before the option itself checks it."""

    FLAG = "true or false"
    WHOLE = "a whole number"
    NUMBER = "a number"
    SECONDS = "a number of seconds, or text such as 90s, 5m or 1h"
    TEXT = "text"
    ENTRY = "text, a number, or a mapping"
    """A value that may have a name before it: `0.9`, `EVALUATOR=0.9`, or in YAML `{EVALUATOR: 0.9}`."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key, and the option that it stands for."""

    name: str
    """The option without its dashes, with underscores: `fail_under`."""
    parameter: str
    """The name of the command's parameter."""
    flag: str
    """`--fail-under`."""
    takes: Takes
    several: bool
    """Whether the option can be repeated: the key then takes a list, too."""
    convert: Callable[[object], Any]
    """Returns the value as the command receives it; raises ValueError, with a message, for one that it refuses."""


Keys = Mapping[str, Key]
"""By name."""
