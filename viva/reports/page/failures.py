"""Collects the examples of each cause and of each error for a page with failures first: distinct reasons, and runs."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from viva.records.run_record import RunRecord
from viva.records.text import one_line, printable
from viva.reports.console.whys import name_words, points_words
from viva.reports.facts import Standing
from viva.reports.number_words import percent
from viva.statistics.causes.cause import Cause
from viva.statistics.causes.tally import Wording, wording_of
from viva.statistics.misses import Miss, misses_of
from viva.statistics.summary import Figures

MOST_FAILURES = 40
"""Maximum number of causes and errors that are shown above the table of runs."""
MOST_GROUPS = 5000
"""Maximum number of wordings and errors that are kept; the failures of others are only counted."""
MOST_REASONS = 8
"""Maximum number of distinct reasons that are kept of one group; runs with further reasons are only counted."""
MOST_CHARACTERS = 1200
"""Maximum length of a reason; checks print at most 1,000 characters and the line."""
POINTS = 300
"""Maximum number of characters of the points of a cause."""

# Errors that differ in a count, a duration or an address are one error.
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(slots=True)
class Reason:
    """One distinct reason, and the runs that have it."""

    text: str
    """Printable text of several lines, with its white space."""
    label: str
    """The label of the verdict if it is open, otherwise empty."""
    rows: dict[str, array[int]] = field(default_factory=dict)
    """The rows of the runs, by agent."""
    agents: dict[str, list[int]] = field(default_factory=dict)
    """The number of runs and the row of the first of them, by agent."""

    @property
    def runs(self) -> int:
        """Count the runs."""
        return sum(count for count, _ in self.agents.values())


@dataclass(slots=True)
class Failure:
    """One cause of misses, or one error, in however many runs."""

    standing: Standing
    statement: str
    """The points that were missed; the outcome of an error."""
    is_error: bool = False
    id: str = ""
    """Id of the cause; empty for an error."""
    share: str = ""
    """Share of the runs that missed something, in words; empty for an error."""
    rows: dict[int, str] = field(default_factory=dict)
    """The rows of the runs, each with its case."""
    reasons: dict[str, Reason] = field(default_factory=dict)
    others: int = 0
    """Number of runs with none of the reasons that are kept."""

    def add(self, row: int, case: str, agent: str, label: str, reason: str) -> bool:
        """Count one run, and return whether it is the first of this agent with its reason."""
        self.rows[row] = case
        text = printable(reason, MOST_CHARACTERS).strip("\n")
        key = _NUMBER.sub("0", text) if self.is_error else text
        if key not in self.reasons:
            if len(self.reasons) >= MOST_REASONS:
                return False
            self.reasons[key] = Reason(text, label)
        rows = self.reasons[key].rows.setdefault(agent, array("L"))
        rows.append(row)
        return len(rows) == 1

    def join(self, other: Failure) -> None:
        """Add the runs of another failure."""
        self.rows.update(other.rows)
        for key, reason in other.reasons.items():
            mine = self.reasons.setdefault(key, Reason(reason.text, reason.label))
            for agent, rows in reason.rows.items():
                mine.rows.setdefault(agent, array("L")).extend(rows)

    def close(self) -> None:
        """Count the runs of each reason, keep the commonest reasons, and count the other runs."""
        for reason in self.reasons.values():
            reason.agents = {agent: [len(set(rows)), min(rows)] for agent, rows in reason.rows.items()}
        self.reasons = dict(sorted(self.reasons.items(), key=lambda item: -item[1].runs)[:MOST_REASONS])
        kept = {row for reason in self.reasons.values() for rows in reason.rows.values() for row in rows}
        self.others = len(self.rows.keys() - kept)

    def examples(self) -> Iterator[list[int]]:
        """Yield the numbers of runs and the row of the first of them, of each reason and agent."""
        for reason in self.reasons.values():
            yield from reason.agents.values()

    @property
    def runs(self) -> int:
        """Count the runs."""
        return len(self.rows)

    @property
    def cases(self) -> Counter[str]:
        """Count the runs by case."""
        return Counter(self.rows.values())

    @property
    def commonest(self) -> list[Reason]:
        """The reasons, the commonest first."""
        return list(self.reasons.values())


class Failures:
    """Collects what runs missed and the errors that ended them."""

    def __init__(self) -> None:
        self._errors: dict[tuple[Standing, str], Failure] = {}
        self._wordings: dict[Wording, Failure] = {}
        self._names: dict[str, str] = {}
        self.worst: list[Failure] = []
        """Causes and errors, after `group`: those that count against an agent first, then those of most runs."""
        self.left_out = 0
        """Number of failures that belong to no group that is kept."""

    def add(self, row: int, record: RunRecord, standing: Standing) -> bool:
        """Add one run, and return whether it may be an example of a failure.

        Args:
            row: The number of its row.
            record: Any record.
            standing: The result of the run.
        """
        case = one_line(record.subject, 200)
        case = self._names.setdefault(case, case)
        if record.error:
            # What an agent that broke off did not reach says nothing more.
            outcome = record.outcome.value.replace("_", " ")
            key = standing, f"{outcome} {_NUMBER.sub('0', one_line(record.error, 400))}"
            found = self._errors.get(key)
            if found is None:
                if len(self._errors) >= MOST_GROUPS:
                    self.left_out += 1
                    return False
                found = self._errors[key] = Failure(standing, outcome, is_error=True)
            return found.add(row, case, record.agent, "", record.error)
        named = False
        for miss in misses_of(record) if standing is not Standing.EXCLUDED else ():
            wording = wording_of(miss)
            found = self._wordings.get(wording)
            if found is None:
                if len(self._wordings) >= MOST_GROUPS:
                    self.left_out += 1
                    continue
                found = self._wordings[wording] = Failure(standing, "")
            point = _point(miss)
            named = found.add(row, case, record.agent, point.label, point.reason) or named
        return named

    def group(self, figures: Figures) -> None:
        """Join the misses of each cause, once all runs were added.

        Args:
            figures: The statistics of the same runs.
        """
        causes = {cause.id: cause for cause in figures.misses}
        found: dict[str, Failure] = {}
        for wording, failure in self._wordings.items():
            cause = causes.get(figures.cause_ids.get(wording, ""))
            if cause is None:
                self.left_out += failure.runs
            elif cause.id in found:
                found[cause.id].join(failure)
            else:
                failure.id, failure.share = cause.id, percent(cause.share)
                failure.statement = name_words(cause) + _points(cause)
                found[cause.id] = failure
        self._wordings.clear()
        self.worst = sorted(
            (*found.values(), *self._errors.values()),
            key=lambda each: (each.standing is Standing.EXCLUDED, -each.runs),
        )
        for each in self.worst:
            each.close()

    def examples(self) -> set[int]:
        """Return the rows that the page names as examples."""
        return {found[1] for each in self.worst[:MOST_FAILURES] for found in each.examples()}

    def renumber(self, rows: Mapping[int, int]) -> None:
        """Name the rows by other numbers, as not all runs have one."""
        for each in self.worst:
            for found in each.examples():
                found[1] = rows.get(found[1], found[1])


def _points(cause: Cause) -> str:
    words = points_words(cause, POINTS)
    return words if " " in words else words.replace("_", " ")


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
    return [_point(miss) for miss in misses_of(record)]


def _point(miss: Miss) -> MissedPoint:
    words = one_line(miss.words, 300)
    return MissedPoint(
        words if " " in words else words.replace("_", " "), one_line(miss.label, 30) if miss.open else "", miss.reason
    )
