"""OpenLLMetry (`traceloop.*`): tools of LangChain hold what the model wrote among what LangChain added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viva.recordings.spans.conventions.convention import Convention, SpanContent
from viva.recordings.spans.conventions.written_values import read_object, written

_KIND = "traceloop.span.kind"
_ARGUMENTS, _RESULT, _CALL_ID = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.tool.call.id"
_NAME = "gen_ai.tool.name"
_INPUT, _OUTPUT = "traceloop.entity.input", "traceloop.entity.output"


def translate(content: SpanContent) -> SpanContent:
    """Return the span of a tool with the model's arguments alone, and with the tool's result alone."""
    attributes = content.attributes
    if attributes.get(_KIND) != "tool":
        return content
    read: dict[str, Any] = {}
    if _NAME not in attributes and attributes.get("traceloop.entity.name"):
        read[_NAME] = attributes["traceloop.entity.name"]
    given = read_object(attributes.get(_INPUT))
    if "input_str" in given and {"metadata", "tags", "kwargs"} & set(given):
        inputs = given.get("inputs")
        read[_ARGUMENTS] = written(inputs) if isinstance(inputs, Mapping) else given["input_str"]
    back = read_object(attributes.get(_OUTPUT))
    output = back.get("output") if set(back) == {"output", "kwargs"} else None
    if isinstance(output, str):
        read[_RESULT] = output
    message = output.get("kwargs") if isinstance(output, Mapping) else None
    if not isinstance(message, Mapping):
        return replace(content, attributes={**attributes, **read})
    result = message.get("content")
    read[_RESULT] = written(result)
    if message.get("tool_call_id"):
        read[_CALL_ID] = message["tool_call_id"]
    if message.get("status") != "error":
        return replace(content, attributes={**attributes, **read})
    return replace(
        content, attributes={**attributes, **read}, failed=True, message=content.message or read[_RESULT] or "failed"
    )


OPENLLMETRY = Convention("OpenLLMetry", ("traceloop.",), keys=frozenset({_KIND}), translate=translate)
