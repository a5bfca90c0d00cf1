"""Groups what runs missed by its statement, and identical reasons within each, for a page with failures first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from viva.judge.trajectory import SKIPPED
from viva.records.run_record import RunRecord
from viva.records.text import one_line, printable
from viva.reports.facts import Standing, missed
from viva.statistics.scores import primary_insight

MOST_FAILURES = 40
"""Maximum number of missed points and errors that are shown above the table of runs."""
MOST_GROUPS = 5000
"""Maximum number of groups that are kept; the failures of further groups are only counted."""
MOST_REASONS = 8
"""Maximum number of distinct reasons that are kept of one group; runs with further reasons are only counted."""
MOST_CHARACTERS = 1200
"""Maximum length of a reason; checks print at most 1,000 characters and the line."""

# Errors that differ in a count, a duration or an address are one error.
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(slots=True)
class Reason:
    """One distinct reason, and the runs that have it."""

    text: str
    """Printable text of several lines, with its white space."""
    label: str
    """The label of the verdict if it is open, otherwise empty."""
    runs: int = 0
    agents: dict[str, list[int]] = field(default_factory=dict)
    """The number of runs and the row of the first of them, by agent."""


@dataclass(slots=True)
class Failure:
    """One scoring point or criterion that was missed, or one error, in however many runs."""

    standing: Standing
    statement: str
    """The scoring point; the outcome of an error."""
    is_error: bool = False
    runs: int = 0
    cases: Counter[str] = field(default_factory=Counter)
    """The number of these runs by case."""
    reasons: dict[str, Reason] = field(default_factory=dict)
    others: int = 0
    """Number of runs with reasons that are not kept."""

    def add(self, row: int, agent: str, label: str, reason: str) -> bool:
        """Count one run, and return whether it is the first of this agent with its reason."""
        self.runs += 1
        text = printable(reason, MOST_CHARACTERS).strip("\n")
        key = _NUMBER.sub("0", text) if self.is_error else text
        if key not in self.reasons:
            if len(self.reasons) >= MOST_REASONS:
                self.others += 1
                return False
            self.reasons[key] = Reason(text, label)
        found = self.reasons[key]
        found.runs += 1
        counts = found.agents.setdefault(agent, [0, row])
        counts[0] += 1
        return counts[0] == 1

    def examples(self) -> Iterator[list[int]]:
        """Yield the numbers of runs and the row of the first of them, of each reason and agent."""
        for reason in self.reasons.values():
            yield from reason.agents.values()

    @property
    def commonest(self) -> list[Reason]:
        """The reasons, the commonest first."""
        return sorted(self.reasons.values(), key=lambda reason: -reason.runs)


class Failures:
    """Collects what runs missed."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Failure] = {}
        self.left_out = 0
        """Number of failures that belong to no group that is kept."""

    def add(self, row: int, record: RunRecord, standing: Standing) -> bool:
        """Add one run, and return whether it is an example of a failure.

        Args:
            row: The number of its row.
            record: Any record.
            standing: The result of the run.
        """
        named = False
        for group, (statement, label, reason) in _failures(record, standing):
            key = (standing.value if record.error else "", group)
            failure = self._found.get(key)
            if failure is None:
                if len(self._found) >= MOST_GROUPS:
                    self.left_out += 1
                    continue
                failure = self._found[key] = Failure(standing, statement, is_error=bool(record.error))
            failure.cases[one_line(record.subject, 200)] += 1
            named = failure.add(row, record.agent, label, reason) or named
        return named

    def examples(self) -> set[int]:
        """Return the rows that the page names as examples."""
        return {found[1] for each in self.worst()[:MOST_FAILURES] for found in each.examples()}

    def renumber(self, rows: Mapping[int, int]) -> None:
        """Name the rows by other numbers, as not all runs have one."""
        for each in self._found.values():
            for found in each.examples():
                found[1] = rows.get(found[1], found[1])

    def worst(self) -> list[Failure]:
        """Return the groups: those that count against an agent first, then those of most runs."""
        found = self._found.values()
        return sorted(found, key=lambda each: (each.standing is Standing.EXCLUDED, -each.runs))


def _failures(record: RunRecord, standing: Standing) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield the key of each group that a run belongs to, once, with a statement, a label and a reason."""
    if record.error:
        # What an agent that broke off did not reach says nothing more.
        outcome = record.outcome.value.replace("_", " ")
        yield f"{outcome} {_NUMBER.sub('0', one_line(record.error, 400))}", (outcome, "", record.error)
        return
    seen = set()
    for miss in misses(record) if standing is not Standing.EXCLUDED else ():
        if miss.statement not in seen:
            seen.add(miss.statement)
            yield miss.statement, (miss.statement, miss.label, miss.reason)


class MissedPoint(NamedTuple):
    """What lowered a run's score, or is still open."""

    statement: str
    """The scoring point, or the criterion in words; on one line."""
    label: str
    """The label of the verdict if it is open, otherwise empty."""
    reason: str
    """The reason as the judge gave it: hostile text."""


def misses(record: RunRecord) -> list[MissedPoint]:
    """Return what the primary evaluator found missing; what it did not judge is not missing."""
    main = primary_insight(record)
    if main is not None and not main.verdicts and main.score is not None and main.score < 1:
        return [MissedPoint(_words(main.evaluator), "", main.summary)]
    return [
        MissedPoint(
            one_line(verdict.statement, 300) or _words(verdict.criterion),
            one_line(verdict.label, 30) if verdict.score is None else "",
            verdict.reason,
        )
        for verdict in missed(record)
        if verdict.label != SKIPPED
    ]


def _words(name: str) -> str:
    return one_line(name.replace("_", " "), 300)
