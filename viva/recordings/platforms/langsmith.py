"""Reads `langsmith:FILE`: LangSmith's runs, as `Client.list_runs`, the API and the bulk export (Parquet) have them.

A run has `id`, `trace_id`, `parent_run_id`, `run_type`, `inputs`, `outputs`, `error`, `start_time` and `end_time`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from viva.recordings.platforms.reader import PlatformReader
from viva.recordings.platforms.spans import MODEL, OTHER, TOOL, count_of, make_span, unreadable
from viva.recordings.spans.values import listed, loaded

_KINDS = {"llm": MODEL, "chat_model": MODEL, "tool": TOOL}
_LONGEST = 100_000
"""Characters of a tool's input that is read as a Python literal, as LangChain writes it."""


class LangSmithReader(PlatformReader):
    """Reads `langsmith:FILE`."""

    name = "langsmith"
    joins = "langsmith"
    lists = ("runs", "data")

    def translate(self, record: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the spans of a run, and of the runs below it if they lie within it."""
        waiting: list[Any] = [record]
        while waiting:
            run = waiting.pop()
            waiting += reversed(listed(run.get("child_runs"))) if isinstance(run, Mapping) else ()
            yield _run(run) if isinstance(run, Mapping) else unreadable(run)


def _run(run: Mapping[str, Any]) -> Any:
    if "run_type" not in run:
        return None
    kind = _KINDS.get(str(run["run_type"]), OTHER)
    given, returned, error = loaded(run.get("inputs")), loaded(run.get("outputs")), run.get("error")
    call = None
    if kind == TOOL:
        call = _call_id(returned)
        given = _tool_input(given)
        returned, failed = _tool_output(returned)
        error = error or failed
    extra = loaded(run.get("extra"))
    extra = extra if isinstance(extra, Mapping) else {}
    metadata, asked = (
        each if isinstance(each, Mapping) else {} for each in (extra.get("metadata"), extra.get("invocation_params"))
    )
    return make_span(
        trace=run.get("trace_id") or run.get("id"),
        identity=run.get("id"),
        parent=run.get("parent_run_id"),
        name=run.get("name"),
        kind=kind,
        given=given,
        returned=returned,
        began=run.get("start_time"),
        ended=run.get("end_time"),
        error=error,
        model=metadata.get("ls_model_name") or asked.get("model"),
        tokens=_tokens(run, returned, metadata) if kind == MODEL else None,
        session=next(
            (metadata[key] for key in ("session_id", "thread_id", "conversation_id") if key in metadata), None
        ),
        tools=asked.get("tools"),
        call=call,
        raw=run,
    )


def _call_id(returned: Any) -> Any:
    message = returned.get("output") if isinstance(returned, Mapping) else None
    inner = message.get("kwargs", message) if isinstance(message, Mapping) else None
    return inner.get("tool_call_id") if isinstance(inner, Mapping) else None


def _tool_input(given: Any) -> Any:
    """Return a tool's arguments: LangChain wraps them as `{"input": "{'city': 'Rome'}"}`."""
    if not isinstance(given, Mapping) or set(given) != {"input"}:
        return given
    value = loaded(given["input"])
    if isinstance(value, str) and value.lstrip().startswith("{") and len(value) <= _LONGEST:
        try:
            found = ast.literal_eval(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return given
        return found if isinstance(found, dict) else given
    return value if isinstance(value, Mapping) else given


def _tool_output(returned: Any) -> tuple[Any, Any]:
    """Return a tool's result, and its error: LangChain wraps a message as `{"output": {"content": "25"}}`."""
    if not isinstance(returned, Mapping) or set(returned) != {"output"}:
        return returned, None
    value = loaded(returned["output"])
    if isinstance(value, Mapping) and isinstance(value.get("kwargs"), Mapping):
        value = value["kwargs"]
    if isinstance(value, Mapping) and "content" in value:
        content = value["content"]
        return content, (content or "failed") if value.get("status") == "error" else None
    return value, None


def _tokens(run: Mapping[str, Any], returned: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:
    places = [run, metadata.get("usage_metadata"), *_usages(returned)]
    prompt, completion = (
        next((found for place in places if (found := count_of(place, *names)) is not None), None)
        for names in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    )
    return {"prompt": prompt, "completion": completion}


def _usages(returned: Any) -> Iterator[Any]:
    if not isinstance(returned, Mapping):
        return
    yield returned.get("usage_metadata")
    yield returned.get("usage")
    if isinstance(returned.get("llm_output"), Mapping):
        yield returned["llm_output"].get("token_usage")
    first: Any = returned.get("generations")
    while isinstance(first, list) and first:
        first = first[0]
    message = first.get("message") if isinstance(first, Mapping) else None
    inner = message.get("kwargs", message) if isinstance(message, Mapping) else None
    if isinstance(inner, Mapping):
        yield inner.get("usage_metadata")
