"""Collects what runs missed by cause: each cause with its runs, its agents and a run that represents it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from viva.records.run_record import RunRecord
from viva.records.text import exact_line, one_line
from viva.statistics.causes.clusters import MOST_TEMPLATES, Words, cluster, cluster_id, words_of
from viva.statistics.misses import MOST_AGENTS, WORDS, Miss, misses_of
from viva.statistics.scores import score_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Holds what went wrong alike in several points or cases. All words are on one line and safe on a terminal."""

    id: str
    """Eight hexadecimal digits, made from the wording of most runs; the same wherever that is the same."""
    words: str
    """A reason as a judge or a check gave it, of the wording of most runs; the statement if there is no reason."""
    run: str
    """Id of the first run with these words."""
    case: str
    """Case of that run."""
    runs: int
    share: float
    """Part of the runs that missed something, in [0, 1]."""
    cases: int
    statements: int
    """Distinct points and criteria that were missed."""
    wordings: int
    """Distinct wordings, apart from values and names."""
    agents: Mapping[str, int] = field(default_factory=dict)
    """Agent to its runs with this cause, for the first `MOST_AGENTS` agents."""


@dataclass(slots=True)
class _Wording:
    reason: str
    run: str
    case: str
    statements: set[str] = field(default_factory=set)
    runs: array[int] = field(default_factory=lambda: array("L"))
    """Which of the runs that missed something, in ascending order."""


class CauseTally:
    """Collects the misses of runs that count and ended without an error, as `MissGroups` does."""

    def __init__(self) -> None:
        self._wordings: dict[Words, _Wording] = {}
        self._runs: list[tuple[str, str]] = []
        """Case and agent of each run that missed something."""
        self._names: dict[str, str] = {}

    def add(self, record: RunRecord) -> None:
        """Add one run."""
        if record.error or score_of(record) is None:
            return
        number = len(self._runs)
        for miss in misses_of(record):
            if len(self._runs) == number:
                self._runs.append((self._name(record.subject), self._name(record.agent)))
            self._add(number, record, miss)

    def causes(self, most: int) -> tuple[Cause, ...]:
        """Return the causes that join different points or criteria, those of most runs first, at most so many.

        What one point alone is about is a miss (`MissGroups`), and would be repeated here.
        """
        found: dict[Words, list[Words]] = {}
        for words, head in cluster({words: len(each.runs) for words, each in self._wordings.items()}).items():
            found.setdefault(head, []).append(words)
        made = (self._cause(head, members) for head, members in found.items())
        joined = [each for each in made if each.statements > 1 and each.runs > 1]
        return tuple(sorted(joined, key=lambda each: (-each.runs, each.id))[:most])

    def _add(self, number: int, record: RunRecord, miss: Miss) -> None:
        words = words_of(miss.reason, miss.words)
        wording = self._wordings.get(words)
        if wording is None:
            if len(self._wordings) >= MOST_TEMPLATES:
                return
            wording = self._wordings[words] = _Wording(
                miss.reason[: WORDS + 1] or miss.words[: WORDS + 1], record.id, record.subject
            )
        wording.statements.add(self._name(miss.words[:WORDS]))
        if not wording.runs or wording.runs[-1] != number:
            wording.runs.append(number)

    def _name(self, text: str) -> str:
        return self._names.setdefault(text, text)

    def _cause(self, head: Words, members: list[Words]) -> Cause:
        numbers = sorted({number for words in members for number in self._wordings[words].runs})
        agents = Counter(self._runs[number][1] for number in numbers)
        shown = self._wordings[head]
        return Cause(
            id=cluster_id(head),
            words=exact_line(shown.reason, WORDS),
            run=shown.run,
            case=one_line(shown.case, 200),
            runs=len(numbers),
            share=len(numbers) / len(self._runs),
            cases=len({self._runs[number][0] for number in numbers}),
            statements=len({statement for words in members for statement in self._wordings[words].statements}),
            wordings=len(members),
            agents=dict(agents.most_common(MOST_AGENTS)),
        )
