"""What filters and orders compare of every run of a journal, in columns: some eighty bytes for each run."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from viva.filters.fields import EXCLUDED, FAILED, FIELDS, PASSED, UNFINISHED, FilterContext, Value
from viva.records.quick.records import usage_struct
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import NO_USAGE, StopReason, Usage
from viva.statistics.scores import score_of, scored_passes

_LARGEST_SHORT = 0xFFFF
Test = Callable[[Value], bool]


class DistinctColumn:
    """Values of which many are the same: each distinct one once, and a number of two or four bytes for each run."""

    def __init__(self) -> None:
        self.values: list[Value] = [None]
        self._known: dict[Value, int] = {None: 0}
        self._codes = array("H")

    def put(self, place: int, value: Value) -> None:
        """Set the value of a run; places between are empty."""
        code = self._known.get(value, -1)
        if code < 0:
            code = self._known[value] = len(self.values)
            self.values.append(value)
            if code > _LARGEST_SHORT and self._codes.typecode == "H":
                self._codes = array("I", self._codes)
        codes = self._codes
        if len(codes) == place:  # nearly always
            codes.append(code)
            return
        while len(codes) <= place:
            codes.append(0)
        codes[place] = code

    def at(self, place: int) -> Value:
        """Return the value of a run."""
        return self.values[self._codes[place]]

    def counts(self, most: int) -> Mapping[Value, int]:
        """Return the number of the first runs with each value."""
        return {self.values[code]: number for code, number in Counter(self._codes[:most]).items()}

    def mask(self, test: Test, most: int) -> bytes:
        """Return for each of the first runs whether its value passes a test, which is made once for each value."""
        told = bytes(test(value) for value in self.values)
        return bytes(map(told.__getitem__, self._codes[:most]))


class NumberColumn:
    """Numbers that are nearly all different, in eight bytes for each run."""

    def __init__(self) -> None:
        self._numbers = array("d")

    def put(self, place: int, value: Value) -> None:
        """Set the value of a run; places between are empty."""
        while len(self._numbers) <= place:
            self._numbers.append(math.nan)
        self._numbers[place] = value if isinstance(value, float) else math.nan

    def at(self, place: int) -> Value:
        """Return the value of a run."""
        number = self._numbers[place]
        return None if math.isnan(number) else number

    def mask(self, test: Test, most: int) -> bytes:
        """Return for each of the first runs whether its value passes a test."""
        of_none = test(None)
        return bytes(test(number) if number == number else of_none for number in self._numbers[:most])


Column = DistinctColumn | NumberColumn
_NUMBERS = frozenset({"cost", "tokens", "seconds", "started"})
_NOT_KEPT = frozenset(
    {"run", "passed", "metadata", "row", "hit", "missed", "unsure", "point", "evaluator", "label", "reason"}
)
"""Fields of which the values are derived from others, or are in the journal only."""
_MADE_HERE = frozenset({"status", "cost", "tokens"})
CASE_HASH = "case_hash"
_OF_SETTINGS = ("examiner", "judge", "judge_model")
"""Further parts of settings, by which tables group runs."""

_SETTING = {
    "case": "case",
    "file": "case_file",
    CASE_HASH: "case_hash",
    "agent": "agent",
    "version": "agent_version",
    "persona": "persona",
    "strategy": "strategy",
    "suite": "suite",
    "examiner": "examiner",
    "judge": "judge",
    "judge_model": "judge_model",
}
"""The columns that settings are made of again, and their names there."""


class RunColumns:
    """The values of all runs by field, each under the place of its run."""

    def __init__(self, threshold: float) -> None:
        self._context = FilterContext(threshold)
        self._columns: dict[str, Column] = {
            name: NumberColumn() if name in _NUMBERS else DistinctColumn() for name in FIELDS if name not in _NOT_KEPT
        }
        for name in (CASE_HASH, *_OF_SETTINGS):
            self._columns[name] = DistinctColumn()
        self._has_usage = DistinctColumn()
        self._no_usage = usage_struct()()
        """`NO_USAGE` as the structs from `read_record` have it."""
        self._settings: dict[tuple[str, ...], Setting] = {}
        self._getters = [
            (name, FIELDS[name].get, FIELDS[name].of_result and name != "outcome", column)
            for name, column in self._columns.items()
            if name in FIELDS and name not in _MADE_HERE
        ]

    def _is_nothing(self, usage: Usage) -> bool:
        # Each with its like, because native code compares two structs, but Python a struct with a dataclass.
        return usage == (NO_USAGE if type(usage) is Usage else self._no_usage)

    def put(self, place: int, record: RunRecord) -> None:
        """Set all values of a run.

        Args:
            place: Its place, from 0.
            record: Its record, or what its setting tells.
        """
        ended = record.outcome != UNFINISHED
        for _, get, of_result, column in self._getters:
            column.put(place, get(record, self._context, "") if ended or not of_result else None)
        # Adding takes longer than all of the rest, and most runs have usage in one role, or in two.
        used = [each for each in record.usage.values() if not self._is_nothing(each)]
        usage = sum(used[1:], used[0]) if used else NO_USAGE
        self._columns["status"].put(place, self._status(record) if ended else UNFINISHED.value)
        self._columns["cost"].put(place, float(usage.cost) if ended and usage.cost is not None else None)
        tokens = usage.known_tokens if ended else None
        self._columns["tokens"].put(place, None if tokens is None else float(tokens))
        self._has_usage.put(place, usage.known)
        self._columns[CASE_HASH].put(place, record.setting.case_hash or None)
        for name in _OF_SETTINGS:
            self._columns[name].put(place, getattr(record.setting, name) or None)

    def _status(self, record: RunRecord) -> str:
        scored = score_of(record)
        if scored is None:
            return EXCLUDED
        return PASSED if scored_passes(record, scored, self._context.threshold) else FAILED

    def at(self, name: str, place: int) -> Value:
        """Return the value of a run in a field."""
        return self._columns[name].at(place)

    def light_record(self, run: str, place: int) -> RunRecord:
        """Return the record of a run as far as the columns hold it: without insights, usage and most of its setting.

        Args:
            run: Its id.
            place: Its place.
        """
        value: dict[str, Any] = {name: column.at(place) for name, column in self._columns.items()}
        setting = self._setting(*(value[name] or "" for name in _SETTING))
        return RunRecord(
            run,
            setting.case,
            setting.agent,
            Outcome(value["outcome"] or UNFINISHED.value),
            value["score"],
            low=value["low"],
            points=value["points"],
            error=value["error"],
            agent_version=value["version"],
            trial=1 if value["trial"] is None else int(value["trial"]),
            attempt=1 if value["attempt"] is None else int(value["attempt"]),
            rounds=int(value["rounds"] or 0),
            stop=None if value["stop"] is None else StopReason(value["stop"]),
            tags=value["tag"] or (),
            timing=Timing(started=value["started"] or 0.0, seconds=value["seconds"] or 0.0),
            setting=setting,
        )

    def _setting(self, *parts: str) -> Setting:
        found = self._settings.get(parts)
        if found is None:
            named: dict[str, Any] = dict(zip(_SETTING.values(), parts, strict=True))
            named["agent_version"] = named["agent_version"] or None
            found = self._settings[parts] = Setting(**named)
        return found

    def known_cost(self, place: int) -> float | None:
        """Return the cost of a run as its row shows it; None if nothing was reported."""
        cost = self.at("cost", place)
        return cost if isinstance(cost, float) and self._has_usage.at(place) else None

    def counts(self, name: str, most: int) -> Mapping[Value, int]:
        """Return the number of the first `most` runs with each value of a field."""
        column = self._columns[name]
        return column.counts(most) if isinstance(column, DistinctColumn) else {}

    def mask(self, name: str, test: Test, most: int) -> bytes:
        """Return for each of the first `most` runs whether its value in a field passes a test."""
        if name != "passed":
            return self._columns[name].mask(test, most)
        by_status: Mapping[Value, Value] = {PASSED: True, FAILED: False}
        return self._columns["status"].mask(lambda status: test(by_status.get(status)), most)

    def mask_of_cases(self, test: Callable[[str], bool], most: int) -> bytes:
        """Return for each of the first `most` runs whether its case, by its hash, passes a test."""
        return self._columns[CASE_HASH].mask(lambda found: test(found if isinstance(found, str) else ""), most)


def both(masks: Iterable[bytes]) -> bytes:
    """Return where all masks are 1."""
    return _joined(masks, int.__and__)


def either(masks: Iterable[bytes]) -> bytes:
    """Return where one of the masks is 1."""
    return _joined(masks, int.__or__)


def neither(mask: bytes) -> bytes:
    """Return where a mask is 0."""
    return mask.translate(b"\x01\x00" + bytes(254))


def _joined(masks: Iterable[bytes], join: Callable[[int, int], int]) -> bytes:
    found, *others = masks
    number = int.from_bytes(found, "little")
    for each in others:
        number = join(number, int.from_bytes(each, "little"))
    return number.to_bytes(len(found), "little")
