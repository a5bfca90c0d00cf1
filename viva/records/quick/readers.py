"""Reads settings, rounds and facts of stored conversations by native code, and makes dataclasses of what it read.

msgspec makes a struct, of which these are copies, in a fraction of the time in which pydantic makes a frozen
dataclass. What is not of the strictest form is left to `codec`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Annotated, Any, get_type_hints

import msgspec

from viva.records.copies import copier_from
from viva.records.quick.records import read_setting
from viva.records.quick.structs import define
from viva.records.run_record import RunRecord, Setting, Timing
from viva.records.transcript import IN_PLACE_OF_A_REPLY, NO_USAGE, Round


def read_round(text: str | bytes) -> Round | None:
    """Return the round in some JSON, as `codec.decode_json` does; None if it has to be read by `codec`."""
    decoder, copy = _rounds()
    try:
        read = decoder.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if read.error is not None and read.agent is not None and read.agent.startswith(IN_PLACE_OF_A_REPLY):
        return None
    round_: Round = copy(read, NO_USAGE, NO_USAGE)
    return round_


@lru_cache(maxsize=4)
def read_whole_setting(text: str | bytes) -> Setting | None:
    """Return the setting in some JSON, as `codec.decode_json` does; None if it has to be read by `codec`.

    The last ones are remembered, because the setting of a run is read for its facts and for its conversation.
    """
    read = read_setting(text)
    if read is None:
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
def _rounds() -> tuple[msgspec.json.Decoder[Any], Callable[..., Any]]:
    """Return what reads a round without steps, usage or further data, and what makes the dataclass of it."""
    hints = get_type_hints(Round)
    fields: list[Any] = []
    for field in dataclasses.fields(Round):
        if field.name in ("usage", "examiner_usage", "steps"):
            continue
        if field.name == "attributes":
            fields.append(("attributes", _NO_DATA, msgspec.field(default_factory=dict)))
        elif field.default is dataclasses.MISSING:
            fields.append((field.name, hints[field.name]))
        else:
            fields.append((field.name, hints[field.name], field.default))
    # Unknown fields are refused: `codec` knows more.
    struct = define("Round", fields, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True)
    return msgspec.json.Decoder(struct), copier_from(Round, steps=(), given=("usage", "examiner_usage"))


_NO_DATA = Annotated[dict[str, str], msgspec.Meta(max_length=0)]


@cache
def _settings() -> Callable[..., Any]:
    return copier_from(Setting)
