"""Writes the records of a conversation two to three times as fast as `codec`, for the lines of a journal.

A record is checked and copied into a struct, and the struct is written. Whatever is not of the strictest form (steps,
further data of any shape, values of another type) is left to `codec`, which decides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from functools import cache
from typing import Annotated, Any, get_type_hints

import msgspec

from viva.records.copies import changed
from viva.records.quick.structs import define
from viva.records.quick.templates import Templates, line_of_timing
from viva.records.run_record import RunRecord, Setting, Timing
from viva.records.transcript import LEFT_OUT, NO_USAGE, Metrics, Round, SubAgentShare, Transcript, Usage
from viva.records.verdict import Evidence, Insight, Verdict, Vote

_NO_ITEMS = Annotated[tuple[str, ...], msgspec.Meta(max_length=0)]
_NO_DATA = Annotated[dict[str, str], msgspec.Meta(max_length=0)]
"""What is only written here if it is empty."""
_write = msgspec.json.Encoder().encode


def write_line(value: object) -> bytes | None:
    """Return a record as one line of JSON that reads as what `codec.encode` writes; None if `codec` must write it."""
    form_of = _FORMS.get(type(value))
    if form_of is None:
        return None
    if (known := _lines.get(id(value))) is not None and known[0] is value:
        return known[1]
    try:
        if (in_parts := _IN_PARTS.get(type(value))) is not None and (line := in_parts(value)) is not None:
            return line
        # A struct is made of any object with its attributes, so it is the form's function that looks at the classes.
        form = form_of(value)
        return None if form is None else _written(value, _write(msgspec.convert(value, form, from_attributes=True)))
    except Exception:  # the value may be anyone's: other types, lone surrogates, objects that raise
        return None


_lines: dict[int, tuple[object, bytes]] = {}
"""The lines of the settings and insights that were written last, by the id of the object: each is written twice, in an
event of its own and in the record of its run."""
MOST_LINES, LONGEST_LINE = 256, 16 * 1024
"""Maximum number of these lines, and of the bytes of one."""


def _written(value: object, line: bytes) -> bytes:
    """Remember the line of a setting or an insight, and return it."""
    if type(value) in _TWICE and len(line) <= LONGEST_LINE:
        if len(_lines) >= MOST_LINES:
            _lines.clear()
        _lines[id(value)] = value, line
    return line


def _setting_in_parts(setting: Setting) -> bytes | None:
    """Write a setting that has what another one had, except for workspace and trial; None if it must be encoded."""
    if type(setting.workspace) is not str or type(setting.trial) is not int:
        return None
    parts = _settings.parts_of((setting.case, setting.agent, setting.persona, setting.strategy), setting)
    if parts is None:
        return None
    first, second, third = parts
    return _written(setting, b"%b%b%b%d%b" % (first, _write(setting.workspace), second, setting.trial, third))


def _cut_setting(setting: Setting) -> tuple[bytes, ...] | None:
    marked = changed(setting, workspace=_MARK, trial=_MARK_NUMBER)
    line = _write(msgspec.convert(marked, _form(Setting), from_attributes=True))
    first, *rest = line.split(_write(_MARK))
    if len(rest) != 1:
        return None
    second, *rest = rest[0].split(b"%d" % _MARK_NUMBER)
    return (first, second, *rest) if len(rest) == 1 else None


_MARK, _MARK_NUMBER = "\0mark", 9_876_543_210_987
"""What stands in a template for a text and a number that differ from run to run."""
_settings = Templates(Setting, ("workspace", "trial"), _cut_setting)


def _transcript_in_parts(transcript: Transcript) -> bytes | None:
    """Return the line of another transcript without rounds that was equal to this one; None if there was none."""
    parts = None if transcript.rounds else _transcripts.parts_of(transcript.round_count, transcript)
    return None if parts is None else parts[0]


def _whole_transcript(transcript: Transcript) -> tuple[bytes, ...] | None:
    form = _form_of_transcript(transcript)
    return None if form is None else (_write(msgspec.convert(transcript, form, from_attributes=True)),)


_transcripts = Templates(Transcript, (), _whole_transcript)


def _record_in_parts(record: RunRecord) -> bytes | None:
    """Write a record around the lines of its setting and insights; None if it must be encoded as a whole."""
    if type(record.insights) is not tuple or type(record.setting) is not Setting:
        return None
    lines = [write_line(each) if type(each) is Insight else None for each in record.insights]
    setting = write_line(record.setting)
    if setting is None or not lines or None in lines:
        return None
    insights = b",".join(lines)  # type: ignore[arg-type]
    if type(record.id) is str and type(record.trial) is int and type(record.timing) is Timing:
        # What equals the fields of a sound record is sound.
        parts = _records.parts_of((record.subject, record.agent, record.score), record)
        if parts is not None:
            first, second, third, fourth, last = parts
            run, trial = _write(record.id), b"" if record.trial == 1 else b',"trial":%d' % record.trial
            timing = line_of_timing(record.timing)
            if timing is None:
                timing = _write(msgspec.convert(record.timing, _timing(), from_attributes=True))
            return b'%b%b%b%b%b,"insights":[%b]%b%b%b,"setting":%b}' % (
                first, run, second, trial, third, insights, fourth, timing, last, setting
            )  # fmt: skip
    if not _is_sound(record):
        return None
    rest = _write(msgspec.convert(record, _form(RunRecord, _PARTS), from_attributes=True))
    # Inside of a text, quotes are escaped, so this is the first key of its name; usage follows the insights.
    before, usage, after = rest.partition(_USED)
    return b'%b,"insights":[%b]%b%b,"setting":%b}' % (before, insights, usage, after[:-1], setting) if usage else None


def _cut_record(record: RunRecord) -> tuple[bytes, ...] | None:
    if not _is_sound(record):
        return None
    marked = changed(record, id=_MARK, trial=_MARK_NUMBER, timing=Timing(float(_MARK_NUMBER)))
    line = _write(msgspec.convert(marked, _form(RunRecord, _PARTS), from_attributes=True))
    parts = []
    # Each is the first of its kind: the id is the first field, and keys cannot be in a text, where quotes are escaped.
    for mark in (_write(_MARK), b',"trial":%d' % _MARK_NUMBER, _USED, b'{"started":%d.0}' % _MARK_NUMBER):
        before, found, line = line.partition(mark)
        if not found:
            return None
        parts.append(before)
    first, second, third, fourth = parts
    return first, second, third, _USED + fourth, line[:-1]


_USED = b',"usage":{'
_records = Templates(RunRecord, ("id", "trial", "timing", "insights", "setting"), _cut_record)


_PARTS = ("insights", "setting")


def prepare_lines() -> None:
    """Make the structs of the usual records in advance, which takes a millisecond."""
    usual: tuple[tuple[type, tuple[str, ...]], ...] = ((Round, _USAGES), (Insight, _USAGE), (RunRecord, _USAGE))
    for kind, left_out in (*usual, (RunRecord, _PARTS), (Setting, ()), (Transcript, ())):
        _form(kind, left_out)


_USAGE, _EXAMINERS, _USAGES = ("usage",), ("examiner_usage",), ("usage", "examiner_usage")


def _form_of_round(round_: Round) -> Any:
    used, asked = round_.usage is not NO_USAGE, round_.examiner_usage is not NO_USAGE
    if (used and type(round_.usage) is not Usage) or (asked and type(round_.examiner_usage) is not Usage):
        return None
    if used:
        return _form(Round, () if asked else _EXAMINERS)
    return _form(Round, _USAGE if asked else _USAGES)


def _form_of_insight(insight: Insight) -> Any:
    if type(insight.usage) is not Usage or not _are_all(Verdict, insight.verdicts):
        return None
    return _form(Insight, _USAGE if insight.usage is NO_USAGE else ())


def _form_of_transcript(transcript: Transcript) -> Any:
    if _is_unknown(transcript.stop) or type(transcript.metrics) not in _METRICS:
        return None
    return _form(Transcript) if _are_all(Usage, tuple(transcript.usage.values())) else None


def _is_sound(record: RunRecord) -> bool:
    """Return whether a record is of the strictest form, apart from its insights and its setting."""
    if _is_unknown(record.outcome) or _is_unknown(record.stop) or type(record.metrics) not in _METRICS:
        return False
    return type(record.timing) is Timing and _are_all(Usage, tuple(record.usage.values()))


def _form_of_record(record: RunRecord) -> Any:
    if not _is_sound(record) or type(record.setting) is not Setting or not _are_all(Insight, record.insights):
        return None
    if any(_form_of_insight(each) is None for each in record.insights):
        return None
    return _form(RunRecord, _USAGE if all(each.usage is NO_USAGE for each in record.insights) else ())


def _form_of_verdict(verdict: Verdict) -> Any:
    return _form(Verdict)


def _form_of_setting(setting: Setting) -> Any:
    return _form(Setting)


def _are_all(kind: type, items: object) -> bool:
    # Not an iterator, which could be read only once.
    return type(items) is tuple and {kind}.issuperset(map(type, items))


def _is_unknown(value: Any) -> bool:
    """Return whether msgspec would write another text of an `OpenEnum` than its own: the one that is shown."""
    return value is not None and value._value_ != str.__str__(value)


_METRICS = (Metrics, type(None))
_FORMS: dict[type, Callable[[Any], Any]] = {
    Verdict: _form_of_verdict,
    Round: _form_of_round,
    Insight: _form_of_insight,
    Transcript: _form_of_transcript,
    RunRecord: _form_of_record,
    Setting: _form_of_setting,
}
_IN_PARTS: dict[type, Callable[[Any], bytes | None]] = {
    Setting: _setting_in_parts,
    Transcript: _transcript_in_parts,
    RunRecord: _record_in_parts,
}
_TWICE = frozenset({Setting, Insight})


@cache
def _form(kind: type, left_out: tuple[str, ...] = ()) -> Any:
    """Return the struct of a kind of record.

    Args:
        kind: The dataclass.
        left_out: The fields that have their defaults in the record, or in its insights. msgspec knows defaults by
            identity, and the defaults of these are records themselves.
    """
    if kind is Round:
        return _struct(kind, left_out, steps=_NO_ITEMS, attributes=_NO_DATA, usage=_usage(), examiner_usage=_usage())
    if kind is Insight:
        verdicts = tuple[_form(Verdict), ...]  # type: ignore[misc,valid-type]
        return _struct(kind, left_out, verdicts=verdicts, usage=_usage(), details=_NO_DATA)
    if kind is Verdict:
        evidence, votes = tuple[_struct(Evidence), ...], tuple[_struct(Vote), ...]  # type: ignore[misc]
        return _struct(kind, evidence=evidence, votes=votes)
    if kind is Transcript:
        empty = {"rounds": _NO_ITEMS, "late_steps": _NO_ITEMS, "tools": _NO_ITEMS, "attributes": _NO_DATA}
        return _struct(kind, usage=dict[str, _usage()], metrics=_metrics() | None, **empty)  # type: ignore[misc]
    if kind is RunRecord and left_out == _PARTS:
        parts = {"usage": dict[str, _usage()], "timing": _timing(), "metrics": _metrics() | None}  # type: ignore[misc]
        return _struct(kind, left_out, **parts)
    if kind is RunRecord:
        return _struct(
            kind,
            insights=tuple[_form(Insight, left_out), ...],  # type: ignore[misc]
            usage=dict[str, _usage()],  # type: ignore[misc]
            timing=_timing(),
            metrics=_metrics() | None,
            setting=_form(Setting),
        )
    return _struct(kind)


@cache
def _usage() -> Any:
    return _struct(Usage)


@cache
def _timing() -> Any:
    return _struct(Timing)


@cache
def _metrics() -> Any:
    share = _struct(SubAgentShare, usage=_usage())
    return _struct(Metrics, usage_by_model=dict[str, _usage()], subagents=dict[str, share])  # type: ignore[misc,valid-type]


def _struct(kind: type, left_out: Collection[str] = (), /, **types: Any) -> Any:
    """Make the struct of a dataclass, so that both cannot differ.

    Args:
        kind: The dataclass.
        left_out: The fields that the struct lacks.
        types: The types of fields that are structs themselves, or are restricted.
    """
    hints = get_type_hints(kind)
    fields: list[Any] = []
    for field in dataclasses.fields(kind):
        if field.name in left_out:
            continue
        default = field.metadata.get(LEFT_OUT, field.default)
        named = (field.name, types.get(field.name, hints[field.name]))
        if default is not dataclasses.MISSING:
            fields.append((*named, default))
        elif (make := field.default_factory) is not dataclasses.MISSING:
            fields.append((*named, msgspec.field(default_factory=make)))  # type: ignore[arg-type]
        else:
            fields.append(named)
    return define(kind.__name__, fields, frozen=True, kw_only=True, gc=False, omit_defaults=True)
