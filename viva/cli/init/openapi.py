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
CHAT = "messages"
"""The field of all messages so far, in the form of the chat protocol."""
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
        if _takes_messages(operation["body"]) and (path is None or where == path)
    }
    if len(fitting) != 1:
        raise SetupError(_which(found, fitting, path))
    ((where, operation),) = fitting.items()
    body = {name: _value(name, schema) for name, schema in _wanted(operation["body"])}
    reply = _reply(operation["answer"])
    described = {
        "connector": "http",
        "api": "json",
        "url": found.base,
        "request": {"path": where, "body": body},
        "reply": {"text": reply or "reply"},
    }
    note = "" if reply else "# The document does not say where the reply is: correct `text`.\n"
    return note + yaml.safe_dump(described, sort_keys=False, allow_unicode=True)


def _reply(answer: Mapping[str, Any]) -> str | None:
    """Return the path to the reply: `.` if the answer is a text, and of a list that of its last element."""
    if (path := _path_to(answer, REPLIES)) is not None or not answer.get("type"):
        return path
    if _is_text(answer):
        return "."
    last = answer.get("items")
    inner = _path_to(last, REPLIES) if isinstance(last, dict) else None
    return None if inner is None else f"[-1].{inner}"


def _which(found: FoundAddress, fitting: Mapping[str, Any], path: str | None) -> str:
    if fitting:
        return f"several operations take a message: {', '.join(fitting)}. Choose one with --path."
    there = ", ".join(where for where, _ in _operations(found.document)) or "none"
    missing = f"{path} does not take" if path else "no operation takes"
    return (
        f"{missing} a JSON body with a text such as {', '.join(MESSAGES[:4])}, or a list {CHAT}, at a path without "
        f"parameters (POST operations: {there}). Write the agent file by hand: `viva docs http`."
    )


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        post = methods.get("post") if isinstance(methods, dict) else None
        if not isinstance(post, dict) or "{" in str(path):
            continue
        answers = post.get("responses")
        each_answer = answers.items() if isinstance(answers, dict) else ()
        answer: object = next((each for code, each in each_answer if str(code).startswith("2")), {})
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
    """Return a schema with its references and parts (`allOf`, or one of several) in place, and fields in any case."""
    found = dict(_resolved(document, schema))
    for part in _parts(document, found) if depth else ():
        merged = _expanded(document, part, depth - 1)
        fields = {**merged["properties"], **_mapping(found.get("properties"))}
        found = {**merged, **found, "properties": fields, "required": [*merged["required"], *_names(found)]}
    fields = _mapping(found.get("properties")) if depth else {}
    found["properties"] = {name: _expanded(document, each, depth - 1) for name, each in fields.items()}
    found["required"] = _names(found)
    if depth and isinstance(found.get("items"), dict):
        found["items"] = _expanded(document, found["items"], depth - 1)
    return found


def _parts(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[object]:
    """Yield what a schema consists of: all of `allOf`, and the first of the alternatives that is not null."""
    whole = schema.get("allOf")
    yield from whole if isinstance(whole, list) else ()
    for key in ("anyOf", "oneOf"):
        others = schema.get(key)
        for each in others if isinstance(others, list) else ():
            if _resolved(document, each).get("type") != "null":
                yield each
                break


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _names(schema: Mapping[str, Any]) -> list[str]:
    names = schema.get("required")
    return [each for each in names if isinstance(each, str)] if isinstance(names, list) else []


def _resolved(document: Mapping[str, Any], value: object) -> Mapping[str, Any]:
    """Follow references within the document."""
    for _ in range(DEPTH):
        if not (isinstance(value, dict) and isinstance(reference := value.get("$ref"), str)):
            break
        value = document
        for key in reference.removeprefix("#/").split("/"):
            value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a field; `string` if nothing says, and without `null`, which it can be besides."""
    said = schema.get("type", "string")
    types = [each for each in said if each != "null"] if isinstance(said, list) else [said]
    return str(types[0]) if len(types) == 1 else ""


def _field(schema: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    fields = schema["properties"]
    return next((name for name in names if name in fields and _is_text(fields[name])), None)


def _is_text(schema: Mapping[str, Any]) -> bool:
    return _type(schema) == "string" and not schema["properties"]


def _takes_messages(body: Mapping[str, Any]) -> bool:
    return _field(body, MESSAGES) is not None or _is_chat(body)


def _is_chat(body: Mapping[str, Any]) -> bool:
    return CHAT in body["properties"] and _type(body["properties"][CHAT]) == "array"


def _path_to(schema: Mapping[str, Any], names: tuple[str, ...], depth: int = 2) -> str | None:
    if (name := _field(schema, names)) is not None:
        return name
    for outer, inner in schema["properties"].items() if depth else ():
        if (rest := _path_to(inner, names, depth - 1)) is not None:
            return f"{outer}.{rest}"
    return None


def _wanted(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    required = schema["required"]
    message = _field(schema, MESSAGES)
    for name, field in schema["properties"].items():
        if name == message:
            yield name, {"template": "{{ message }}"}
        elif message is None and name == CHAT:
            yield name, {"template": "{{ messages }}"}
        elif name in required or name in SESSIONS:
            yield name, field


def _value(name: str, schema: Mapping[str, Any]) -> Any:
    if "template" in schema:
        return schema["template"]
    if name in SESSIONS:
        return "{{ session_id }}"
    usual = {"integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}
    enumerated = schema.get("enum")
    first = enumerated[0] if isinstance(enumerated, list) and enumerated else usual.get(_type(schema), "")
    return schema.get("default", schema.get("example", first))
