"""Tells of all runs of a journal which of them a filter expression keeps, by columns, and by records where it must."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viva.filters.expression import And, Comparison, Expression, Not, comparisons
from viva.filters.fields import FIELDS, UNFINISHED, FilterContext
from viva.filters.matching import matcher, value_test
from viva.filters.stored_cases import StoredCases
from viva.journal.lines import parse, sealed_data
from viva.journal.long_texts import restore_texts
from viva.records.codec import decode
from viva.records.quick.records import read_record
from viva.records.run_record import RunRecord, Setting, as_earned
from viva.viewer.columns import RunColumns, both, either, neither
from viva.viewer.places import NOWHERE, JournalPlaces

OF_VERDICTS = frozenset({"hit", "missed", "unsure", "point", "evaluator", "label", "reason"})
"""The fields that only whole records have, which are read again for each filter."""
_OF_CASES = frozenset({"metadata", "row"})


@dataclass(slots=True)
class RunMasks:
    """Masks of the first runs of a journal: a byte for each run, which is 1 if the run is kept."""

    folder: Path
    columns: RunColumns
    places: JournalPlaces
    number: int
    """Number of runs."""

    def of(self, expression: Expression) -> bytes:
        """Return the mask of an expression.

        Raises:
            JournalError: the journal cannot be read.
        """
        whole = [each for each in comparisons(expression) if each.name in OF_VERDICTS]
        return self._joined(expression, self._by_records(whole) if whole else {})

    def _joined(self, expression: Expression, known: dict[int, bytes]) -> bytes:
        if isinstance(expression, Comparison):
            return known[id(expression)] if id(expression) in known else self._by_columns(expression)
        if isinstance(expression, Not):
            return neither(self._joined(expression.part, known))
        parts = [self._joined(part, known) for part in expression.parts]
        return both(parts) if isinstance(expression, And) else either(parts)

    def _by_columns(self, comparison: Comparison) -> bytes:
        test = value_test(comparison)
        if comparison.name == "run":
            return bytes(test(each) for each in self.places.runs.ids[: self.number])
        if comparison.name in _OF_CASES:
            return self.columns.mask_of_cases(self._of_case(comparison, test), self.number)
        return self.columns.mask(comparison.name, test, self.number)

    def _of_case(self, comparison: Comparison, test: Callable[[Any], bool]) -> Callable[[str], bool]:
        context = FilterContext(case_of=StoredCases(self.folder))
        get, key = FIELDS[comparison.name].get, comparison.key or ""

        def passes(case_hash: str) -> bool:
            record = RunRecord("", "", "", UNFINISHED, None, setting=Setting(case_hash=case_hash))
            return test(get(record, context, key))

        return passes

    def _by_records(self, wanted: list[Comparison]) -> dict[int, bytes]:
        """Return the masks of comparisons about verdicts, by their identity, in one pass over the records."""
        tests = [(id(each), matcher(each, FilterContext()), value_test(each)(None)) for each in wanted]
        found = {name: bytearray([of_none]) * self.number for name, _, of_none in tests}
        runs = self.places.runs
        ended = [each for each in range(self.number) if runs.record_at(each) != NOWHERE]
        for position, line in zip(ended, self.places.read(runs.record_at(each) for each in ended), strict=False):
            record = record_in(self.folder, line)
            if record is not None:
                for name, matches, _ in tests:
                    found[name][position] = matches(record)
        return {name: bytes(mask) for name, mask in found.items()}


def record_in(folder: Path, line: bytes) -> RunRecord | None:
    """Return the record in a line of a journal, whole; None if the line holds none."""
    data = sealed_data(line)
    if data is not None and (found := read_record(data)) is not None:
        return as_earned(found)
    event = parse(line)
    if event is None:
        return None
    with suppress(ValueError):
        return as_earned(decode(RunRecord, restore_texts(folder, event.data)))
    return None
