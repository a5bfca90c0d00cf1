"""Derives an agent file from an OpenAPI document: which operation takes a message, and where its reply is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from viva.cli.init.surroundings import FoundAddress
from viva.errors import SetupError

MESSAGES = ("message", "prompt", "question", "query", "input", "text", "content", "user_input")
REPLIES = ("reply", "answer", "response", "output", "text", "message", "content", "result")
SESSIONS = ("session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "threadId", "session")
DEPTH = 4


def agent_file(found: FoundAddress, path: str | None) -> str:
    """Return the text of an agent file.

    Args:
        found: The document and its address.
        path: The operation that takes messages; None to choose it.

    Raises:
        SetupError: no operation takes a message, or several do.
    """
    fitting = {
        where: operation
        for where, operation in _operations(found.document)
        if _field(operation["body"], MESSAGES) is not None and (path is None or where == path)
    }
    if len(fitting) != 1:
        raise SetupError(_which(found, fitting, path))
    ((where, operation),) = fitting.items()
    body = {name: _value(name, schema) for name, schema in _wanted(operation["body"])}
    reply = _path_to(operation["answer"], REPLIES)
    described = {
        "connector": "http",
        "api": "json",
        "url": found.base,
        "request": {"path": where, "body": body},
        "reply": {"text": reply or "reply"},
    }
    note = "" if reply else "# The document does not say where the reply is: correct `text`.\n"
    return note + yaml.safe_dump(described, sort_keys=False, allow_unicode=True)


def _which(found: FoundAddress, fitting: Mapping[str, Any], path: str | None) -> str:
    if fitting:
        return f"several operations take a message: {', '.join(fitting)}. Choose one with --path."
    there = ", ".join(where for where, _ in _operations(found.document)) or "none"
    missing = f"{path} does not" if path else "no operation does"
    return (
        f"{missing} take a JSON body with a text such as {', '.join(MESSAGES[:4])} at a path without parameters "
        f"(POST operations: {there}). Write the agent file by hand: `viva docs http`."
    )


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        post = methods.get("post") if isinstance(methods, dict) else None
        if not isinstance(post, dict) or "{" in str(path):
            continue
        answers = post.get("responses") or {}
        answer: object = next((each for code, each in answers.items() if str(code).startswith("2")), {})
        yield (
            str(path),
            {
                "body": _schema(document, post.get("requestBody")),
                "answer": _schema(document, answer),
            },
        )


def _schema(document: Mapping[str, Any], holder: object) -> dict[str, Any]:
    holder = _resolved(document, holder)
    content = holder.get("content")
    media = content.get("application/json") if isinstance(content, dict) else None
    return _expanded(document, media.get("schema") if isinstance(media, dict) else None, DEPTH)


def _expanded(document: Mapping[str, Any], schema: object, depth: int) -> dict[str, Any]:
    found = dict(_resolved(document, schema))
    if depth and isinstance(found.get("properties"), dict):
        found["properties"] = {name: _expanded(document, each, depth - 1) for name, each in found["properties"].items()}
    return found


def _resolved(document: Mapping[str, Any], value: object) -> Mapping[str, Any]:
    """Follow references within the document."""
    for _ in range(DEPTH):
        if not (isinstance(value, dict) and isinstance(reference := value.get("$ref"), str)):
            break
        value = document
        for key in reference.removeprefix("#/").split("/"):
            value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _field(schema: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    fields = schema.get("properties") or {}
    return next((name for name in names if name in fields and fields[name].get("type", "string") == "string"), None)


def _path_to(schema: Mapping[str, Any], names: tuple[str, ...], depth: int = 2) -> str | None:
    if (name := _field(schema, names)) is not None:
        return name
    for outer, inner in (schema.get("properties") or {}).items() if depth else ():
        if (rest := _path_to(inner, names, depth - 1)) is not None:
            return f"{outer}.{rest}"
    return None


def _wanted(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    required = schema.get("required") or ()
    message = _field(schema, MESSAGES)
    for name, field in schema["properties"].items():
        if name == message:
            yield name, {"message": True}
        elif name in required or name in SESSIONS:
            yield name, field


def _value(name: str, schema: Mapping[str, Any]) -> Any:
    if "message" in schema:
        return "{{ message }}"
    if name in SESSIONS:
        return "{{ session_id }}"
    usual = {"integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}
    enumerated = schema.get("enum") or [None]
    return schema.get("default", schema.get("example", enumerated[0] or usual.get(str(schema.get("type")), "")))
