"""Says what checks are about: whether they look at the agent's files, and which of their values are answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from viva.cases.case import ScoringPoint
from viva.cases.checks.data import (
    AnyCheck,
    CheckNode,
    CombinedCheck,
    ContainsCheck,
    EdgeCheck,
    EqualsCheck,
    FileCheck,
    JsonCheck,
    LimitCheck,
    NegatedCheck,
    NumberCheck,
    SimilarCheck,
    StepsCheck,
    TextCheck,
    ToolCheck,
    WordsCheck,
)
from viva.cases.checks.reader import CheckMistake, check_of


def uses_files(point: ScoringPoint) -> bool:
    """Return whether what checks a point may look at the agent's files."""
    return bool(point.eval_code) or any(isinstance(each.check, FileCheck) for each in _nodes(_check(point)))


def answers_in(point: ScoringPoint) -> Iterator[str | float]:
    """Yield the texts and numbers that the check of a point looks for, and that an agent has to find out."""
    for node in _nodes(_check(point), negated=False):
        parts: tuple[Any, ...] = node.check.checks if isinstance(node.check, FileCheck) else (node.check,)
        for check in parts:
            yield from _answers(check)


def forbids(point: ScoringPoint) -> bool:
    """Return whether the check of a point asks only that something is not there, or not too much."""
    node = _check(point)
    return node is not None and _forbids(node.check)


def latest_round(point: ScoringPoint) -> int:
    """Return the highest round that a point is bound to, by itself or by its check; 0 if it is bound to none."""
    over = (each.over.round for each in _nodes(_check(point)) if each.over is not None)
    return max((number for number in (point.round, *over) if number), default=0)


def _forbids(check: AnyCheck) -> bool:
    match check:
        case NegatedCheck():
            return not _forbids(check.check.check)
        case CombinedCheck():
            return all(_forbids(each.check) for each in check.checks)
        case ContainsCheck():
            return check.needs == "none"
        case FileCheck():
            return not check.exists
        case NumberCheck() | WordsCheck() | StepsCheck():
            return not check.allowed.least
        case ToolCheck():
            return not check.times.least
    return isinstance(check, LimitCheck)


def _check(point: ScoringPoint) -> CheckNode | None:
    if point.check is None:
        return None
    try:
        return check_of(point.check)
    except CheckMistake:
        return None


def _nodes(node: CheckNode | None, *, negated: bool = True) -> Iterator[CheckNode]:
    """Yield a check and those inside of it; those of which the opposite is asked only if `negated`."""
    if node is None:
        return
    yield node
    inner: tuple[CheckNode, ...] = ()
    if isinstance(node.check, CombinedCheck):
        inner = node.check.checks
    elif isinstance(node.check, NegatedCheck) and negated:
        inner = (node.check.check,)
    for each in inner:
        yield from _nodes(each, negated=negated)


def _answers(check: TextCheck | Any) -> Iterator[str | float]:
    match check:
        case ContainsCheck(needs="none"):
            return
        case ContainsCheck() | EqualsCheck() | EdgeCheck():
            yield from check.texts
        case NumberCheck(equals=float(number)):
            yield number
        case SimilarCheck():
            yield check.to
        case JsonCheck(has_value=True):
            yield from _values(check.value)


def _values(value: Any) -> Iterator[str | float]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _values(each)
    elif isinstance(value, list):
        for each in value:
            yield from _values(each)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value
