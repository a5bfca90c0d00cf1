"""Reads the JSON of a record several times as fast as `codec`, into structs that are read like the dataclasses.

Reports read 100,000 records, some of them twice. A struct is made six times as fast as a frozen dataclass, and unknown
to pydantic, so `codec` remains what decides: JSON that is not of the strictest form is left to it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from functools import cache
from json.encoder import encode_basestring_ascii as quoted
from typing import Annotated, Any, get_type_hints

import msgspec

from viva.records.codec import MAX_DEPTH
from viva.records.quick.structs import define
from viva.records.run_record import RunRecord, Setting, Timing
from viva.records.transcript import LEFT_OUT, MOST_DOLLARS, MOST_TOKENS, Metrics, SubAgentShare, Usage
from viva.records.unfair_attempts import UnfairAttempt
from viva.records.verdict import Evidence, Insight, Verdict, Vote

_LARGE = 1e16
"""From here on, Python writes a float with an exponent."""
_Float = Annotated[float, msgspec.Meta(gt=-_LARGE, lt=_LARGE)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]
_Cost = Annotated[float, msgspec.Meta(ge=0, le=MOST_DOLLARS)]
"""What `Usage` would convert is left to it."""


def read_record(text: str | bytes) -> RunRecord | None:
    """Return the record in some JSON, equal in every field to what `codec.decode_json` returns.

    It has the fields, properties and methods of a RunRecord, and `dataclasses.replace` and `fields` take it, but it is
    a struct: `codec.encode`, pydantic and `isinstance` do not know it. `is_struct` tells.

    Returns:
        None if the JSON has to be read by `codec`: it has unknown fields, values of other types, or is no record.
    """
    try:
        record: RunRecord = _decoder().decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    # The only field that can be nested: pydantic refuses what is too deep, and the codec turns it into text.
    for insight in record.insights:
        if insight.details and is_deep(insight.details):
            return None
    return record


def read_setting(text: str | bytes) -> Setting | None:
    """Return the setting in some JSON as `read_record` returns a record; None if it has to be read by `codec`."""
    try:
        setting: Setting = _setting_decoder().decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return setting


def is_struct(record: object) -> bool:
    """Return whether a record is a struct from `read_record`."""
    return isinstance(record, msgspec.Struct)


def write_record(record: RunRecord) -> str:
    """Return a struct with all of its fields as JSON in ASCII, to the character as `json.dumps` writes the dataclass.

    Args:
        record: One from `read_record`, of which parts may have been replaced.
    """
    stop = record.stop
    if record.outcome.known and (stop is None or stop.known) and not _has_details(record.insights):
        compact = _encode(record)
        if not _has_other_float(compact):
            text = _format(compact, indent=0).decode()
            return text if text.isascii() else _NOT_ASCII.sub(lambda found: quoted(found[0])[1:-1], text)
    plain = msgspec.to_builtins(record)
    plain["outcome"] = str.__str__(record.outcome)  # msgspec takes the value that is shown
    if record.stop is not None:
        plain["stop"] = str.__str__(record.stop)
    return json.dumps(plain)


def is_deep(value: Any) -> bool:
    """Return whether lists and mappings are nested more deeply in a value than `codec` keeps them."""
    inner = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        parts = (part for each in inner for part in (each.values() if isinstance(each, dict) else each))
        inner = [part for part in parts if isinstance(part, dict | list)]
        if not inner:
            return False
    return True


def _has_details(insights: tuple[Insight, ...]) -> bool:
    # A loop, as a generator takes as long as reading a whole insight.
    for insight in insights:  # noqa: SIM110
        if insight.details:
            return True
    return False


def _has_other_float(compact: bytes) -> bool:
    """Return whether JSON from a struct has a number that may be written in another way by Python.

    Nearly all texts have neither of the rare forms that are looked for first, which takes a third of the time.
    """
    if _TINY_TEXT not in compact and _EXPONENT.search(compact) is None:
        return False
    return _OTHER_FLOAT.search(compact) is not None


_encode, _format = msgspec.json.Encoder().encode, msgspec.json.format
_TINY_TEXT, _EXPONENT = b"0.0000", re.compile(rb"e-[1-9][0-9]*[,}]")
"""What numbers near 0 have in them, as msgspec writes them: `0.00001`, `1e-7`. No struct holds one of `_LARGE`."""
_OTHER_FLOAT = re.compile(rb'":-?(?:0\.0000|[0-9.]+e)')
"""A number that Python may write in another way: `0.00001` is `1e-05`. Outside of `details`, numbers are values of
keys."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    usage = usage_struct()
    share = _struct(SubAgentShare, usage=usage)
    metrics = _struct(Metrics, usage_by_model=dict[str, usage], subagents=dict[str, share])  # type: ignore[valid-type]
    verdict = _struct(
        Verdict,
        evidence=tuple[_struct(Evidence), ...],  # type: ignore[misc]
        votes=tuple[_struct(Vote), ...],  # type: ignore[misc]
    )
    insight = _struct(Insight, verdicts=tuple[verdict, ...], usage=usage)  # type: ignore[valid-type]
    record = _struct(
        RunRecord,
        insights=tuple[insight, ...],  # type: ignore[valid-type]
        usage=dict[str, usage],  # type: ignore[valid-type]
        timing=_struct(Timing),
        metrics=metrics | None,
        setting=_setting_struct(),
    )
    return msgspec.json.Decoder(record)


@cache
def usage_struct() -> type[msgspec.Struct]:
    """Return the struct of `Usage`, which has only values that `Usage` keeps as they are."""
    counts = {field.name: _Count for field in dataclasses.fields(Usage) if field.type == "int"}
    return _struct(Usage, **counts, cost=_Cost | None)


@cache
def _setting_decoder() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_setting_struct())


@cache
def _setting_struct() -> type[msgspec.Struct]:
    return _struct(Setting, unfair_attempts=tuple[_struct(UnfairAttempt), ...])  # type: ignore[misc]


def _struct(kind: type, **types: Any) -> type[msgspec.Struct]:
    """Make the struct of a dataclass, so that both cannot differ.

    Args:
        kind: The dataclass.
        types: The types of fields that are structs themselves, or are restricted.
    """
    hints = get_type_hints(kind)
    fields: list[Any] = []
    for field in dataclasses.fields(kind):
        default = field.metadata.get(LEFT_OUT, field.default)
        kind_of_value = hints[field.name]
        named = (field.name, types.get(field.name, _BOUNDED.get(kind_of_value, kind_of_value)))
        if default is not dataclasses.MISSING:
            fields.append((*named, default))
        elif field.default_factory is not dataclasses.MISSING:
            fields.append((*named, msgspec.field(default_factory=field.default_factory)))  # type: ignore[arg-type]
        else:
            fields.append(named)
    # Unknown fields are refused, because msgspec passes over them without checking what is in them.
    return define(
        kind.__name__,
        fields,
        namespace=_namespace(kind),
        frozen=True,
        kw_only=True,
        gc=False,
        forbid_unknown_fields=True,
    )


def _namespace(kind: type) -> dict[str, Any]:
    """Return the properties and methods of a dataclass, and the table by which `dataclasses.replace` knows it."""
    members: Mapping[str, Any] = vars(kind)
    public = {name: each for name, each in members.items() if isinstance(each, property) or name in _OPERATORS}
    return {**public, "__dataclass_fields__": members["__dataclass_fields__"]}


_OPERATORS = frozenset({"__add__", "__sub__"})
_BOUNDED: Mapping[Any, Any] = {
    float: _Float,
    float | None: _Float | None,
    Mapping[str, float]: Mapping[str, _Float],
    Mapping[str, Mapping[str, float]]: Mapping[str, Mapping[str, _Float]],
}
"""The types of numbers as the structs have them: `codec` reads what is beyond the bounds."""
