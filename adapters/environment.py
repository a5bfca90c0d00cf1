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
from viva.records.redact import Keys
from viva.records.transcript import ENVIRONMENT, ENVIRONMENT_ID, Step

MOST_STEPS = 5_000
"""Maximum number of steps of one run."""
MOST_BYTES = 6 * 1024 * 1024
"""Maximum size of all steps of one run, in bytes of JSON; what checks are shown has room for all of them."""
MOST_TEXT = 64 * 1024
"""Maximum number of characters of one text; a longer one is cut, with a mark."""
MOST_RESULT = ((7 / 8, 500), (3 / 4, 2 * 1024), (1 / 2, 8 * 1024))
"""Maximum number of characters of a result where more than this share of `MOST_BYTES` is taken: a long run of an honest
agent has room for its last calls. Arguments are not cut earlier than others: they say what was done."""
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

    Code that serves an agent checks `has_room` first, or that `begin` returned a number, and refuses otherwise, so that
    nothing is done that is not recorded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: list[Step] = []
        self._running: dict[int, Step] = {}
        self._count = self._size = self._taken = 0
        self._full = False
        """Whether a step had to be shortened for lack of room."""
        self._ended = False

    def end(self) -> None:
        """Let no further call begin; those that have begun are still recorded."""
        with self._lock:
            self._ended = True

    @property
    def ended(self) -> bool:
        """Return whether no further call may begin because the end has come."""
        with self._lock:
            return self._ended

    @property
    def has_room(self) -> bool:
        """Return whether another step can be recorded: not if there are as many as there may be, or after the end."""
        with self._lock:
            return self._has_room

    @property
    def _has_room(self) -> bool:
        full = self._full or self._count >= MOST_STEPS or self._size + self._reserved >= MOST_BYTES
        return not (full or self._ended)

    @property
    def _reserved(self) -> int:
        return len(self._running) * RESERVED

    def record(self, step: Step) -> str:
        """Add a step, also after the end; return its id, which no step of the agent can have.

        Args:
            step: The step. Its `started` is when it began, so that the order of steps that overlap is known.
        """
        with self._lock:
            number = self._add(step)
        self.finish(number)
        return _id_of(number)

    def begin(self, step: Step) -> int | None:
        """Add a call that is about to begin.

        Returns:
            The number by which `finish` knows it; None if it must not begin: there is no room, or the end has come.
        """
        # Asked and added at once: of a call that begins while the conversation ends, either is seen in time.
        with self._lock:
            return self._add(step) if self._has_room else None

    def _add(self, step: Step) -> int:
        self._count += 1
        self._running[self._count] = step
        return self._count

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
        plain = to_plain(changed(step, id=_id_of(number), recorded_by=ENVIRONMENT))
        # As it will be read from the journal, whatever it holds. Keys are hidden first: a cut could leave part of one.
        step = decode(Step, Keys().hide(plain))
        taken = self._size + self._reserved
        kept = _shortened(step, MOST_TEXT, _most_result(taken))
        size = _size(kept)
        if taken + size > MOST_BYTES:
            kept = _shortened(step, LAST_TEXT, LAST_TEXT)
            size, self._full = _size(kept), True
        self._size += size
        self._new.append(kept)


def _id_of(number: int) -> str:
    return f"{ENVIRONMENT_ID}{number}"


def _most_result(taken: int) -> int:
    return next((most for share, most in MOST_RESULT if taken > share * MOST_BYTES), MOST_TEXT)


def _shortened(step: Step, most: int, most_result: int) -> Step:
    return changed(
        step,
        tool=_cut(step.tool, min(most, MOST_NAME)),
        tool_input=_cut_data(step.tool_input, most),
        result=_cut(step.result, most_result),
        error=_cut(step.error, most),
        attributes={name: _cut_data(value, most) for name, value in step.attributes.items()},
    )


def _cut_data(value: Any, most: int) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= most else _cut(text, most)


def _size(step: Step) -> int:
    return len(json.dumps(to_plain(step)))


def _cut(text: str | None, most: int) -> str | None:
    if text is None or len(text) <= most:
        return text
    head, tail = most * 3 // 4, most // 4
    return f"{text[:head]}[… {len(text) - head - tail:,} characters left out …]{text[-tail:]}"
