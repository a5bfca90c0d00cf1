"""What runs missed: the distinct misses of a stream of records, each with a reason and one run to look at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from viva.judge.trajectory import SKIPPED
from viva.records.run_record import RunRecord
from viva.records.text import exact_line, one_line
from viva.records.verdict import Evidence
from viva.statistics.scores import primary_insight, score_of

WORDS = 400
"""Maximum number of characters of a statement and of a reason."""
# What is held is bounded: journals of strangers may give every verdict words of its own.
MOST_KINDS = 2_000
MOST_REASONS = 20
MOST_QUOTES = 2
QUOTED = 200
"""Maximum number of characters of a quote."""
MOST_AGENTS = 50
MOST_VERDICTS = 500
"""Maximum number of verdicts that are read of one run."""
# Reasons that differ in a count, a duration or an address are one reason.
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissGroup:
    """Holds one miss, in however many runs it occurred. All words are on one line and safe to show on a terminal."""

    words: str
    """The statement of the scoring point, or the criterion where there is none."""
    label: str
    """`miss`, `unsure`, or a label of another evaluator."""
    reason: str
    """The commonest reason as its first run had it, with marks for white space (`viva.records.text.exact_line`)."""
    reason_runs: int
    """Runs with this reason."""
    reasons: int
    """Distinct reasons, counted up to `MOST_REASONS`; reasons that differ only in numbers are the same."""
    quotes: tuple[str, ...]
    """What the verdict of that run quotes, with marks for white space; a quote of a screenshot is empty."""
    run: str
    """Id of that run."""
    runs: int
    """Runs with this miss."""
    case: str
    """Case of that run."""
    cases: int
    """Cases with this miss."""
    also: tuple[str, ...] = ()
    """The statements of further points that the same runs missed for the same reason."""
    agents: Mapping[str, int] = field(default_factory=dict)
    """Agent to its runs with this miss, for the first `MOST_AGENTS` agents."""

    @property
    def statements(self) -> str:
        """All statements in words."""
        return "; ".join((self.words, *self.also))


class MissGroups:
    """Collects what runs missed by their primary evaluators; runs that ended with an error are left to the errors."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], _Kind] = {}

    def add(self, record: RunRecord) -> None:
        """Add one run."""
        if record.error or score_of(record) is None:
            return
        seen = set()
        for miss in misses_of(record):
            key = miss.words[: WORDS + 1], miss.label[:WORDS]
            if key in seen:
                continue
            seen.add(key)
            kind = self._found.get(key)
            if kind is None:
                if len(self._found) >= MOST_KINDS:
                    continue
                kind = self._found[key] = _Kind()
            kind.add(record, miss)

    @property
    def kinds(self) -> int:
        """Count the distinct misses, up to `MOST_KINDS`; those of the same runs for one same reason are one."""
        return len(self._joined())

    def commonest(self, most: int) -> Iterator[MissGroup]:
        """Yield the misses of most runs, at most so many."""
        for (words, *also), label, kind in sorted(self._joined(), key=lambda item: -item[2].runs)[:most]:
            reason = max(kind.reasons.values(), key=lambda each: each.runs)  # the first of equals
            yield MissGroup(
                words=one_line(words, WORDS),
                also=tuple(one_line(each, WORDS) for each in also),
                label=one_line(label, 40),
                reason=exact_line(reason.words, WORDS),
                reason_runs=reason.runs,
                reasons=len(kind.reasons),
                quotes=tuple(exact_line(quote, QUOTED) for quote in reason.quotes),
                run=reason.run,
                runs=kind.runs,
                case=reason.case,
                cases=len(kind.cases),
                agents=kind.agents,
            )

    def _joined(self) -> list[tuple[list[str], str, _Kind]]:
        """Return statements, label and kind of each miss; several statements if nothing else tells them apart."""
        joined: dict[object, tuple[list[str], str, _Kind]] = {}
        for (words, label), kind in self._found.items():
            same = kind.told_apart_by()
            joined.setdefault((words, label) if same is None else (label, same), ([], label, kind))[0].append(words)
        return list(joined.values())


def has_miss(record: RunRecord, group: MissGroup) -> bool:
    """Return whether a run has this miss for this reason, up to numbers; journals can hold different runs of one id."""
    if record.error or score_of(record) is None:
        return False
    reason = _NUMBER.sub("0", group.reason)
    return any(
        (one_line(miss.words[: WORDS + 1], WORDS), one_line(miss.label[:WORDS], 40)) == (group.words, group.label)
        and _NUMBER.sub("0", exact_line(miss.reason[: WORDS + 1], WORDS)) == reason
        for miss in misses_of(record)
    )


@dataclass(slots=True)
class _Reason:
    words: str
    quotes: tuple[str, ...]
    run: str
    case: str
    runs: int = 0


@dataclass(slots=True)
class _Kind:
    runs: int = 0
    cases: set[str] = field(default_factory=set)
    agents: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, _Reason] = field(default_factory=dict)
    which: int = 0
    """The sum of the hashes of the runs, by which equally many other runs are told apart in constant memory."""

    def told_apart_by(self) -> tuple[object, ...] | None:
        """Return what misses of the same runs for one same reason have in common; None if it has several reasons."""
        if len(self.reasons) != 1:
            return None
        (reason,) = self.reasons.values()
        if not reason.words or reason.quotes:
            return None
        return reason.words, self.which, self.runs, reason.runs

    def add(self, record: RunRecord, miss: Miss) -> None:
        self.runs += 1
        self.which += hash((record.id, record.subject, record.agent, record.trial))
        self.cases.add(record.subject)
        if record.agent in self.agents or len(self.agents) < MOST_AGENTS:
            self.agents[record.agent] = self.agents.get(record.agent, 0) + 1
        key = _NUMBER.sub("0", miss.reason[:WORDS])
        if key not in self.reasons:
            if len(self.reasons) >= MOST_REASONS:
                return
            quotes = tuple(evidence.quote[: QUOTED + 1] for evidence in miss.evidence[:MOST_QUOTES])
            self.reasons[key] = _Reason(miss.reason[: WORDS + 1], quotes, record.id, record.subject)
        self.reasons[key].runs += 1


class Miss(NamedTuple):
    """What lowered a run's score, or is still open; hostile text."""

    words: str
    label: str
    reason: str
    evidence: tuple[Evidence, ...] = ()


def misses_of(record: RunRecord) -> Iterator[Miss]:
    """Yield everything that lowered a run's score, or is still open."""
    main = primary_insight(record)
    if main is None:
        return
    if not main.verdicts and main.score is not None and main.score < 1:
        yield Miss(main.evaluator, main.label, main.summary)
    for verdict in islice(main.verdicts, MOST_VERDICTS):
        if (verdict.score is None or verdict.score < 1) and verdict.label != SKIPPED:
            yield Miss(verdict.statement or verdict.criterion, verdict.label, verdict.reason, verdict.evidence)
