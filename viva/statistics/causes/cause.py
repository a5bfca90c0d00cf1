"""One cause: what went wrong alike in several runs, whatever the case, the point and the wording."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from viva.records.run_record import RunRecord
from viva.records.text import exact_line, one_line
from viva.records.transcript import NO_USAGE, Usage
from viva.statistics.misses import misses_of
from viva.statistics.scores import score_of

WORDS = 400
"""Maximum number of characters of a statement and of a reason."""
LABEL = 40
# What is held is bounded: journals of strangers may give every verdict words of its own.
MOST_REASONS = 20
MOST_AGENTS = 50
MOST_ALSO = 20
"""Maximum number of further statements of a cause that are kept."""
# Reasons that differ in a count, a duration or an address are one reason.
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseName:
    """Holds a name that a model gave a cause, as it is stored: one line of `cause-names.jsonl`."""

    cause: str
    """Id of the cause."""
    content: tuple[str, ...]
    """Digests of the statements and the commonest reason that the cause had; see `viva.statistics.causes.names`."""
    name: str
    """On one line, and safe to show on a terminal."""
    reason: str
    """One sentence of the model: what goes wrong. On one line."""
    model: str
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The first 12 hex digits of the SHA-256 of each of its prompts, by name."""
    usage: Usage = NO_USAGE
    """What naming this cause used, including answers that could not be used."""
    at: str = ""
    """When, in UTC: `2026-11-22T23:30:00Z`."""
    v: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Holds what went wrong alike, in however many runs. All words are on one line and safe to show on a terminal."""

    id: str
    """Eight hexadecimal digits, made from the stems that most wordings share; the same in other journals with them."""
    words: str
    """The statement of the scoring point, or the criterion where there is none, that the example run missed."""
    label: str
    """`miss`, `unsure`, or a label of another evaluator."""
    reason: str
    """The commonest reason as its first run had it, with marks for white space (`viva.records.text.exact_line`)."""
    reason_runs: int
    """Runs with this reason."""
    reasons: int
    """Distinct reasons, counted up to `MOST_REASONS`; reasons that differ only in numbers are the same."""
    quotes: tuple[str, ...]
    """What the verdict of the example run quotes, with marks for white space; a quote of a screenshot is empty."""
    run: str
    """Id of the first run with the commonest reason: the example."""
    runs: int
    """Runs with this cause."""
    share: float
    """Part of the runs that missed something, in [0, 1]."""
    case: str
    """Case of the example run."""
    cases: int
    """Cases with this cause."""
    also: tuple[str, ...] = ()
    """Further statements that were missed for this cause, at most `MOST_ALSO`."""
    points: int = 1
    """Distinct statements that were missed for this cause."""
    agents: Mapping[str, int] = field(default_factory=dict)
    """Agent to its runs with this cause, for the `MOST_AGENTS` agents with most of them."""
    named: CauseName | None = None
    """The name that a model gave it; None if no name is stored beside the journals."""

    @property
    def statements(self) -> str:
        """All statements in words."""
        return "; ".join((self.words, *self.also))


def same_up_to_numbers(reason: str) -> str:
    """Return a reason with its numbers replaced, which is equal for reasons that count as one."""
    return _NUMBER.sub("0", reason)


def has_cause(record: RunRecord, cause: Cause) -> bool:
    """Return whether a run missed the point of the example for its reason, up to numbers.

    Journals can hold different runs of one id.
    """
    if record.error or score_of(record) is None:
        return False
    reason = same_up_to_numbers(cause.reason)
    return any(
        (one_line(miss.words[: WORDS + 1], WORDS), one_line(miss.label[:WORDS], LABEL)) == (cause.words, cause.label)
        and same_up_to_numbers(exact_line(miss.reason[: WORDS + 1], WORDS)) == reason
        for miss in misses_of(record)
    )
