"""Collects what runs missed, and groups it by cause: each with its runs, its agents and a run that represents it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from viva.records.run_record import RunRecord
from viva.records.text import exact_line, one_line
from viva.statistics.causes.cause import LABEL, MOST_AGENTS, MOST_ALSO, MOST_REASONS, WORDS, Cause, same_up_to_numbers
from viva.statistics.causes.clusters import MOST_TEMPLATES, Words, cluster, cluster_ids, words_of
from viva.statistics.misses import Miss, misses_of
from viva.statistics.scores import score_of

MOST_QUOTES = 2
QUOTED = 200
"""Maximum number of characters of a quote."""
MOST_STATEMENTS = 200
"""Maximum number of statements that are kept of one wording."""

Side = tuple[int, str]
"""The number of a journal, and an agent of it."""
Wording = tuple[str, Words]
"""The label of a miss, and the stems of its reason and statement."""


class TalliedRun(NamedTuple):
    """A run that was added."""

    side: Side
    number: int | None
    """Its number among those that missed something; None if it missed nothing."""


class SidedCause(NamedTuple):
    """A cause, and where it was found."""

    cause: Cause
    runs: Counter[Side]
    """Its runs by journal and agent."""
    cases: Mapping[str, set[str]]
    """Its cases by agent."""


def wording_of(miss: Miss) -> Wording:
    """Return what tells the cause of a miss; equal for misses that differ only in values, names and endings."""
    return one_line(miss.label[:WORDS], LABEL), words_of(miss.reason, miss.words)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The misses of a stream of records by cause."""

    causes: tuple[Cause, ...] = ()
    """The causes of most runs, those of most runs first."""
    count: int = 0
    """Number of causes, also of those that are left out of `causes`."""
    left_out: int = 0
    """Misses of wordings beyond the first `MOST_TEMPLATES`: they belong to no cause."""
    ids: Mapping[Wording, str] = field(default_factory=dict)
    """The id of the cause of each wording."""


@dataclass(slots=True)
class _Reason:
    words: str
    statement: str
    quotes: tuple[str, ...]
    run: str
    case: str
    runs: array[int] = field(default_factory=lambda: array("L"))


@dataclass(slots=True)
class _Wording:
    reasons: dict[str, _Reason] = field(default_factory=dict)
    statements: dict[str, None] = field(default_factory=dict)
    runs: array[int] = field(default_factory=lambda: array("L"))
    """Which of the runs that missed something, in ascending order."""


class CauseTally:
    """Collects what runs missed by their primary evaluators; runs that ended with an error are left to the errors."""

    def __init__(self) -> None:
        self._wordings: dict[Wording, _Wording] = {}
        self._runs: list[tuple[str, str]] = []
        """Case and agent of each run that missed something."""
        self._names: dict[str, str] = {}
        self._pairs: dict[Any, Any] = {}
        """Each side, and each pair of a case and an agent, once."""
        self._left_out = 0
        self._sides: list[Side] = []
        """The journal and agent of each run that missed something."""
        self.counted: Counter[Side] = Counter()
        """Runs that count, by journal and agent; runs that ended with an error do not."""
        self._forgotten: set[int] = set()

    def add(self, record: RunRecord, journal: int = 0) -> TalliedRun | None:
        """Add one run of a journal, by the journal's number where several are added; None if it does not count."""
        if record.error or score_of(record) is None:
            return None
        side: Side = journal, self._name(record.agent)
        side = self._pairs.setdefault(side, side)
        self.counted[side] += 1
        number = len(self._runs)
        for miss in misses_of(record):
            if len(self._runs) == number:
                pair = self._name(record.subject), side[1]
                self._runs.append(self._pairs.setdefault(pair, pair))
                self._sides.append(side)
            self._add(number, record, miss)
        return TalliedRun(side, number if len(self._runs) > number else None)

    def forget(self, run: TalliedRun) -> None:
        """Take back a run: it counts nowhere any more, but its wordings still join others."""
        self.counted[run.side] -= 1
        if run.number is not None:
            self._forgotten.add(run.number)

    def sides(self) -> list[SidedCause]:
        """Return each cause with its runs by journal and agent, the causes of most runs first."""
        groups = self._groups()
        ids = cluster_ids([[words for _, words in group] for group in groups], [group[0][0] for group in groups])
        found = []
        for name, group in zip(ids, groups, strict=True):
            numbers = self._numbers(group)
            if not numbers:  # all its runs were forgotten
                continue
            cases: dict[str, set[str]] = {}
            for number in numbers:
                case, agent = self._runs[number]
                cases.setdefault(agent, set()).add(case)
            runs = Counter(self._sides[number] for number in numbers)
            found.append(SidedCause(self._cause(name, group), runs, cases))
        return sorted(found, key=lambda each: -each.cause.runs)

    def grouping(self, most: int) -> Grouping:
        """Group the misses by cause.

        Args:
            most: Maximum number of causes that are described.
        """
        groups = self._groups()
        ids = cluster_ids([[words for _, words in group] for group in groups], [group[0][0] for group in groups])
        order = sorted(range(len(groups)), key=lambda place: -len(self._numbers(groups[place])))  # stable
        return Grouping(
            tuple(self._cause(ids[place], groups[place]) for place in order[:most]),
            len(groups),
            self._left_out,
            {wording: ids[place] for place, group in enumerate(groups) for wording in group},
        )

    def _add(self, number: int, record: RunRecord, miss: Miss) -> None:
        key = wording_of(miss)
        wording = self._wordings.get(key)
        if wording is None:
            if len(self._wordings) >= MOST_TEMPLATES:
                self._left_out += 1
                return
            wording = self._wordings[key] = _Wording()
        statement = self._name(miss.words[: WORDS + 1])
        if len(wording.statements) < MOST_STATEMENTS:
            wording.statements.setdefault(statement)
        _count(wording.runs, number)
        reason = same_up_to_numbers(miss.reason[:WORDS])
        if reason not in wording.reasons:
            if len(wording.reasons) >= MOST_REASONS:
                return
            quotes = tuple(evidence.quote[: QUOTED + 1] for evidence in miss.evidence[:MOST_QUOTES])
            text = miss.reason[: WORDS + 1]
            wording.reasons[reason] = _Reason(text, statement, quotes, record.id, self._name(record.subject))
        _count(wording.reasons[reason].runs, number)

    def _name(self, text: str) -> str:
        return self._names.setdefault(text, text)

    def _groups(self) -> list[list[Wording]]:
        """Return the wordings of each cause, in the order of their first misses."""
        by_label: dict[str, dict[Words, int]] = {}
        for (label, words), each in self._wordings.items():
            by_label.setdefault(label, {})[words] = len(each.runs)
        heads = {label: cluster(templates) for label, templates in by_label.items()}
        found: dict[object, list[Wording]] = {}
        for label, words in self._wordings:
            found.setdefault((label, heads[label][words]), []).append((label, words))
        joined: dict[object, list[Wording]] = {}
        for head, group in found.items():
            joined.setdefault(self._same(group) or head, []).extend(group)
        return list(joined.values())

    def _same(self, group: list[Wording]) -> object | None:
        """Return what causes of the same runs and one same reason have in common; None if it has several reasons."""
        reasons = {reason: each for wording in group for reason, each in self._wordings[wording].reasons.items()}
        if len(reasons) != 1:
            return None
        ((reason, each),) = reasons.items()
        return None if not reason or each.quotes else (group[0][0], reason, *self._numbers(group))

    def _numbers(self, group: list[Wording]) -> list[int]:
        if len(group) == 1 and not self._forgotten:
            return self._wordings[group[0]].runs.tolist()
        return sorted({number for wording in group for number in self._wordings[wording].runs} - self._forgotten)

    def _cause(self, name: str, group: list[Wording]) -> Cause:
        numbers = self._numbers(group)
        agents = Counter(self._runs[number][1] for number in numbers)
        reasons: dict[str, list[_Reason]] = {}
        for wording in group:
            for key, reason in self._wordings[wording].reasons.items():
                reasons.setdefault(key, []).append(reason)
        found = {key: {number for each in same for number in each.runs} for key, same in reasons.items()}
        counts = {key: len(runs - self._forgotten if self._forgotten else runs) for key, runs in found.items()}
        key = max(counts, key=lambda each: counts[each])  # the first of equals
        shown = min(reasons[key], key=lambda each: each.runs[0])
        statements = dict.fromkeys(text for wording in group for text in self._wordings[wording].statements)
        also = [text for text in statements if text != shown.statement]
        return Cause(
            id=name,
            words=one_line(shown.statement, WORDS),
            also=tuple(one_line(each, WORDS) for each in also[:MOST_ALSO]),
            points=len(statements),
            label=group[0][0],
            reason=exact_line(shown.words, WORDS),
            reason_runs=counts[key],
            reasons=min(len(reasons), MOST_REASONS),
            quotes=tuple(exact_line(quote, QUOTED) for quote in shown.quotes),
            run=shown.run,
            case=shown.case,
            runs=len(numbers),
            share=len(numbers) / (len(self._runs) - len(self._forgotten)),
            cases=len({self._runs[number][0] for number in numbers}),
            agents=dict(agents.most_common(MOST_AGENTS)),
        )


def _count(runs: array[int], number: int) -> None:
    if not runs or runs[-1] != number:
        runs.append(number)
