"""Strands Agents: messages are events of spans, as blocks of Bedrock's Converse API or in the parts of `gen_ai.*`.

By default there is an event for each message (`gen_ai.user.message`, `gen_ai.choice`…) whose text is a JSON list of
blocks. With `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`, events named
`gen_ai.client.inference.operation.details` have the attributes that other instrumentations write on the span.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viva.recordings.spans.conventions.convention import Convention, SpanContent
from viva.recordings.spans.conventions.written_values import (
    ARGUMENTS,
    INPUT,
    OPERATION,
    OUTPUT,
    RESULT,
    SYSTEM,
    back,
    call,
    message,
    objects,
    text,
    written,
)
from viva.recordings.spans.values import loaded

_DETAILS = "gen_ai.client.inference.operation.details"
_CHOICE = "gen_ai.choice"
_ROLES = {f"gen_ai.{role}.message": role for role in ("user", "assistant", "tool")}
_BLOCKS = frozenset({"text", "toolUse", "toolResult", "reasoningContent", "json"})


def translate(content: SpanContent) -> SpanContent:
    """Return a span with what its events say among its attributes."""
    if content.attributes.get(OPERATION) == "execute_tool":
        return replace(content, attributes={**content.attributes, **_tool(content)})
    told: dict[str, Any] = {}
    inputs: list[dict[str, Any]] = []
    for event in content.events:
        name, attributes = event["name"], event["attributes"]
        if name == _DETAILS:
            told |= {key: attributes[key] for key in (INPUT, OUTPUT, SYSTEM) if key in attributes}
        elif name == "gen_ai.system.message":
            told[SYSTEM] = written(_parts(attributes.get("content")))
        elif name in _ROLES:
            inputs.append(message(_ROLES[name], _parts(attributes.get("content"))))
        elif name == _CHOICE:
            told[OUTPUT] = written([message("assistant", _parts(attributes.get("message")))])
    if inputs:
        told[INPUT] = written(inputs)
    elif INPUT in told:
        told[INPUT] = written([_plain(each) for each in objects(told[INPUT])])
    return replace(content, attributes={**content.attributes, **told})


def _tool(content: SpanContent) -> dict[str, Any]:
    """Return what the span of a tool got and gave."""
    told: dict[str, Any] = {}
    if (given := content.attributes.get(RESULT)) is not None:
        told[RESULT] = _result(given)
    for event in content.events:
        name, attributes = event["name"], event["attributes"]
        if name == "gen_ai.tool.message" and "content" in attributes:
            told[ARGUMENTS] = attributes["content"]
        elif name == _CHOICE and "message" in attributes:
            told[RESULT] = _result(attributes["message"])
        elif name == _DETAILS and OUTPUT in attributes:
            parts = (part for each in objects(attributes[OUTPUT]) for part in objects(each.get("parts")))
            answers = [part["response"] for part in parts if "response" in part]
            told |= {RESULT: _result(answers[0])} if answers else {}
    return told


def _parts(given: Any) -> list[dict[str, Any]]:
    """Return the blocks of a message as parts; plain text is one."""
    blocks = loaded(given)
    if not isinstance(blocks, list):
        return [text(written(given))] if given is not None else []
    return [part for block in blocks if isinstance(block, Mapping) for part in _part(block)]


def _part(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    used, came = block.get("toolUse"), block.get("toolResult")
    if isinstance(used, Mapping):
        return [call(used.get("name"), used.get("input"), used.get("toolUseId"))]
    if isinstance(came, Mapping):
        return [back(_result(came.get("content")), came.get("toolUseId"))]
    if "text" in block:
        return [text(block["text"])]
    return [{"type": kind, "content": value} for kind, value in block.items()]


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message of parts in which the results of tools are text instead of blocks."""
    parts = [
        {**part, "response": _result(part["response"])} if "response" in part else part
        for part in objects(given.get("parts"))
    ]
    return {**given, "parts": parts}


def _result(given: Any) -> Any:
    """Return the text of a result, where its blocks hold nothing else."""
    blocks = loaded(given)
    if not isinstance(blocks, list) or not all(
        isinstance(block, Mapping) and len(block) == 1 and _BLOCKS.issuperset(block) for block in blocks
    ):
        return given
    return "\n".join(written(block.get("text", block.get("json"))) for block in blocks)


STRANDS = Convention(
    "Strands Agents",
    ("gen_ai.event.",),
    keys=frozenset({"gen_ai.event.start_time"}),
    scopes=("strands.",),
    translate=translate,
)
