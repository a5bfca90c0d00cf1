"""Reads `weave:FILE`: the calls of W&B Weave, as `client.get_calls()`, its API and its export have them.

A call has `id`, `trace_id`, `parent_id`, `op_name` (`weave:///ENTITY/PROJECT/op/NAME:DIGEST`), `inputs`, `output`,
`exception`, `started_at`, `ended_at` and `summary.usage`, which also holds the sums of the calls below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from viva.recordings.platforms.reader import PlatformReader
from viva.recordings.platforms.spans import AGENT, MODEL, OTHER, TOOL, count_of, make_span
from viva.recordings.spans.values import loaded

_KINDS = {"llm": MODEL, "tool": TOOL, "agent": AGENT}
_MODEL = re.compile(
    r"(?:chat\.completions|[Cc]ompletions|responses|[Mm]essages|[Mm]odels|chat)\.(?:create|parse|stream|complete|"
    r"generate_content)\w*$|^litellm\.a?completion$|^langchain\.Llm\."
)
"""The operations of Weave's own integrations that ask a model."""
_TOOL = re.compile(r"^langchain\.Tool\.")


class WeaveReader(PlatformReader):
    """Reads `weave:FILE`."""

    name = "weave"
    joins = "weave"
    lists = ("calls", "data")

    def translate(self, record: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the span of a call."""
        if "op_name" not in record:
            yield None
            return
        given = record.get("inputs")
        inputs = {key: value for key, value in given.items() if key != "self"} if isinstance(given, Mapping) else given
        name = _short(record.get("op_name"))
        kind = _kind(name, record.get("attributes"))
        yield make_span(
            trace=record.get("trace_id"),
            identity=record.get("id"),
            parent=record.get("parent_id"),
            name=record.get("display_name") or name,
            kind=kind,
            given=inputs,
            returned=record.get("output"),
            began=record.get("started_at"),
            ended=record.get("ended_at"),
            error=_error(record.get("exception")),
            model=inputs.get("model") if isinstance(inputs, Mapping) else None,
            tokens=_tokens(record.get("summary")) if kind == MODEL else None,
            session=record.get("thread_id"),
            raw=record,
        )


def _error(exception: Any) -> Any:
    """Return what went wrong: newer clients write type, message and traceback as JSON."""
    told = loaded(exception)
    return (
        f"{told.get('type')}: {told.get('message')}" if isinstance(told, Mapping) and "message" in told else exception
    )


def _short(name: Any) -> str:
    return str(name or "").rpartition("/op/")[2].partition(":")[0]


def _kind(name: str, attributes: Any) -> str:
    attributes = attributes if isinstance(attributes, Mapping) else {}
    inner = attributes.get("weave")
    said = attributes.get("kind") or (inner.get("kind") if isinstance(inner, Mapping) else None)
    if str(said).lower() in _KINDS:
        return _KINDS[str(said).lower()]
    return MODEL if _MODEL.search(name) else TOOL if _TOOL.search(name) else OTHER


def _tokens(summary: Any) -> dict[str, Any]:
    usage = summary.get("usage") if isinstance(summary, Mapping) else None
    models = [each for each in usage.values() if isinstance(each, Mapping)] if isinstance(usage, Mapping) else []
    sums: dict[str, Any] = {}
    for key, names in (
        ("prompt", ("prompt_tokens", "input_tokens")),
        ("completion", ("completion_tokens", "output_tokens")),
    ):
        counts = [found for each in models if (found := count_of(each, *names)) is not None]
        sums[key] = sum(counts) if counts else None
    return sums
