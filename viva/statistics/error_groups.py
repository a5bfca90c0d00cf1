"""Why runs went wrong: the distinct errors of a stream of records, each with one run to look at."""

from __future__ import annotations

import re
from dataclasses import dataclass

from viva.records.run_record import Outcome, RunRecord
from viva.records.text import exact_line

WORDS = 400
"""Characters of one error."""
# Errors that differ in a count, a duration or an address are one error.
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(slots=True, kw_only=True)
class ErrorGroup:
    """Holds one error, however often it occurred."""

    outcome: Outcome
    words: str
    """The words of the first run, on one line, with marks for white space (`viva.records.text.exact_line`)."""
    run: str
    """Id of the first run."""
    runs: int = 0


class ErrorGroups:
    """Collects the errors of records."""

    def __init__(self) -> None:
        self._found: dict[tuple[Outcome, str], ErrorGroup] = {}

    def add(self, record: RunRecord) -> None:
        """Add one run; most have no error."""
        if not record.error:
            return
        words = exact_line(record.error, WORDS)
        key = record.outcome, _NUMBER.sub("0", words)
        if key not in self._found:
            self._found[key] = ErrorGroup(outcome=record.outcome, words=words, run=record.id)
        self._found[key].runs += 1

    def worst(self) -> list[ErrorGroup]:
        """Sort the errors: first what kept runs out of the averages, then what occurred most often."""
        return sorted(self._found.values(), key=lambda group: (group.outcome.counts, -group.runs))
