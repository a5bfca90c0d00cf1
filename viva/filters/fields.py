"""The fields of filter expressions: what each is called, what may be compared with it, and what it is of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from viva.records.run_record import Outcome, RunRecord
from viva.records.transcript import NO_USAGE, Usage
from viva.records.verdict import Label, Verdict
from viva.statistics.scores import run_passes, score_of

UNFINISHED = Outcome("unfinished")
"""The outcome, for filters, of a run without a record."""
PLANNED = Outcome("planned")
"""The outcome, for filters, of a run that has not begun."""
PASSED, FAILED, EXCLUDED = "passed", "failed", "excluded"
Value = str | float | bool | tuple[str, ...] | None
"""What a run has in a field; None if it has no value there."""


class FieldKind(Enum):
    """What a field holds; it decides which operators there are."""

    TEXT = "text"
    TEXTS = "texts"
    """Several texts; `=` and `~` are true if they are for one of them."""
    NUMBER = "a number"
    SECONDS = "a duration"
    YES_NO = "yes or no"
    CHOICE = "one of a few words"
    MOMENT = "a date, or a date and time"
    ANY = "a number or text"


OPERATORS: Mapping[FieldKind, tuple[str, ...]] = {
    FieldKind.TEXT: ("=", "!=", "~"),
    FieldKind.TEXTS: ("=", "!=", "~"),
    FieldKind.NUMBER: ("=", "!=", "<", "<=", ">", ">="),
    FieldKind.SECONDS: ("=", "!=", "<", "<=", ">", ">="),
    FieldKind.YES_NO: ("=", "!="),
    FieldKind.CHOICE: ("=", "!="),
    FieldKind.MOMENT: ("<", "<=", ">", ">="),
    FieldKind.ANY: ("=", "!=", "~", "<", "<=", ">", ">="),
}


@dataclass(frozen=True, slots=True)
class FilterContext:
    """What the values of some fields depend on besides the record."""

    threshold: float = 1.0
    """The score of a passing run."""
    case_of: Callable[[RunRecord], Mapping[str, Any]] = lambda _: {}
    """Returns the case of a run as plain data, for `metadata` and `row`."""


Getter = Callable[[RunRecord, FilterContext, str], Value]


@dataclass(frozen=True, slots=True)
class FilterField:
    """One field."""

    name: str
    kind: FieldKind
    words: str
    """What it is, for the documentation and messages."""
    get: Getter
    of_result: bool = False
    """Whether it says how the run went: a gate over runs that were chosen by it would be chosen by its own result."""
    keyed: str = ""
    """What is written after a dot, such as KEY; empty if nothing is."""
    values: tuple[str, ...] = ()
    """The words of a CHOICE."""

    @property
    def shown(self) -> str:
        """Return how it is written."""
        return f"{self.name}.{self.keyed}" if self.keyed else self.name


def status_of(record: RunRecord, threshold: float) -> str:
    """Return whether a run passed, failed, is excluded, or has not ended."""
    if record.outcome == UNFINISHED or record.outcome == PLANNED:
        return str.__str__(record.outcome)
    if score_of(record) is None:
        return EXCLUDED
    return PASSED if run_passes(record, threshold) else FAILED


def _passed(record: RunRecord, context: FilterContext, _: str) -> Value:
    return {PASSED: True, FAILED: False}.get(status_of(record, context.threshold))


def _usage(record: RunRecord) -> Usage:
    return sum(record.usage.values(), NO_USAGE)


def _number(value: float | None) -> Value:
    # A journal or a case may hold a number of hundreds of digits, which no float has: it counts as unknown.
    return None if value is None or abs(value) > sys.float_info.max else float(value)


def _verdicts(record: RunRecord) -> list[Verdict]:
    return [verdict for insight in record.insights for verdict in insight.verdicts]


def _points(label: Label) -> Getter:
    """Return the getter of the ids and statements of all points with this label."""

    def get(record: RunRecord, _: FilterContext, __: str) -> Value:
        found = [each for each in _verdicts(record) if each.label == label]
        return tuple(text for each in found for text in (each.criterion, each.statement) if text)

    return get


def _point(record: RunRecord, _: FilterContext, key: str) -> Value:
    labels = [str(each.label) for each in _verdicts(record) if key in (each.criterion, each.statement)]
    return tuple(labels) or None


def _evaluator(record: RunRecord, _: FilterContext, key: str) -> Value:
    found = [each for each in record.insights if each.evaluator == key and each.subject == record.id]
    found = found or [each for each in record.insights if each.evaluator == key]
    if not found:
        return None
    return float(found[0].score) if found[0].score is not None else str(found[0].label or "") or None


def _label(record: RunRecord, _: FilterContext, key: str) -> Value:
    return tuple(str(each.label) for each in record.insights if each.evaluator == key and each.label) or None


def _reasons(record: RunRecord, _: FilterContext, __: str) -> Value:
    return tuple(each.reason for each in _verdicts(record) if each.reason)


def _part_of_case(part: str) -> Getter:
    def get(record: RunRecord, context: FilterContext, key: str) -> Value:
        values = context.case_of(record).get(part)
        return plain_value(values.get(key)) if isinstance(values, Mapping) else None

    return get


def plain_value(value: object) -> Value:
    """Return a value of a case file as one that can be compared."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, list | tuple):
        return tuple(str(each) for each in value)
    return str(value)


def _text(get: Callable[[RunRecord], str | None]) -> Getter:
    return lambda record, _, __: get(record) or None


def _of(get: Callable[[RunRecord], float | None]) -> Getter:
    return lambda record, _, __: _number(get(record))


_SCORED_OUTCOMES = tuple(outcome.value for outcome in Outcome)
_ALL = (
    FilterField("agent", FieldKind.TEXT, "the agent's SPEC", _text(lambda run: run.agent)),
    FilterField("version", FieldKind.TEXT, "the agent's version", _text(lambda run: run.agent_version)),
    FilterField(
        "case", FieldKind.TEXT, "the name of the case, or the subject of a recording", _text(lambda run: run.subject)
    ),
    FilterField("file", FieldKind.TEXT, "the file of the case", _text(lambda run: run.setting.case_file)),
    FilterField("run", FieldKind.TEXT, "the id of the run", _text(lambda run: run.id)),
    FilterField("trial", FieldKind.NUMBER, "the number of the trial", _of(lambda run: run.trial)),
    FilterField(
        "persona", FieldKind.TEXT, "the bundled persona of the examiner", _text(lambda run: run.setting.persona)
    ),
    FilterField(
        "strategy", FieldKind.TEXT, "the bundled strategy of the examiner", _text(lambda run: run.setting.strategy)
    ),
    FilterField("suite", FieldKind.TEXT, "the suite of viva.yaml, by name", _text(lambda run: run.setting.suite)),
    FilterField("tag", FieldKind.TEXTS, "a tag of the case", lambda run, _, __: tuple(run.tags)),
    FilterField("metadata", FieldKind.ANY, "an entry of the case's `metadata`", _part_of_case("metadata"), keyed="KEY"),
    FilterField("row", FieldKind.ANY, "a column of the case's row (`for_each`)", _part_of_case("row"), keyed="COLUMN"),
    FilterField(
        "status",
        FieldKind.CHOICE,
        "how the run counts",
        lambda run, context, _: status_of(run, context.threshold),
        of_result=True,
        values=(PASSED, FAILED, EXCLUDED, UNFINISHED.value),
    ),
    FilterField(
        "passed", FieldKind.YES_NO, "whether it passed; none if it is excluded or unfinished", _passed, of_result=True
    ),
    FilterField(
        "outcome",
        FieldKind.CHOICE,
        "the outcome",
        _text(lambda run: run.outcome.value),
        of_result=True,
        values=(*_SCORED_OUTCOMES, UNFINISHED.value),
    ),
    FilterField("score", FieldKind.NUMBER, "the score, from 0 to 1", _of(lambda run: run.score), of_result=True),
    FilterField("low", FieldKind.NUMBER, "the low bound of the score", _of(lambda run: run.low), of_result=True),
    FilterField("points", FieldKind.NUMBER, "the points", _of(lambda run: run.points), of_result=True),
    FilterField(
        "hit", FieldKind.TEXTS, "a point that was hit: its id or its statement", _points(Label.HIT), of_result=True
    ),
    FilterField("missed", FieldKind.TEXTS, "a point that was missed", _points(Label.MISS), of_result=True),
    FilterField(
        "unsure", FieldKind.TEXTS, "a point of which the judge was unsure", _points(Label.UNSURE), of_result=True
    ),
    FilterField(
        "point", FieldKind.TEXTS, "the label of a point: hit, miss, unsure or error", _point, of_result=True, keyed="ID"
    ),
    FilterField("evaluator", FieldKind.ANY, "the score of an evaluator", _evaluator, of_result=True, keyed="NAME"),
    FilterField("label", FieldKind.TEXTS, "the label of an evaluator's insight", _label, of_result=True, keyed="NAME"),
    FilterField("reason", FieldKind.TEXTS, "the reason of a verdict", _reasons, of_result=True),
    FilterField("error", FieldKind.TEXT, "what went wrong", _text(lambda run: run.error), of_result=True),
    FilterField("rounds", FieldKind.NUMBER, "the number of rounds", _of(lambda run: run.rounds), of_result=True),
    FilterField("stop", FieldKind.TEXT, "why the conversation stopped", _text(lambda run: run.stop), of_result=True),
    FilterField("attempt", FieldKind.NUMBER, "the number of the attempt", _of(lambda run: run.attempt), of_result=True),
    FilterField(
        "cost", FieldKind.NUMBER, "US dollars, of all roles", _of(lambda run: _usage(run).cost), of_result=True
    ),
    FilterField(
        "tokens", FieldKind.NUMBER, "tokens, of all roles", _of(lambda run: _usage(run).known_tokens), of_result=True
    ),
    FilterField(
        "seconds", FieldKind.SECONDS, "how long the run took", _of(lambda run: run.timing.seconds), of_result=True
    ),
    FilterField(
        "started", FieldKind.MOMENT, "when the run began", _of(lambda run: run.timing.started or None), of_result=True
    ),
)
FIELDS: Mapping[str, FilterField] = {each.name: each for each in _ALL}
"""All fields by name."""
