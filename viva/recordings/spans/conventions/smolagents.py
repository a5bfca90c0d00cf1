"""smolagents by OpenInference: roles of its own, tools whose input wraps the arguments, and actions that are Python.

A code agent's action becomes a call of `python_interpreter` without an id, which is how smolagents itself keeps it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viva.recordings.spans.conventions.convention import Convention, SpanContent
from viva.recordings.spans.conventions.written_values import (
    ARGUMENTS,
    INPUT,
    OUTPUT,
    FlatMessage,
    back,
    call,
    message,
    openinference_messages,
    read_object,
    text,
    written,
)

_KIND = "openinference.span.kind"
_WRAPPER = {"args", "sanitize_inputs_outputs", "kwargs"}
_CODE = re.compile(r"(?:<code>|```(?:py|python)?\n)(?P<code>.*?)(?:</code>|```|\Z)", re.DOTALL)
_TASK, _CALLING, _FINAL, _PYTHON = "New task:\n", "Calling tools:\n", "final_answer", "python_interpreter"
_LONGEST = 100_000
"""Characters of Python beyond which it is not read for the answer of an earlier turn."""
_RESULT = re.compile(r"(?:Call id: \S+\n)?(?:Observation:\n)?")
_LOGS = re.compile(r"Execution logs:\n(?P<logs>.*?)\n?Last output from code snippet:\n(?P<last>.*)\Z", re.DOTALL)


def translate(content: SpanContent) -> SpanContent:
    """Return a span with the question, the arguments, and the messages as other instrumentations have them."""
    attributes = content.attributes
    kind = str(attributes.get(_KIND)).upper()
    told: dict[str, Any] = {}
    if kind == "TOOL":
        told = _tool(attributes)
    elif kind == "AGENT" and "smolagents.max_steps" in attributes:
        task = read_object(attributes.get("input.value")).get("task")
        told = {"input.value": task} if isinstance(task, str) else {}
    elif kind == "LLM" and content.name.endswith((".generate", ".generate_stream", ".__call__")):
        told = _model(attributes)
    return replace(content, attributes={**attributes, **told}) if told else content


def _tool(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the model gave: those by position get the names of the tool's parameters."""
    given = read_object(attributes.get("input.value"))
    if set(given) != _WRAPPER or not isinstance(given["kwargs"], Mapping):
        return {}
    by_position = given["args"] if isinstance(given["args"], list) else []
    names = list(read_object(attributes.get("tool.parameters")))
    if len(names) < len(by_position):
        return {}
    return {ARGUMENTS: written({**dict(zip(names, by_position, strict=False)), **given["kwargs"]})}


def _model(attributes: Mapping[str, Any]) -> dict[str, Any]:
    inputs = openinference_messages(attributes, "input")
    if not any(said.role in ("tool-call", "tool-response") or said.words.startswith(_TASK) for said in inputs):
        return {}
    told = {INPUT: written([_message(said) for said in inputs])}
    for said in openinference_messages(attributes, "output"):
        if not said.calls and (acting := _acting(said.words)) is not None:
            told[OUTPUT] = written([message("assistant", acting)])
    return told


def _message(said: FlatMessage) -> dict[str, Any]:
    if said.role == "tool-response":
        return message("tool", [back(_result(_RESULT.sub("", said.words, count=1)), said.answers)])
    if said.role == "tool-call":
        answer, calls = _called(said.words)
        return message("assistant", [text(answer)] if answer is not None else calls)
    if said.role == "assistant" and (acting := _acting(said.words)) is not None:
        return message("assistant", acting)
    words = said.words.removeprefix(_TASK) if said.role == "user" else said.words
    return message(said.role, [text(words), *said.calls])


def _acting(words: str) -> list[dict[str, Any]] | None:
    """Return the parts of words that hold code: what stands before it, and the code as a call; else None."""
    found = _CODE.search(words)
    if found is None or not (code := found["code"].strip()):
        return None
    return [text(words[: found.start()].strip()), call(_PYTHON, {"code": code}, None)]


def _called(words: str) -> tuple[str | None, list[dict[str, Any]]]:
    """Return the answer that calls in words give, or the calls."""
    if len(words) > _LONGEST:
        return None, [text(words)]
    try:
        listed = ast.literal_eval(words.removeprefix(_CALLING).strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None, [text(words)]
    calls = []
    for each in listed if isinstance(listed, list) else ():
        function = each.get("function") if isinstance(each, Mapping) else None
        if not isinstance(function, Mapping):
            continue
        name, given = function.get("name"), function.get("arguments")
        if name == _FINAL and isinstance(given, Mapping) and "answer" in given:
            return written(given["answer"]), []
        if name == _PYTHON and isinstance(given, str) and (answer := _answer_in(given)) is not None:
            return answer, []
        calls.append(call(name, given, None))
    return None, calls


def _answer_in(code: str) -> str | None:
    """Return the answer that code gives as a constant."""
    if len(code) > _LONGEST:
        return None
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _FINAL:
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
            if values and isinstance(values[0], ast.Constant):
                constant = values[0].value
                return constant if isinstance(constant, str) else json.dumps(constant, default=str)
    return None


def _result(words: str) -> str:
    """Return what code printed, or what its last line gave, without the framework's headings."""
    found = _LOGS.fullmatch(words.strip())
    if found is None:
        return words
    return found["logs"] if found["last"].strip() in ("", "None") else f"{found['logs']}\n{found['last']}".strip()


SMOLAGENTS = Convention(
    "smolagents (OpenInference)",
    ("smolagents.",),
    keys=frozenset({_KIND}),
    scopes=("openinference.instrumentation.smolagents",),
    translate=translate,
)
