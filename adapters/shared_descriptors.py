"""Finds out whose fault it is when Viva's process, which in-process agents share, has no more file descriptors."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from typing import Any
from weakref import WeakSet, ref

from viva.adapters.machine import are_descriptors_free
from viva.errors import AgentError, DescriptorsGone

LET_GO_TRIES = 20

_FOREIGN: WeakSet[Any] = WeakSet()
"""Factories of users' in-process agents, which share Viva's file descriptors."""


_noted: Any = None
"""The factory that was noted last; most suites have one."""


def note_foreign(factory: Any) -> None:
    """Remember the factory of a user's in-process agent."""
    global _noted
    found = None if _noted is None else _noted()
    if found is not factory:
        with contextlib.suppress(TypeError):  # what cannot be referred to weakly
            _FOREIGN.add(factory)
            _noted = ref(factory)


def is_foreign(factory: Any) -> bool:
    """Return whether a class or function is not one of Viva's connectors."""
    return not (getattr(factory, "__module__", None) or "").startswith("viva.adapters.connectors.")


async def let_go() -> None:
    """Free what a failed call opened, if nobody keeps it."""
    for _ in range(LET_GO_TRIES):
        # The loop and the agent's thread hold the call's error for a moment, and it holds the frames it was raised in.
        await asyncio.sleep(0.01)
        gc.collect()
        if are_descriptors_free():
            break


def blame(words: str) -> AgentError | DescriptorsGone:
    """Return the error for exhausted file descriptors, after the agent that hit the limit was closed.

    It is the agent's if they are free again, or if nobody else's code runs here that could have taken them.

    Args:
        words: The agent's own error.
    """
    if are_descriptors_free() or len(_FOREIGN) == 1:
        return AgentError(f"{words}: it used up the descriptors of Viva's process (--isolate gives it its own)")
    return DescriptorsGone("Viva has no more file descriptors (ulimit -n), and several agents run in its process")
