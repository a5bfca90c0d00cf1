"""Reads the lines of stored conversations by native code, and makes dataclasses of what it read.

msgspec makes a struct, of which these are copies, in a fraction of the time in which pydantic makes a frozen
dataclass. What is not of the strictest form is left to `codec`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, Literal, get_type_hints

import msgspec

from viva.records.codec import MAX_DEPTH
from viva.records.copies import copier_from
from viva.records.quick.records import is_deep, read_setting, usage_struct
from viva.records.quick.structs import define
from viva.records.run_record import RunRecord, Setting, Timing
from viva.records.transcript import IN_PLACE_OF_A_REPLY, NO_USAGE, Metrics, Round, Step, Transcript, Usage


def read_round(text: str | bytes) -> Round | None:
    """Return the round in some JSON, as `codec.decode_json` does; None if it has to be read by `codec`."""
    decoder, copy, copy_step, copy_usage = _rounds()
    try:
        read = decoder.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return _round_of(read, text, copy, copy_step, copy_usage)


def read_round_lines(lines: Sequence[str]) -> list[Round] | None:
    """Return the rounds in whole lines of a journal, as `read_round` returns the round in the data of each.

    Returns:
        None if one of them has to be read alone: it is of another form, or holds something else.
    """
    _, copy, copy_step, copy_usage = _rounds()
    try:
        read = _round_lines().decode_lines("\n".join(lines))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if len(read) != len(lines):
        return None
    found = []
    for each, text in zip(read, lines, strict=True):
        round_ = _round_of(each.data, text, copy, copy_step, copy_usage)
        if round_ is None:
            return None
        found.append(round_)
    return found


def _round_of(
    read: Any,
    text: str | bytes,
    copy: Callable[..., Any],
    copy_step: Callable[..., Any],
    copy_usage: Callable[..., Any],
) -> Round | None:
    if read.error is not None and read.agent is not None and read.agent.startswith(IN_PLACE_OF_A_REPLY):
        return None
    if (read.steps or read.attributes) and _has_many_brackets(text):
        data = (part for step in read.steps for part in (step.tool_input, step.attributes))
        if any(map(is_deep, (read.attributes, *data))):
            return None
    steps = tuple([copy_step(step, _usage(step.usage, copy_usage)) for step in read.steps]) if read.steps else ()
    round_: Round = copy(read, steps, _usage(read.usage, copy_usage), _usage(read.examiner_usage, copy_usage))
    return round_


def _has_many_brackets(text: str | bytes) -> bool:
    """Return whether JSON has enough lists and mappings for some of them to be nested too deeply."""
    found = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    return found > MAX_DEPTH


def _usage(read: Any, copy: Callable[..., Any]) -> Usage:
    """Return the dataclass of a usage that was read; what is left out in the JSON is one already."""
    usage: Usage = read if read is NO_USAGE else copy(read)
    return usage


def read_transcript(text: str | bytes) -> Transcript | None:
    """Return the transcript in some JSON, as `codec.decode_json` does; None if it has to be read by `codec`."""
    decoder, copy, copy_metrics, copy_usage = _transcripts()
    try:
        read = decoder.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    usage, metrics = {role: copy_usage(used) for role, used in read.usage.items()}, read.metrics
    if metrics is not None:
        metrics = copy_metrics(metrics, {model: copy_usage(used) for model, used in metrics.usage_by_model.items()})
    transcript: Transcript = copy(read, usage, metrics)
    return transcript


def read_ending(text: str | bytes) -> dict[str, Any] | None:
    """Return how a conversation ended (`source`, `stop`, `round_count`) in the JSON of its transcript.

    Args:
        text: The JSON of a line that is known to be whole: what is not read is not checked.

    Returns:
        None if the JSON has to be parsed.
    """
    try:
        read = _endings().decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return {"source": read.source, "stop": read.stop, "round_count": read.round_count}


@cache
def _endings() -> msgspec.json.Decoder[Any]:
    fields: list[Any] = [("source", str | None, None), ("stop", str | None, None), ("round_count", int | None, None)]
    return msgspec.json.Decoder(define("Ending", fields, frozen=True, kw_only=True, gc=False))


@lru_cache(maxsize=4)
def read_whole_setting(text: str | bytes) -> Setting | None:
    """Return the setting in some JSON, as `codec.decode_json` does; None if it has to be read by `codec`.

    The last ones are remembered, because the setting of a run is read for its facts and for its conversation.
    """
    read = read_setting(text)
    if read is None or read.unfair_attempts:  # structs, which few settings have
        return None
    setting: Setting = _settings()(read)
    return setting


def read_record_facts(text: str | bytes) -> RunRecord | None:
    """Return what a record says about its run, as a struct that lacks most fields; None if it has to be parsed.

    Args:
        text: The JSON of a line that is known to be whole: what is not read is not checked.
    """
    try:
        record: RunRecord = _record_facts().decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return record


@cache
def _record_facts() -> msgspec.json.Decoder[Any]:
    hints, timing = get_type_hints(RunRecord), [(each.name, float, each.default) for each in dataclasses.fields(Timing)]
    read = define("Timing", timing, frozen=True, kw_only=True, gc=False)
    fields: list[Any] = [
        (field.name, hints[field.name])
        if field.default is dataclasses.MISSING
        else (field.name, hints[field.name], field.default)
        for field in dataclasses.fields(RunRecord)
        if field.name in _FACTS
    ]
    fields.append(("timing", read, msgspec.field(default_factory=read)))
    return msgspec.json.Decoder(define("RunRecord", fields, frozen=True, kw_only=True, gc=False))


_FACTS = frozenset({"subject", "outcome", "trial", "agent_version", "tags"})


@cache
def _rounds() -> tuple[msgspec.json.Decoder[Any], Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Return what reads a round, and what makes the dataclasses of it, of its steps and of a usage."""
    makers = (
        copier_from(Round, ("steps", "usage", "examiner_usage")),
        copier_from(Step, ("usage",)),
        copier_from(Usage),
    )
    return msgspec.json.Decoder(_round_struct()), *makers


@cache
def _round_struct() -> type[msgspec.Struct]:
    usage: Any = usage_struct()
    step: Any = _strict(Step, usage=usage)
    return _strict(Round, steps=tuple[step, ...], usage=usage, examiner_usage=usage)


@cache
def _round_lines() -> msgspec.json.Decoder[Any]:
    """Return what reads the lines of a journal that hold a round."""
    fields: list[Any] = [
        ("v", Literal[1]),
        ("event", Literal["round"]),
        ("run", str),
        ("attempt", int),
        ("data", _round_struct()),
        ("crc", str),
    ]
    return msgspec.json.Decoder(define("RoundLine", fields, frozen=True, gc=False, forbid_unknown_fields=True))


@cache
def _transcripts() -> tuple[msgspec.json.Decoder[Any], Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Return what reads a transcript without rounds, tools and the like, and what makes dataclasses of its parts."""
    usage: Any = usage_struct()
    metrics = _strict(Metrics, usage_by_model=dict[str, usage], subagents=_NO_DATA)
    struct = _strict(
        Transcript,
        rounds=_NO_ITEMS,
        tools=_NO_ITEMS,
        given=_NO_ITEMS,
        late_steps=_NO_ITEMS,
        attributes=_NO_DATA,
        usage=dict[str, usage],
        metrics=metrics | None,
    )
    makers = (
        copier_from(Transcript, ("usage", "metrics")),
        copier_from(Metrics, ("usage_by_model",)),
        copier_from(Usage),
    )
    return msgspec.json.Decoder(struct), *makers


def _strict(kind: type, left_out: Sequence[str] = (), **types: Any) -> type[msgspec.Struct]:
    """Make the struct of a dataclass without some of its fields; unknown ones are refused, because `codec` knows more.

    Args:
        kind: The dataclass.
        left_out: Fields that the JSON must not have.
        types: The types of fields that are read in another way.
    """
    hints = get_type_hints(kind)
    fields: list[Any] = []
    for field in dataclasses.fields(kind):
        named = (field.name, types.get(field.name, hints[field.name]))
        if field.name in left_out:
            continue
        if field.default_factory is not dataclasses.MISSING:
            fields.append((*named, msgspec.field(default_factory=field.default_factory)))
        else:
            fields.append(named if field.default is dataclasses.MISSING else (*named, field.default))
    return define(kind.__name__, fields, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True)


_NO_DATA = Annotated[dict[str, str], msgspec.Meta(max_length=0)]
_NO_ITEMS = Annotated[tuple[str, ...], msgspec.Meta(max_length=0)]


@cache
def _settings() -> Callable[..., Any]:
    return copier_from(Setting)
