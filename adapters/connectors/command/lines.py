"""Reads the lines that a program writes in JSON mode: replies, steps, progress and errors, each strictly checked."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from pydantic import ValidationError

from viva.errors import AgentError
from viva.records.bounded_json import LARGE, UnfitJson, read
from viva.records.codec import decode
from viva.records.redact import LOOKED_AHEAD, redact_start
from viva.records.text import exact_line
from viva.records.transcript import Reply, Step, Usage

SHOWN = 300
"""Maximum number of characters of a line that a message quotes."""
MOST_QUOTED = 4 * SHOWN + 4 * LOOKED_AHEAD
"""Bytes at the beginning of a line that are enough to quote it, also where a secret is on the cut."""
STATE = frozenset({"state"})
HELLO = frozenset({"version", "state", "workspace"})
_REPLY = ("text", "steps", "usage", "images")
_STEP = tuple(each.name for each in fields(Step) if each.name != "recorded_by")
_USAGE = tuple(each.name for each in fields(Usage))


@dataclass(slots=True)
class PartialReply:
    """What the lines of one answer have said so far."""

    number: int
    """The id of the request."""
    steps: list[dict[str, Any]] = field(default_factory=list)
    progress: str = ""
    """The last word of progress."""

    def so_far(self) -> Reply:
        """Return the steps as a reply without words; one that has not the form of a step is left out."""
        kept: list[Step] = []
        for step in self.steps:
            with contextlib.suppress(ValidationError):
                kept.append(decode(Step, step))
        return Reply("", tuple(kept))


def read_line(line: bytes) -> dict[str, Any]:
    """Return the object in a line.

    Raises:
        AgentError: the line is not a JSON object in UTF-8 with an `id`.
    """
    try:
        found = read(line, strict=False)
    except UnfitJson as error:
        wrong = str(error) if "not JSON" not in str(error) or _is_utf8(line) else "it is not UTF-8"
        raise AgentError(
            f"it wrote a line to its stdout that cannot be read: {wrong}: {quoted(line)}. Each line there must be one "
            "JSON object; other output belongs on stderr. A program that talks in plain text is reached by cmd+plain:"
        ) from error
    if not isinstance(found, dict):
        raise AgentError(f"it wrote a line to its stdout that is not a JSON object: {quoted(line)}")
    if type(found.get("id")) is not int:
        raise AgentError(f'its line has no "id" with the number of the message that it answers: {quoted(line)}')
    return found


def check_number(found: dict[str, Any], asked: int, line: bytes) -> None:
    """Check that a line belongs to the request that is being answered.

    Raises:
        AgentError: it belongs to another one.
    """
    number = found["id"]
    if number < asked:
        raise AgentError(f"it answered message {number} again, instead of message {asked}: {quoted(line)}")
    if number > asked:
        raise AgentError(f"it answered message {number}, which it was not sent yet: {quoted(line)}")


def take(found: dict[str, Any], answer: PartialReply) -> Reply | None:
    """Take a line of the answer to a message; return the reply once it is complete.

    Raises:
        AgentError: the line says that the agent failed, or has not the form of any line.
    """
    if "error" in found:
        _check_keys(found, ("error",), "line")
        raise AgentError(_text(found, "error") or "it reported an error without words")
    if "progress" in found:
        _check_keys(found, ("progress",), "line")
        answer.progress = _text(found, "progress")
        return None
    if "step" in found:
        _check_keys(found, ("step",), "line")
        answer.steps.append(_step(found["step"], answer))
        return None
    _check_keys(found, _REPLY, "reply")
    if "text" not in found:
        raise AgentError('its line has neither "text" (a reply) nor "step", "progress" or "error"')
    _text(found, "text")
    for step in _list(found, "steps"):
        answer.steps.append(_step(step, answer))
    reply = {**found, "steps": answer.steps}
    if found.get("usage") is not None:
        reply["usage"] = _usage(found["usage"])
    return _decoded(reply)


def check_fields(found: dict[str, Any], known: Iterable[str]) -> None:
    """Check the fields of an answer to another request than a message.

    Raises:
        AgentError: it has an unknown field, or reports an error.
    """
    if "error" in found:
        raise AgentError(_text(found, "error") or "it reported an error without words")
    _check_keys(found, tuple(known), "answer")


def quoted(line: bytes) -> str:
    """Return the beginning of a line as it can be shown."""
    text = redact_start(line[:MOST_QUOTED].decode("utf-8", "backslashreplace"), 4 * SHOWN)
    return repr(exact_line(text, SHOWN)) if text else "an empty line"


def is_large(line: bytes) -> bool:
    """Return whether reading the line takes so long that it belongs on a thread."""
    return len(line) > LARGE


def _step(step: Any, answer: PartialReply) -> dict[str, Any]:
    if not isinstance(step, dict):
        raise AgentError(f"a step of its reply is {type(step).__name__}, not an object")
    _check_keys(step, _STEP, "step")
    made = {"id": f"m{answer.number}.{len(answer.steps) + 1}", **step}
    if step.get("usage") is not None:
        made["usage"] = _usage(step["usage"])
    return made


def _usage(usage: Any) -> dict[str, Any]:
    if not isinstance(usage, dict):
        raise AgentError(f"the usage of its reply is {type(usage).__name__}, not an object")
    _check_keys(usage, _USAGE, "usage")
    return {"cost": None, **usage}  # a cost that is left out is unknown


def _decoded(reply: dict[str, Any]) -> Reply:
    reply.pop("id", None)
    try:
        return decode(Reply, reply)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise AgentError(f"its reply has a wrong {place or 'form'}: {first['msg']}") from error


def _text(found: dict[str, Any], name: str) -> str:
    if not isinstance(text := found[name], str):
        raise AgentError(f'the "{name}" of its line is {type(text).__name__}, not text')
    return text


def _list(found: dict[str, Any], name: str) -> list[Any]:
    items = found.get(name)
    if items is not None and not isinstance(items, list):
        raise AgentError(f'the "{name}" of its reply is {type(items).__name__}, not a list')
    return items or []


def _check_keys(found: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in found:
        if key not in known and key != "id":
            near = difflib.get_close_matches(key, known, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"it can have {', '.join(known)}"
            raise AgentError(f"its {what} has an unknown field {exact_line(key, 60)!r}; {meant}")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
