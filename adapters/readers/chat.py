"""Reads recorded chat-format conversations with tool calls from JSON Lines or JSON files.

What a message list means is in `adapters.readers.chat_rounds`; this module reads what lies around it. tau-bench's
wrapper is read as its `run.py` writes it (github.com/sierra-research/tau-bench): `traj`, `task_id`, `trial`, `reward`,
`info`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.errors import SetupError
from adapters.readers.chat_rounds import MessageError, read_messages
from records.transcript import Transcript

_LISTS = ("traj", "messages")


class RecordingError(SetupError):
    """A recording cannot be read. Names the file and the line (or the element of its list)."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One recorded conversation and what the file says about it."""

    transcript: Transcript
    """Its attribute `recording` holds the other fields of the object around the messages."""
    place: str
    """File and line, or file and element: for messages to people."""
    task_id: str | None = None
    trial: int | None = None
    """As the recording counts: tau-bench begins with 0."""
    reward: float | None = None
    """None where the recording holds none, or no finite number."""


def read_conversations(path: Path) -> Iterator[Conversation]:
    """The conversations of a file, in its order.

    JSON Lines: each line a conversation, or each a message of one conversation. JSON: one conversation, or a list of
    them. A conversation is a list of messages or an object that holds one as `traj` or `messages`. JSON Lines of
    conversations are read one at a time; other files are held in memory.

    Raises:
        RecordingError: while iterating, at the first place that cannot be read; what came before it has been given.
    """
    single: list[dict[str, Any]] = []
    whole = False
    for place, document in _documents(path):
        if not _is_message(document):
            whole = True
            if not single:
                yield from _expand(place, document)
        else:
            single.append(document)
        if single and whole:
            raise RecordingError(f"{place}: single messages and whole conversations in one file; need one or the other")
    if single:
        yield _conversation(str(path), single, {})


def _documents(path: Path) -> Iterator[tuple[str, Any]]:
    """Each JSON document of the file with its place: its lines, or the whole of it."""
    try:
        with path.open("rb") as file:
            lines = enumerate(file, 1)
            first = next(((number, line) for number, line in lines if _text(line)), None)
            if first is None:
                raise RecordingError(f"{path}: the file is empty")
            second = next(((number, line) for number, line in lines if _text(line)), None)
            if second is None or _parses(first[1]):
                yield f"{path}, line {first[0]}", _load(first[1], path, first[0])
                if second is not None:
                    yield f"{path}, line {second[0]}", _load(second[1], path, second[0])
                for number, line in lines:
                    if _text(line):
                        yield f"{path}, line {number}", _load(line, path, number)
                return
            file.seek(0)
            yield str(path), _load(file.read(), path, None)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error


def _text(line: bytes) -> bytes:
    return line.removeprefix(b"\xef\xbb\xbf").strip()


def _parses(line: bytes) -> bool:
    try:
        return isinstance(json.loads(_text(line)), dict | list)
    except (ValueError, RecursionError):
        return False


def _load(data: bytes, path: Path, number: int | None) -> Any:
    """Parse one document; `number` is its line, None for a whole file."""
    try:
        return json.loads(_text(data) if number is not None else data.removeprefix(b"\xef\xbb\xbf"))
    except json.JSONDecodeError as error:
        line = error.lineno if number is None else number
        raise RecordingError(f"{path}, line {line}, column {error.colno}: no valid JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1 if number is None else number
        raise RecordingError(f"{path}, line {line}: not UTF-8: {error.reason}") from error
    except (ValueError, RecursionError) as error:
        where = f", line {number}" if number is not None else ""
        raise RecordingError(f"{path}{where}: cannot be read: {error}") from error


def _expand(place: str, document: Any) -> Iterator[Conversation]:
    if isinstance(document, list) and not _is_messages(document):
        for position, element in enumerate(document, 1):
            inner = f"{place}, element {position}"
            if isinstance(element, list):
                yield _conversation(inner, element, {})
            else:
                yield _wrapped(inner, element)
    elif isinstance(document, list):
        yield _conversation(place, document, {})
    else:
        yield _wrapped(place, document)


def _is_messages(document: list[Any]) -> bool:
    return bool(document) and _is_message(document[0])


def _is_message(document: Any) -> bool:
    return isinstance(document, dict) and "role" in document and not any(key in document for key in _LISTS)


def _wrapped(place: str, document: Any) -> Conversation:
    key = next((key for key in _LISTS if isinstance(document, dict) and isinstance(document.get(key), list)), None)
    if key is None:
        raise RecordingError(
            f"{place}: no conversation: need a list of messages, or an object with `traj` or `messages`"
        )
    return _conversation(place, document[key], {name: value for name, value in document.items() if name != key})


def _conversation(place: str, messages: list[Any], around: dict[str, Any]) -> Conversation:
    try:
        transcript = read_messages(messages)
    except MessageError as error:
        raise RecordingError(f"{place}: {error}") from error
    rest = dict(around)
    task, trial, reward = rest.get("task_id"), rest.get("trial"), _number(rest.get("reward"))
    if isinstance(task, str | int):
        del rest["task_id"]
    if isinstance(trial, int):
        del rest["trial"]
    if reward is not None:
        del rest["reward"]
    tools = rest.get("tools")
    if isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools):
        transcript = replace(transcript, tools=tuple(rest.pop("tools")))
    if rest:
        transcript = replace(transcript, attributes={**transcript.attributes, "recording": rest})
    return Conversation(
        transcript,
        place,
        str(task) if isinstance(task, str | int) else None,
        trial if isinstance(trial, int) else None,
        reward,
    )


def _number(value: Any) -> float | None:
    """A finite number; None for anything else (JSON as Python reads it has NaN, and whole numbers beyond a float)."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
