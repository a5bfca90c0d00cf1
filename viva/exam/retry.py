"""Retries what may succeed the next time: attempts at a run, and judging of a conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import tenacity

T = TypeVar("T")

LONGEST_PAUSE = 20.0
"""Maximum number of seconds between two attempts, before the jitter of up to a second."""


async def retried(
    attempt: Callable[[], Awaitable[T]],
    again: Callable[[T], bool],
    attempts: int,
    longest_pause: float = LONGEST_PAUSE,
) -> T:
    """Call `attempt` until `again` returns false for its result, or `attempts` times, and return the last result.

    Args:
        attempt: Does the work. Its exceptions are not caught.
        again: Tells whether a further attempt may improve a result.
        attempts: Maximum number of calls; at least one is made.
        longest_pause: Maximum number of seconds between two attempts.
    """
    result = await attempt()
    # The first attempt has no overhead: nearly all succeed.
    if attempts <= 1 or not again(result):
        return result
    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_result(again),
        stop=tenacity.stop_after_attempt(attempts - 1),
        wait=tenacity.wait_exponential(0.2, longest_pause) + tenacity.wait_random(0, 1),
        retry_error_callback=_last_result,
    )
    return await retrying(attempt)


def _last_result(state: tenacity.RetryCallState) -> T:  # type: ignore[type-var]
    assert state.outcome is not None
    return state.outcome.result()  # type: ignore[no-any-return]
