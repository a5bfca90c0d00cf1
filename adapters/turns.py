"""Shares the event loop among conversations whose agents answer at once, and never wait."""

from __future__ import annotations

import asyncio
import time
from weakref import ReferenceType, ref

TURN_SECONDS = 0.01
"""How long all work together may go on in one pass of the loop before each part of it lets the others go first. Timers,
signals and arriving data are looked at once in each pass."""

_turn_ends = 0.0
_asked: ReferenceType[asyncio.AbstractEventLoop] | None = None
"""The loop that will begin a new turn in its next pass; None during a turn."""


def is_turn_over() -> bool:
    """Return whether `give_way` would wait."""
    return time.monotonic() >= _turn_ends


async def give_way() -> None:
    """Let other work of the loop go first if the turn is over. Work that has not waited for anything calls this."""
    global _asked
    if time.monotonic() < _turn_ends:
        return
    loop = asyncio.get_running_loop()
    if _asked is None or _asked() is not loop:
        _asked = ref(loop)
        loop.call_soon(_begin_turn)
    await asyncio.sleep(0)


def _begin_turn() -> None:
    global _turn_ends, _asked
    _turn_ends, _asked = time.monotonic() + TURN_SECONDS, None
