"""Counts each model call once, however many spans beside each other describe it."""

from __future__ import annotations

import re
from bisect import bisect
from functools import lru_cache

from viva.recordings.spans.model_calls import ModelCall, spans_of_calls
from viva.recordings.spans.tree import Tree
from viva.records.transcript import UNREPORTED

_LOOK_BACK = 8
"""Calls among which the one is looked for that a span repeats."""
_LONGEST_NAME = 200
"""Of a method. Names are anyone's, and a search in a longer one takes time."""
# The methods of one client that call each other: LlamaIndex's `astream_chat` begins a stream, `stream_chat` reads it.
_METHOD = re.compile(
    r"(?P<of>.*?)(?P<how>a?(?:stream_)?)(?P<what>chat|complete|predict|invoke|call|generate)(?P<tail>\w*)"
)


def model_calls(tree: Tree) -> list[ModelCall]:
    """Return the model calls of a trace in the order of their start, each once.

    A span that covers the time of another one, was written by another instrumentation and says the same describes the
    same call. So does one beside it of another method of the same client that was given and said the same.
    """
    calls, unheard = spans_of_calls(tree)
    kept: list[ModelCall] = []
    for call in calls:
        near = range(len(kept) - 1, max(-1, len(kept) - 1 - _LOOK_BACK), -1)
        same = next((place for place in near if _covers(kept[place], call) or _streams(kept[place], call)), None)
        if same is None:
            kept.append(call)
        else:
            kept[same] = _joined(kept[same], call)
    _join_unheard(kept, unheard, tree)
    return kept


def _join_unheard(kept: list[ModelCall], unheard: list[ModelCall], tree: Tree) -> None:
    """Add spans without an output to the call beside them that they describe, where there is one."""
    places = [tree.places[call.span.id] for call in kept]
    for call in unheard:
        at = bisect(places, tree.places[call.span.id])
        near = range(min(at, len(kept) - 1), max(-1, at - 1 - _LOOK_BACK), -1)
        same = next((place for place in near if _streams(kept[place], call)), None)
        if same is not None:
            kept[same] = _joined(kept[same], call)


def _joined(before: ModelCall, call: ModelCall) -> ModelCall:
    output = before.output if not _is_silent(before) else call.output
    return ModelCall(before.span, output, (*before.others, call.span, *call.others))


def _covers(one: ModelCall, other: ModelCall) -> bool:
    """Return whether two spans are of one call: two instrumentations of one client, one within the other."""
    if None in (one.span.start_ns, one.span.end_ns, other.span.start_ns, other.span.end_ns):
        return False
    within = one.span.start_ns <= other.span.start_ns and other.span.end_ns <= one.span.end_ns  # type: ignore[operator]
    differs = one.span.scope != other.span.scope and bool(one.span.scope) and bool(other.span.scope)
    return within and differs and _say_the_same(one, other)


def _streams(one: ModelCall, other: ModelCall) -> bool:
    """Return whether two spans beside each other are of one streamed call, of two methods of one client."""
    if one.span.parent_id != other.span.parent_id or one.span.scope != other.span.scope:
        return False
    if one.span.name == other.span.name or (method := _method(one.span.name)) is None:
        return False
    if method != _method(other.span.name):
        return False
    usage = UNREPORTED in (one.usage, other.usage) or one.usage == other.usage
    return _say_the_same(one, other) and usage and one.model == other.model and one.inputs == other.inputs


@lru_cache(maxsize=1000)
def _method(name: str) -> tuple[str, str] | None:
    """Return the client and what it was asked for, however it was called, in the name of a span."""
    found = _METHOD.fullmatch(name) if len(name) <= _LONGEST_NAME else None
    return None if found is None else (found["of"], found["what"])


def _say_the_same(one: ModelCall, other: ModelCall) -> bool:
    return _is_silent(one) or _is_silent(other) or _said(one) == _said(other)


def _said(call: ModelCall) -> tuple[object, ...]:
    output = call.output
    return (output.text, [asked.name for asked in output.calls])


def _is_silent(call: ModelCall) -> bool:
    return not (call.output.text or call.output.calls or call.output.reasoning)
