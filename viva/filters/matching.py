"""Turns the tree of a filter expression into a function that tells of a run whether it matches.

`=` is true if the run's value is the given one, or one of several is; `!=` is true wherever `=` is not. `<`, `<=`, `>`,
`>=` and `~` are never true of a run without a value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from viva.filters.expression import And, Comparison, Expression, Not, comparisons
from viva.filters.fields import FIELDS, PLANNED, UNFINISHED, FieldKind, FilterContext, FilterField, Value
from viva.filters.values import YES_NO, read_number, read_value
from viva.records.run_record import RunRecord
from viva.statistics.scores import LAST_BIT

Matches = Callable[[RunRecord], bool]
_OWN = frozenset({"status", "outcome"})
"""Fields about results that runs without a record have, too."""
_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b - LAST_BIT,
    "<=": lambda a, b: a <= b + LAST_BIT,
    ">": lambda a, b: a > b + LAST_BIT,
    ">=": lambda a, b: a >= b - LAST_BIT,
}


def matcher(expression: Expression, context: FilterContext) -> Matches:
    """Return the function for an expression.

    Args:
        expression: The tree.
        context: What some values depend on besides the record.
    """
    if isinstance(expression, Comparison):
        return _comparison(expression, context)
    if isinstance(expression, Not):
        inner = matcher(expression.part, context)
        return lambda record: not inner(record)
    parts = [matcher(part, context) for part in expression.parts]
    if isinstance(expression, And):
        return lambda record: all(part(record) for part in parts)
    return lambda record: any(part(record) for part in parts)


def result_fields(expression: Expression) -> list[str]:
    """Return the fields of an expression that say how a run went, as they are written, each once."""
    found = (FIELDS[each.name] for each in comparisons(expression))
    return list(dict.fromkeys(field.shown for field in found if field.of_result))


def value_test(comparison: Comparison) -> Callable[[Value], bool]:
    """Return the function that tells of the value of a comparison's field whether the comparison is true."""
    return _test(FIELDS[comparison.name], comparison)


def _comparison(comparison: Comparison, context: FilterContext) -> Matches:
    field, key = FIELDS[comparison.name], comparison.key or ""
    test = _test(field, comparison)
    get = field.get
    if not field.of_result or field.name in _OWN:
        return lambda record: test(get(record, context, key))

    def of_ended(record: RunRecord) -> bool:
        has_record = record.outcome != UNFINISHED and record.outcome != PLANNED
        return test(get(record, context, key) if has_record else None)

    return of_ended


def _test(field: FilterField, comparison: Comparison) -> Callable[[Value], bool]:
    sign, text = comparison.operator, comparison.value
    if sign == "!=":
        equals = _equals(field, text)
        return lambda value: not equals(value)
    if sign == "=":
        return _equals(field, text)
    assert text is not None
    wanted = read_value(field, sign, text)
    if sign == "~":
        part = str(wanted).casefold()
        return lambda value: any(part in each.casefold() for each in _texts(value))
    compare, bound = _ORDER[sign], float(wanted)
    return lambda value: isinstance(value, float) and compare(value, bound)


def _equals(field: FilterField, text: str | None) -> Callable[[Value], bool]:
    if text is None:
        return lambda value: value is None or value == ()
    wanted = read_value(field, "=", text)
    if field.kind is FieldKind.ANY:
        return _equals_any(text)
    if isinstance(wanted, float):
        return lambda value: isinstance(value, float) and abs(value - wanted) <= LAST_BIT
    return lambda value: wanted in value if isinstance(value, tuple) else operator.eq(value, wanted)


def _equals_any(text: str) -> Callable[[Value], bool]:
    """Compare with a value of any type: a number as such, yes and no, and everything else as text."""
    try:
        number: float | None = read_number(text)
    except ValueError:
        number = None

    def equals(value: Value) -> bool:
        if isinstance(value, bool):
            return YES_NO.get(text.lower()) is value
        if isinstance(value, float):
            return number is not None and abs(value - number) <= LAST_BIT
        return text in _texts(value)

    return equals


def _texts(value: Value) -> tuple[str, ...]:
    if value is None or isinstance(value, bool):
        return ()
    if isinstance(value, float):
        return (f"{value:g}",)
    return (value,) if isinstance(value, str) else value
