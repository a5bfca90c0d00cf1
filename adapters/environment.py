"""Keeps the steps that the harness itself saw during a run, until the conversation puts them into a round.

Environment steps are made nowhere else: `contract.as_reply` resets whatever an agent returns.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

from viva.records.codec import decode, to_plain
from viva.records.copies import changed
from viva.records.transcript import ENVIRONMENT, ENVIRONMENT_ID, Step

MOST_STEPS = 5_000
"""Maximum number of steps of one run."""
MOST_BYTES = 6 * 1024 * 1024
"""Maximum size of all steps of one run, in bytes of JSON; what checks are shown has room for all of them."""
MOST_TEXT = 64 * 1024
"""Maximum number of characters of one text; a longer one is cut, with a mark."""
MOST_NAME = 1_000
"""Maximum number of characters of a tool's name, which an agent may invent."""
LAST_TEXT = 200
"""Maximum number of characters of a text where there is no more room, because many calls ended at the same time."""
RESERVED = 4 * 1024
"""Number of bytes that are kept free for each call that goes on: what its step takes at least."""
SETTLE_SECONDS = 2.0
"""Maximum time for which a round waits for calls that are still going on when the agent has replied."""
STILL_RUNNING = "it had not returned when the agent's turn ended"


class EnvironmentLog:
    """The steps of one run that the harness saw itself. Any thread may add one.

    Code that serves an agent checks `has_room` first and refuses if there is none, so that
    nothing is done that is not recorded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: list[Step] = []
        self._running: dict[int, Step] = {}
        self._count = self._size = self._taken = 0
        self._full = False
        """Whether a step had to be shortened for lack of room."""

    @property
    def has_room(self) -> bool:
        """Return whether another step can be recorded."""
        with self._lock:
            return not self._full and self._count < MOST_STEPS and self._size + self._reserved < MOST_BYTES

    @property
    def _reserved(self) -> int:
        return len(self._running) * RESERVED

    def record(self, step: Step) -> None:
        """Add a step; its id is replaced by one that no step of the agent can have.

        Args:
            step: The step. Its `started` is when it began, so that the order of steps that overlap is known.
        """
        self.finish(self.begin(step))

    def begin(self, step: Step) -> int:
        """Add a call that has begun, and return the number by which `finish` knows it."""
        with self._lock:
            self._count += 1
            number = self._count
            self._running[number] = step
        return number

    def finish(self, number: int, **outcome: Any) -> None:
        """Say how a call ended; nothing changes if its round is already over.

        Args:
            number: The number from `begin`.
            outcome: Fields of the step that are known now, such as `result`, `error` and `seconds`.
        """
        with self._lock:  # until it is among the new ones: `take` must find it in one of the two places
            step = self._running.pop(number, None)
            if step is not None:
                self._keep(number, changed(step, **outcome))

    async def take(self) -> tuple[Step, ...]:
        """Return the steps since the last call, ordered by their start; calls in progress are awaited briefly."""
        if self._taken == self._count:  # in most exams, every round
            return ()
        until = time.monotonic() + SETTLE_SECONDS
        while self._running and time.monotonic() < until:  # noqa: ASYNC110 (they end in another thread)
            await asyncio.sleep(0.005)
        return self.take_now()

    def take_now(self) -> tuple[Step, ...]:
        """Return the same without waiting; calls in progress end here, as far as the transcript is concerned."""
        for number in tuple(self._running):
            self.finish(number, error=STILL_RUNNING)
        with self._lock:
            taken, self._new = self._new, []
            self._taken += len(taken)
        return tuple(sorted(taken, key=lambda step: step.started or 0.0)) if taken else ()

    def _keep(self, number: int, step: Step) -> None:
        # As it will be read from the journal, whatever it holds.
        step = decode(Step, to_plain(changed(step, id=f"{ENVIRONMENT_ID}{number}", recorded_by=ENVIRONMENT)))
        whole, short = _shortened(step, MOST_TEXT), _shortened(step, LAST_TEXT)
        size = _size(whole)
        if self._size + self._reserved + size > MOST_BYTES:
            whole, size, self._full = short, _size(short), True
        self._size += size
        self._new.append(whole)


def _shortened(step: Step, most: int) -> Step:
    given = step.tool_input if isinstance(step.tool_input, str) else json.dumps(step.tool_input, ensure_ascii=False)
    return changed(
        step,
        tool=_cut(step.tool, min(most, MOST_NAME)),
        tool_input=step.tool_input if len(given) <= most else _cut(given, most),
        result=_cut(step.result, most),
        error=_cut(step.error, most),
    )


def _size(step: Step) -> int:
    return len(json.dumps(to_plain(step)))


def _cut(text: str | None, most: int) -> str | None:
    if text is None or len(text) <= most:
        return text
    head, tail = most * 3 // 4, most // 4
    return f"{text[:head]}[… {len(text) - head - tail:,} characters left out …]{text[-tail:]}"
