"""DSPy by OpenInference: a model's words are the fields of a signature, in which a ReAct module names its tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viva.recordings.spans.conventions.convention import Convention, SpanContent
from viva.recordings.spans.conventions.written_values import (
    INPUT,
    OUTPUT,
    RESULT,
    TOOL_NAME,
    FlatMessage,
    call,
    message,
    openinference_messages,
    read_object,
    reasoning,
    text,
    written,
)
from viva.recordings.spans.values import loaded

_KIND = "openinference.span.kind"
_FIELD = re.compile(r"^\[\[ ## (\w+) ## \]\]\s*$", re.MULTILINE)
_REQUEST = "Respond with the corresponding output fields, starting with the field "
"""How the chat adapter ends the message of a user."""
_FINISH = "finish"
_ASKED = ("question", "query", "input", "user_request", "user_input", "prompt", "message", "text", "task")


def translate(content: SpanContent) -> SpanContent:
    """Return a span with question, calls and answer where the readers look for them."""
    attributes, name = content.attributes, content.name
    kind = str(attributes.get(_KIND)).upper()
    told: dict[str, Any] = {}
    if kind == "TOOL" and name.endswith(".__call__"):
        told = _tool(name.removesuffix(".__call__"), attributes)
    elif kind == "CHAIN" and name.endswith(".forward"):
        told = _module(name, attributes)
    elif kind == "LLM" and name.endswith(".__call__"):
        told = _model(attributes)
    return replace(content, attributes={**attributes, **told}) if told else content


def _tool(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    if name == _FINISH and not read_object(attributes.get("input.value")).get("kwargs"):
        return {_KIND: "CHAIN"}  # it ends the loop, and does nothing
    told: dict[str, Any] = {TOOL_NAME: name}
    back = attributes.get("output.value")
    if isinstance(back, str) and back[:1] == '"' and isinstance(plain := loaded(f"[{back}]"), list):
        told[RESULT] = plain[0]
    return told


def _module(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return question and answer of a module; a ReAct module is an agent."""
    told: dict[str, Any] = {_KIND: "AGENT"} if name == "ReAct.forward" else {}
    given = read_object(attributes.get("input.value")).get("input_args")
    if isinstance(given, Mapping) and (question := _question(given)) is not None:
        told["input.value"] = question
    back = dict(read_object(attributes.get("output.value")))
    if "trajectory" in back:
        told["output.value"] = _answer({key: value for key, value in back.items() if key != "trajectory"})
    return told


def _model(attributes: Mapping[str, Any]) -> dict[str, Any]:
    inputs = openinference_messages(attributes, "input")
    outputs = openinference_messages(attributes, "output")
    read_fields = [_fields(said.words) for said in outputs]
    if not any(read_fields) or not any(_FIELD.search(said.words) for said in inputs):
        return {}
    told = [
        message("assistant", _parts(fields) if fields else [text(said.words)])
        for fields, said in zip(read_fields, outputs, strict=True)
    ]
    return {INPUT: written([_asked(said) for said in inputs]), OUTPUT: written(told)}


def _fields(words: str) -> dict[str, Any]:
    """Return the fields of words, as the chat adapter marks them or as an object (the JSON adapter)."""
    parts = _FIELD.split(words)
    if len(parts) == 1:
        return dict(read_object(words))
    found = {name: value.strip() for name, value in zip(parts[1::2], parts[2::2], strict=True)}
    found.pop("completed", None)
    return found


def _parts(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    name = fields.get("next_tool_name")
    if isinstance(name, str):
        thought = [reasoning(fields["next_thought"])] if fields.get("next_thought") else []
        plain = name.strip().strip("'\"")
        return (
            thought if plain == _FINISH else [*thought, call(plain, loaded(fields.get("next_tool_args") or "{}"), None)]
        )
    thought = [reasoning(fields["reasoning"])] if fields.get("reasoning") and len(fields) > 1 else []
    return [*thought, text(_answer(fields))]


def _asked(said: FlatMessage) -> dict[str, Any]:
    if said.role == "assistant" and (fields := _fields(said.words)):
        return message("assistant", _parts(fields))
    if said.role == "user":
        fields = _fields(said.words.partition(f"\n{_REQUEST}")[0])
        fields.pop("trajectory", None)
        if fields:
            return message("user", [text(_question(fields) or written(fields))])
    return message(said.role, [text(said.words), *said.calls])


def _question(given: Mapping[str, Any]) -> str | None:
    words = {key: value for key, value in given.items() if isinstance(value, str) and value.strip()}
    usual = next((words[key] for key in _ASKED if key in words), None)
    return usual if usual is not None else next(iter(words.values()), None)


def _answer(fields: Mapping[str, Any]) -> str:
    """Return the answer among fields: what is not the reasoning, alone where there is nothing else."""
    rest = {key: value for key, value in fields.items() if key != "reasoning"} or dict(fields)
    return written(next(iter(rest.values()))) if len(rest) == 1 else written(rest)


DSPY = Convention(
    "DSPy (OpenInference)",
    (),
    keys=frozenset({_KIND}),
    scopes=("openinference.instrumentation.dspy",),
    translate=translate,
)
