"""`ObservedReply`: a reply whose steps and usage are in the events of a session, which Viva's own process reads.

`adapters/observed.py` reads them. The agent's process may have no more of Viva than this folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ObservedReply:
    """What an agent said, and the events that its session reported meanwhile."""

    text: str
    stream: str
    """The kind of events: `copilot`."""
    events: tuple[Any, ...]
    number: int
    """Which message of the run this answers, from 1; ids of steps begin with it."""
