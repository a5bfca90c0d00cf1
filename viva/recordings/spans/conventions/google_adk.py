"""Google's Agent Development Kit: `gen_ai.*`, or in its older format `gcp.vertex.agent.*` with the API's own messages.

The newer format holds messages only with `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY` or
`SPAN_AND_EVENT`.
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
    TOOL_NAME,
    TOOLS,
    back,
    call,
    message,
    objects,
    read_object,
    reasoning,
    text,
    written,
)
from viva.recordings.spans.values import loaded

_OWN = "gcp.vertex.agent."
_REQUEST, _RESPONSE = f"{_OWN}llm_request", f"{_OWN}llm_response"
_ROLES = {"model": "assistant", "user": "user"}


def translate(content: SpanContent) -> SpanContent:
    """Return a span with messages, arguments and results in the attributes of `gen_ai.*`."""
    attributes = dict(content.attributes)
    if attributes.get(OPERATION) == "execute_tool":
        if attributes.get(TOOL_NAME) == "(merged tools)":
            del attributes[OPERATION]  # it sums up calls made side by side, each of which has a span
            return replace(content, attributes=attributes)
        return _tool(content, attributes)
    for key in (INPUT, OUTPUT):
        if key in attributes:
            attributes[key] = written([_unwrapped(each) for each in objects(attributes[key])])
    if request := read_object(attributes.get(_REQUEST)):
        attributes = {OPERATION: "chat", **_asked(request), **attributes}
    if response := read_object(attributes.get(_RESPONSE)):
        said = read_object(response.get("content"))
        attributes.setdefault(OUTPUT, written([message("assistant", _parts(said))]))
    return replace(content, attributes=attributes)


def _tool(content: SpanContent, attributes: dict[str, Any]) -> SpanContent:
    given = attributes.get(f"{_OWN}tool_call_args")
    if given is not None:
        attributes.setdefault(ARGUMENTS, given)
    came = read_object(attributes.get(RESULT, attributes.get(f"{_OWN}tool_response")))
    if came:
        attributes[RESULT] = written(_result(came))
    fault = came.get("error")
    if content.failed and isinstance(fault, str) and fault:
        return replace(content, attributes=attributes, message=fault)
    return replace(content, attributes=attributes)


def _asked(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a request to the model holds."""
    config = read_object(request.get("config"))
    contents = objects(request.get("contents"))
    told = {INPUT: written([message(_ROLES.get(str(each.get("role")), "user"), _parts(each)) for each in contents])}
    if isinstance(system := config.get("system_instruction"), str):
        told[SYSTEM] = system
    declared = [each for tool in objects(config.get("tools")) for each in objects(tool.get("function_declarations"))]
    if declared:
        told[TOOLS] = written([_definition(each) for each in declared])
    return told


def _definition(declared: Mapping[str, Any]) -> dict[str, Any]:
    parameters = declared.get("parameters_json_schema", declared.get("parameters"))
    known = {"type": "function", "name": declared.get("name"), "description": declared.get("description")}
    return {**known, "parameters": parameters}


def _parts(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for part in objects(content.get("parts")):
        called, came = read_object(part.get("function_call")), read_object(part.get("function_response"))
        if called:
            found.append(call(called.get("name"), called.get("args") or {}, called.get("id")))
        elif came:
            found.append(back(_result(came.get("response")), came.get("id")))
        elif part.get("text") is not None:
            found.append((reasoning if part.get("thought") is True else text)(part["text"]))
    return found


def _unwrapped(given: Mapping[str, Any]) -> dict[str, Any]:
    parts = [
        {**part, "response": _result(part["response"])} if "response" in part else part
        for part in objects(given.get("parts"))
    ]
    role = str(given.get("role") or "")
    return {**given, "role": _ROLES.get(role, role), "parts": parts}


def _result(given: Any) -> Any:
    """Return what a tool gave back: ADK puts anything but an object under `result`."""
    came = loaded(given)
    return came["result"] if isinstance(came, Mapping) and set(came) == {"result"} else given


GOOGLE_ADK = Convention(
    "Google ADK",
    (_OWN,),
    keys=frozenset({_REQUEST, f"{_OWN}event_id", f"{_OWN}invocation_id", f"{_OWN}tool_call_args"}),
    scopes=("gcp.vertex.agent",),
    translate=translate,
)
