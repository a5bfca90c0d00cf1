"""Reads what an agent of Amazon Bedrock invoked, and what it observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from viva.recordings.numbers import finite
from viva.recordings.react import to_json

KNOWLEDGE_BASE, CODE_INTERPRETER = "knowledge_base", "code_interpreter"


@dataclass(frozen=True, slots=True)
class Invoked:
    """A tool that was invoked."""

    kind: str
    """That of its observation: `actionGroupInvocationOutput` and so on."""
    name: str
    given: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Observed:
    """What an agent observed of a tool."""

    kind: str
    result: str | None
    error: str | None = None


def invoked(given: Mapping[str, Any]) -> Invoked | None:
    """Read an `invocationInput`; None for one of an unknown kind."""
    if isinstance(group := given.get("actionGroupInvocationInput"), Mapping):
        path = " ".join(str(group[key]) for key in ("verb", "apiPath") if group.get(key))
        name = str(group.get("function") or path or group.get("actionGroupName") or "action")
        body = group.get("requestBody")
        content = body.get("content") if isinstance(body, Mapping) else None
        listed = [group.get("parameters"), *(content.values() if isinstance(content, Mapping) else ())]
        return Invoked("actionGroupInvocationOutput", name, _parameters(listed))
    if isinstance(base := given.get("knowledgeBaseLookupInput"), Mapping):
        return Invoked("knowledgeBaseLookupOutput", KNOWLEDGE_BASE, dict(base))
    if isinstance(code := given.get("codeInterpreterInvocationInput"), Mapping):
        return Invoked(
            "codeInterpreterInvocationOutput",
            CODE_INTERPRETER,
            {key: value for key, value in code.items() if value != []},
        )
    if isinstance(other := given.get("agentCollaboratorInvocationInput"), Mapping):
        said = other.get("input")
        name = str(other.get("agentCollaboratorName") or "collaborator")
        words = said.get("text") if isinstance(said, Mapping) else None
        return Invoked("agentCollaboratorInvocationOutput", name, {} if words is None else {"text": words})
    return None


def observed(given: Mapping[str, Any]) -> Observed | None:
    """Read the output of a tool in an `observation`; None for an observation of something else."""
    for kind in ("actionGroupInvocationOutput", "agentCollaboratorInvocationOutput"):
        if isinstance(output := given.get(kind), Mapping):
            said = output.get("output", output)
            return Observed(kind, said.get("text") if isinstance(said, Mapping) else None)
    if isinstance(found := given.get("knowledgeBaseLookupOutput"), Mapping):
        texts = [_reference(each) for each in found.get("retrievedReferences") or () if isinstance(each, Mapping)]
        return Observed("knowledgeBaseLookupOutput", "\n\n".join(texts))
    if isinstance(ran := given.get("codeInterpreterInvocationOutput"), Mapping):
        error = ran.get("executionError") or ("it took too long" if ran.get("executionTimeout") is True else None)
        return Observed("codeInterpreterInvocationOutput", ran.get("executionOutput") or error, error)
    return None


def _reference(reference: Mapping[str, Any]) -> str:
    content = reference.get("content")
    words = content.get("text") if isinstance(content, Mapping) else None
    return words if isinstance(words, str) else to_json(dict(reference))


def _parameters(lists: Iterable[Any]) -> dict[str, Any]:
    each = (one for listed in lists if isinstance(listed, list) for one in listed if isinstance(one, Mapping))
    return {str(one["name"]): _typed(one.get("value"), one.get("type")) for one in each if "name" in one}


def _typed(value: Any, kind: Any) -> Any:
    """Return a value, which is always written as text, as the type that the action group declares."""
    if not isinstance(value, str):
        return value
    if kind == "boolean" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if kind in ("integer", "number") and (number := _number(value)) is not None:
        return number
    return value


def _number(text: str) -> int | float | None:
    if len(text) > 30:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return finite(float(text))
    except ValueError:
        return None
