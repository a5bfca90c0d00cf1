"""Waits between attempts at what may succeed the next time: a run, and the judging of a conversation."""

from __future__ import annotations

import asyncio
import random

LONGEST_PAUSE = 20.0
"""Maximum number of seconds between two attempts, before the jitter of up to a second."""
FIRST_PAUSE = 0.2


async def wait_before(attempt: int, longest_pause: float = LONGEST_PAUSE) -> None:
    """Wait before a further attempt: not before the second, and before each later one twice as long as before.

    Args:
        attempt: The number of the attempt, counted from 1.
        longest_pause: Maximum number of seconds to wait, before the jitter.
    """
    if attempt > 2:
        # The jitter keeps runs that failed together from being repeated together.
        pause = min(FIRST_PAUSE * 2 ** (attempt - 3), longest_pause)
        await asyncio.sleep(pause + random.uniform(0, 1))  # noqa: S311
