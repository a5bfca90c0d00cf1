"""Reads what a framework says that a run gave: the answer on an outer span, an output tool, a parser's own reading."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viva.recordings.output_text import text_of_output
from viva.recordings.react import to_json
from viva.recordings.spans.messages import RequestedCall, from_chat, output_messages
from viva.recordings.spans.model_calls import ModelCall
from viva.recordings.spans.span import Span, SpanKind
from viva.recordings.spans.spoken import spoken
from viva.recordings.spans.tree import Tree
from viva.recordings.spans.values import loaded

_OUTPUT_TOOLS = re.compile(r"final_result(?:_\w+)?|final_answer|set_model_response")
"""Tools with which an agent gives its structured answer: of Pydantic AI, smolagents, Google's ADK."""
_CODE_TOOL = "python_interpreter"
CODE_FAILED = "Error:\n"
"""How smolagents begins what came of code that failed."""
_WRAPPERS = frozenset({"answer", "response", "result", "output"})
_PYTHON_OBJECT = re.compile(r"\s*(?:<[\w.]+ object at 0x|[A-Za-z_][\w.]*\((?:\w+=|[\[{('\"<]).*\)\s*$)", re.DOTALL)
_LONGEST_LITERAL = 200_000


def own_answer(span: Span | None) -> str | None:
    """Return what the span of a whole run says that it gave, where that is words or an object; else None."""
    if span is None or span.kind is SpanKind.LLM:
        return None
    given = loaded(span.attributes.get("final_result"))
    if given is not None:
        return answer_text(given)
    said = spoken(output_messages(span))
    if said is not None and said.text and not said.calls:
        return said.text
    for key in ("output.value", "traceloop.entity.output"):
        value = loaded(span.attributes.get(key))
        if isinstance(value, str):
            value = _literal(value)
        if isinstance(value, str) and value.strip() and not is_python_object(value):
            return value
        if isinstance(value, list | Mapping) and (text := _in_object(value)):
            return text
    return None


def is_python_object(text: str) -> bool:
    """Return whether a text is a Python object written with `repr`, which no agent says."""
    return _PYTHON_OBJECT.match(text) is not None


def _literal(text: str) -> Any:
    """Return the object that a Python dictionary or list stands for that was written as text; else the text."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > _LONGEST_LITERAL:
        return text
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text


def _in_object(value: Any) -> str | None:
    if isinstance(value, Mapping):
        if value.get("structured_response") is not None:
            return answer_text(value["structured_response"])
        messages = value.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[-1], Mapping):
            last = from_chat(_unwrapped(messages[-1]))
            return last.text if last.role == "assistant" and not last.calls and last.text else None
    return text_of_output(value)


def _unwrapped(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a message that LangChain wrote with its constructor's name around them."""
    inner = message.get("kwargs", message.get("data"))
    return inner if isinstance(inner, Mapping) and "content" in inner else message


def answer_text(given: Any) -> str:
    """Return a structured answer as text: JSON, or the words alone where it only wraps them."""
    if isinstance(given, Mapping) and len(given) == 1 and next(iter(given)) in _WRAPPERS:
        given = next(iter(given.values()))
    return given if isinstance(given, str) else to_json(given)


def is_output_tool(name: str) -> bool:
    """Return whether agents give their answer by calling a tool of this name."""
    return _OUTPUT_TOOLS.fullmatch(name) is not None


def is_code(calls: Sequence[RequestedCall]) -> bool:
    """Return whether what a model asked for is the action of a code agent, which has no id."""
    return len(calls) == 1 and calls[0].name == _CODE_TOOL and calls[0].id is None


def output_call(calls: Sequence[RequestedCall], stated: str | None) -> RequestedCall | None:
    """Return the call of the last model call of a run that gives the answer instead of calling a tool.

    Args:
        calls: What the model asked for.
        stated: What the framework says that the run gave.
    """
    for call in calls:
        if call.name is not None and is_output_tool(call.name):
            return call
    return next((call for call in calls if stated and _is_stated(call.arguments, stated)), None)


def _is_stated(given: Any, stated: str) -> bool:
    if not isinstance(given, Mapping) or not given:
        return False
    return bool(given == loaded(stated))


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a framework's own parser read in the words of a model."""

    tool: str | None = None
    tool_input: Any = None
    answer: str | None = None


def parsed_by_framework(spans: Iterable[Span], calls: Sequence[ModelCall], tree: Tree) -> dict[str, Parsed]:
    """Return the id of each model call's span with what the framework's parser read, where it recorded that."""
    parsers = [(tree.places[span.id], read) for span in spans if (read := _parsed(span)) is not None]
    found: dict[str, Parsed] = {}
    places = [tree.places[call.span.id] for call in calls]
    for number, call in enumerate(calls):
        end = places[number + 1] if number + 1 < len(calls) else len(tree.spans)
        while parsers and parsers[0][0] < places[number]:
            parsers.pop(0)
        if parsers and parsers[0][0] < end:
            found[call.span.id] = parsers.pop(0)[1]
    return found


def _parsed(span: Span) -> Parsed | None:
    """Read the span of a parser: LlamaIndex's (`ReActOutputParser.parse`) or LangChain's (`ReAct…OutputParser`)."""
    if "OutputParser" not in span.name or span.failed:
        return None
    value = loaded(span.attributes.get("output.value"))
    if not isinstance(value, Mapping):
        return None
    for name, given in (("action", "action_input"), ("tool", "tool_input")):
        if isinstance(value.get(name), str) and given in value:
            return Parsed(value[name], value[given])
    returned = value.get("return_values")
    answer = returned.get("output") if isinstance(returned, Mapping) else value.get("response")
    return Parsed(answer=answer) if isinstance(answer, str) else None
