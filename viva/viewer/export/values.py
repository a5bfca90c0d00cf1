"""What filters of an exported page compare: the values of all fields of `--where`, as the command line has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from viva.filters.fields import FIELDS, OPERATORS, PLANNED, UNFINISHED, FilterContext, FilterField
from viva.records.run_record import RunRecord
from viva.records.verdict import Verdict
from viva.viewer.masks import OF_VERDICTS

_OF_CASES = ("metadata", "row")
_WITHOUT_RECORD = frozenset({"status", "outcome"})


def field_table() -> list[dict[str, Any]]:
    """Return the fields of filters for the page's script."""
    return [
        {
            "name": field.name,
            "kind": field.kind.name,
            "words": field.kind.value,
            "operators": list(OPERATORS[field.kind]),
            "keyed": field.keyed,
            "values": list(field.values),
            "verdicts": field.name in OF_VERDICTS,
        }
        for field in FIELDS.values()
    ]


def values_of(record: RunRecord, context: FilterContext, *, verdicts: bool) -> dict[str, Any]:
    """Return the values of one run by the names of fields; fields without a value are left out.

    Fields with a key, such as `point.ID`, have a mapping from keys to values.

    Args:
        record: The run, whole.
        context: What some values depend on besides the record.
        verdicts: Whether to return the fields about verdicts; all others otherwise.
    """
    has_record = record.outcome != UNFINISHED and record.outcome != PLANNED
    found: dict[str, Any] = {}
    for field in FIELDS.values():
        if (field.name in OF_VERDICTS) != verdicts:
            continue
        if field.of_result and not has_record and field.name not in _WITHOUT_RECORD:
            continue
        value = dict(_keyed(field, record, context)) if field.keyed else field.get(record, context, "")
        if value is not None and value != () and value != {}:
            found[field.name] = value
    return found


def _keyed(field: FilterField, record: RunRecord, context: FilterContext) -> Iterator[tuple[str, Any]]:
    for key in dict.fromkeys(_keys(field.name, record, context)):
        value = field.get(record, context, key)
        if value is not None:
            yield key, value


def _keys(name: str, record: RunRecord, context: FilterContext) -> Iterator[str]:
    if name in _OF_CASES:
        part = context.case_of(record).get(name)
        if isinstance(part, Mapping):
            yield from (str(key) for key in part)
    elif name == "point":
        for verdict in _verdicts(record):
            yield from (verdict.criterion, verdict.statement)
    else:
        yield from (insight.evaluator for insight in record.insights)


def _verdicts(record: RunRecord) -> Iterator[Verdict]:
    return (verdict for insight in record.insights for verdict in insight.verdicts)
