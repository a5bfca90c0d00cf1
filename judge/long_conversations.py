"""Shortens a conversation that is too long for a sandbox for its checks: first the steps, then what was said.

Environment steps stay whole: their size is limited where they are recorded, and an agent that floods a check
with steps of its own must not hide what it called.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from viva.records.codec import to_plain
from viva.records.transcript import Round, Step

MOST_BYTES = 16 * 1024 * 1024
"""Maximum size of a conversation in a sandbox, as JSON."""
LONGEST, SHORTEST = 4 * 1024 * 1024, 256
"""The range in which the limit of one text is searched, in bytes of JSON."""
LEAST_OF_STEPS = 1024
"""Minimum limit of one text in a step; below it, the steps are left out."""
MARK = 100
"""Maximum size of the marker in a shortened text that says how much was left out, in bytes."""
PART = 65_536
WORST = 12
"""Maximum number of bytes of JSON for one character: a pair of surrogates, each as `\\uXXXX`."""
NODE = 40
"""Approximate size of a field, a step or a list without its texts, in bytes."""
_STEP_TEXTS = ("id", "agent", "observation", "thought", "plan", "tool", "result", "error", "model", "parent_id")


@dataclass(frozen=True, slots=True)
class Cut:
    """How a conversation is shortened to fit."""

    said: int | None = None
    """Maximum size of what was said in a turn, in bytes of JSON; None means that it is not shortened."""
    of_steps: int | None = None
    """The same for each text in a step."""
    steps: bool = True
    """Whether the agent's own steps are shown; those of the environment always are."""

    @property
    def what(self) -> str | None:
        """Return what is shortened: `words` (which takes precedence), `steps`, or None."""
        if self.said is not None:
            return "words"
        return "steps" if self.of_steps is not None or not self.steps else None

    def words(self, text: str) -> str:
        """Return what was said in a turn, or its beginning and end."""
        return _shortened(text, self.said)

    def shown_steps(self, steps: Sequence[Step]) -> list[Any]:
        """Return the steps as plain data."""
        return [
            to_plain(step) if self.of_steps is None or step.from_environment else self._value(to_plain(step))
            for step in steps
            if self.steps or step.from_environment
        ]

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return _shortened(value, self.of_steps)
        if isinstance(value, dict):
            return {_shortened(key, self.of_steps): self._value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return value


WHOLE = Cut()


def cut_to_fit(rounds: Sequence[Round], most: int = MOST_BYTES) -> Cut:
    """Return how to shorten these rounds to at most `most` bytes; they are not shortened if they fit.

    The texts of the agent's steps are shortened first. If that is not enough, all its steps are left out, and finally
    what was said is shortened.
    """
    if sum(_roughly(round_) for round_ in rounds) <= most:
        return WHOLE
    said = Counter(_json_size(text) for each in rounds for text in (each.examiner, each.agent, each.error) if text)
    seen = (step for round_ in rounds for step in round_.steps if step.from_environment)
    room = most - 4 * NODE * len(rounds) - sum(len(json.dumps(to_plain(step))) for step in seen)
    # What was said counts twice, because it is in the history and in the rounds.
    left = room - 2 * sum(size * times for size, times in said.items())
    if left >= 0:
        return _cut_steps(rounds, left)
    return next(
        (Cut(limit, steps=False) for limit in _limits(SHORTEST) if 2 * _cut_size(said, limit) <= room),
        Cut(SHORTEST, steps=False),
    )


def _cut_steps(rounds: Sequence[Round], left: int) -> Cut:
    """Return how to shorten the agent's steps to at most `left` bytes."""
    sizes: Counter[int] = Counter()
    """The number of texts of each size in bytes; there may be millions of short texts."""
    for step in (step for round_ in rounds for step in round_.steps if not step.from_environment):
        left -= 2 * NODE
        for text in _texts(to_plain(step)):
            sizes[_json_size(text)] += 1
            left -= NODE
        if left < 0:
            return Cut(steps=False)
    if sum(size * times for size, times in sizes.items()) <= left:
        return WHOLE
    limits = (limit for limit in _limits(LEAST_OF_STEPS) if _cut_size(sizes, limit) <= left)
    return next((Cut(of_steps=limit) for limit in limits), Cut(steps=False))


def _limits(least: int) -> Iterator[int]:
    limit = LONGEST
    while limit >= least:
        yield limit
        limit //= 2


def _cut_size(sizes: Counter[int], limit: int) -> int:
    """Return the total size of texts after they are shortened, in bytes."""
    return sum(times * min(size, limit + MARK) for size, times in sizes.items())


def _shortened(text: str, limit: int | None) -> str:
    # Most texts are so short that measuring them is unnecessary.
    if limit is None or len(text) * WORST <= limit or (size := _json_size(text)) <= limit:
        return text
    most = limit // (1 if size == len(text) + 2 else WORST)
    head, tail = most * 3 // 4, most // 4
    return f"{text[:head]}[… {len(text) - head - tail:,} characters left out …]{text[len(text) - tail :]}"


def _roughly(round_: Round) -> int:
    """Return an upper bound of a round's size in bytes of JSON, without writing the JSON."""
    said = sum(len(text) for text in (round_.examiner, round_.agent, round_.error) if text)
    length = 2 * said * WORST + 4 * NODE
    for step in round_.steps:
        length += sum(len(text) for name in _STEP_TEXTS if isinstance(text := getattr(step, name), str)) * WORST
        length += _roughly_any(step.tool_input) + _roughly_any(step.attributes) + 16 * NODE
        length += sum(map(len, step.images)) * WORST
    return length


def _roughly_any(value: Any, depth: int = 0) -> int:
    if isinstance(value, str):
        return len(value) * WORST + 2
    if depth > 50:
        return MOST_BYTES
    if isinstance(value, dict):
        return NODE + sum(_roughly_any(str(key)) + _roughly_any(item, depth + 1) for key, item in value.items())
    if isinstance(value, list | tuple):
        return NODE + sum(_roughly_any(item, depth + 1) for item in value)
    return 2 * NODE if value is None or isinstance(value, bool | int | float) else MOST_BYTES


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in plain data, and an empty text for any other value, which is no larger than a field."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield value if isinstance(value, str) else str(value) if _is_long(value) else ""


def _is_long(value: Any) -> bool:
    return type(value) is int and abs(value) > 10**NODE


def _json_size(text: str) -> int:
    """Return the size of a text as JSON in bytes, measured in parts to avoid up to twelve times the memory."""
    if len(text) <= PART:
        return len(json.dumps(text))
    return 2 + sum(len(json.dumps(text[at : at + PART])) - 2 for at in range(0, len(text), PART))
