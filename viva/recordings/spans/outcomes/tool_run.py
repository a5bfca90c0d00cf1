"""Reads the spans of tools that ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viva.recordings.spans.messages import arguments, as_text
from viva.recordings.spans.outcomes.tool_inputs import unwrapped
from viva.recordings.spans.span import Span
from viva.recordings.spans.tree import Tree
from viva.recordings.spans.values import loaded

_NAMES = ("gen_ai.tool.name", "tool.name", "tool_call.function.name")
_IDS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")
_ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "tool_call.function.arguments",
    "input.value",
    "traceloop.entity.input",
)
_RESULTS = ("gen_ai.tool.call.result", "tool_response", "output.value", "traceloop.entity.output")


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One run of a tool."""

    span: Span
    name: str | None
    """None if only the span's own name says something."""
    arguments: Any
    """An object where the span holds one, else its text; None if it holds nothing."""
    result: str | None
    error: str | None
    call_id: str | None


def tool_run(span: Span) -> ToolRun:
    """Read the span of a tool."""
    attributes = span.attributes
    given = arguments(next((attributes[key] for key in _ARGUMENTS if attributes.get(key) is not None), None))
    back = loaded(next((attributes[key] for key in _RESULTS if attributes.get(key) is not None), None))
    name = next((attributes[key] for key in _NAMES if isinstance(attributes.get(key), str)), None)
    result, identity, failed = _read_result(back)
    identity = next((str(attributes[key]) for key in _IDS if attributes.get(key)), identity)
    error = span.message or "failed" if span.failed else result or "failed" if failed else None
    return ToolRun(span, name, unwrapped(given), result, error, identity)


def _read_result(back: Any) -> tuple[str | None, str | None, bool]:
    """Return text, call id and whether it is an error, as LlamaIndex's `ToolOutput` or LangChain's message says."""
    if not isinstance(back, Mapping):
        return (None if back is None else as_text(back)), None, False
    blocks = back.get("blocks")
    if isinstance(blocks, list) and "tool_name" in back:
        texts = [str(block["text"]) for block in blocks if isinstance(block, Mapping) and "text" in block]
        return "\n".join(texts), None, back.get("is_error") is True
    data = back.get("data") if back.get("type") == "tool" else back
    if isinstance(data, Mapping) and "content" in data and "tool_call_id" in data:
        identity = data["tool_call_id"]
        return as_text(data["content"]), str(identity) if identity else None, data.get("status") == "error"
    return as_text(back), None, False


def repeated_runs(runs: Sequence[ToolRun], tree: Tree) -> dict[str, ToolRun]:
    """Return the ids of the tools below another one of the same name, each with the innermost of those around it."""
    extents = tree.extents()
    around: dict[str | None, list[ToolRun]] = {}
    open_: list[ToolRun] = []
    found = {}
    for run in sorted(runs, key=lambda run: extents[run.span.id]):
        begin, _ = extents[run.span.id]
        while open_ and extents[open_[-1].span.id][1] < begin:
            around[open_.pop().name].pop()
        same = around.setdefault(run.name, [])
        if same:
            found[run.span.id] = same[-1]
        same.append(run)
        open_.append(run)
    return found


def with_inner_errors(runs: Sequence[ToolRun], repeated: Mapping[str, ToolRun], tree: Tree) -> list[ToolRun]:
    """Add the error of a tool's inner span to the outer one, which a framework that caught the error left without.

    The last inner span decides, as a tool may try again.
    """
    if not repeated:
        return list(runs)
    places = tree.places
    last: dict[str, ToolRun] = {}
    for run in sorted(runs, key=lambda run: places[run.span.id]):
        if (outer := repeated.get(run.span.id)) is not None:
            last[outer.span.id] = run
    errors: dict[str, str] = {}
    for run in sorted(runs, key=lambda run: places[run.span.id], reverse=True):
        inner = last.get(run.span.id)
        error = run.error or (None if inner is None else errors.get(inner.span.id))
        if error is not None:
            errors[run.span.id] = error
    return [replace(run, error=errors.get(run.span.id)) if run.span.id in last else run for run in runs]
