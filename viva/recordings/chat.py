"""Reads recorded chat-format conversations with tool calls from JSON Lines or JSON files.

`viva.recordings.chat_rounds` interprets the message lists; this module reads the files and objects around them,
including those that tau-bench's `run.py` writes (github.com/sierra-research/tau-bench): `traj`, `task_id`, `trial`,
`reward`, `info`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from viva.recordings.chat_rounds import MessageError, read_messages
from viva.recordings.files.each_file import of_each_part
from viva.recordings.files.packed import open_recording
from viva.recordings.json_pieces import bounded_lines, is_whole, load_line, read_document, stripped
from viva.recordings.numbers import finite
from viva.recordings.recording import NothingYet, Recording, RecordingError, SourceNotes
from viva.records.usage import with_usage

_LISTS = ("traj", "messages")


class ChatReader:
    """Reads `chat:FILE`."""

    def read(self, source: str, *, told: SourceNotes | None = None) -> Iterator[Recording]:
        """Yield the conversations of a file; see `read_conversations`."""
        return read_conversations(Path(source), told)


def read_conversations(path: Path, told: SourceNotes | None = None) -> Iterator[Recording]:
    """Yield the conversations of a file, in order.

    In JSON Lines, each line is a conversation, or each line is a message of one conversation. A JSON file has one
    conversation, or a list of them. A conversation is a list of messages, or an object with such a list as `traj` or
    `messages`. JSON Lines of conversations are read one at a time; other files are loaded into memory. Fields of the
    object for which a `Recording` has no field are in the transcript's attribute `recording`.

    Args:
        path: The file.
        told: Says whether the file is followed. Then a line that cannot be read is lost, and the others are read.

    Raises:
        RecordingError: while iterating, at the first position that cannot be read, after all conversations before it.
    """
    for each in _read(path, SourceNotes() if told is None else told):
        counted = ("task", each.subject), ("trial", each.trial)
        marks = "".join(f", {name} {value}" for name, value in counted if value is not None)
        # Without the folders above it, because a file that was moved holds the same runs.
        yield replace(each, run_key=f"{path.name}{each.place.removeprefix(str(path))}{marks}")


def _read(path: Path, told: SourceNotes) -> Iterator[Recording]:
    single: list[dict[str, Any]] = []
    whole = False

    def talks(part: _FilePart) -> Iterator[Recording]:
        nonlocal whole
        place, document = part.place, part.document
        if isinstance(document, RecordingError):
            raise document
        is_message = not part.is_element and _is_message(document)
        if (is_message and whole) or (single and not is_message):
            raise RecordingError(f"{place}: the file mixes single messages and whole conversations; use only one")
        if is_message:
            single.append(document)
        else:
            whole = True
            yield _conversation(place, document, {}) if isinstance(document, list) else _wrapped(place, document)

    yield from of_each_part(_parts(path, told), talks, told)
    if single:
        yield _conversation(str(path), single, {})


@dataclass(frozen=True, slots=True)
class _FilePart:
    """What is one conversation, or one message of the only one."""

    place: str
    document: Any
    """Its JSON value, or the error of the document that it would be in."""
    is_element: bool = False
    """Whether it is in a list of conversations."""


def _parts(path: Path, told: SourceNotes) -> Iterator[_FilePart]:
    for place, load in _documents(path, told):
        try:
            document = load()
        except RecordingError as error:
            yield _FilePart(place, error)
            continue
        if isinstance(document, list) and not _is_messages(document):
            for position, element in enumerate(document, 1):
                yield _FilePart(f"{place}, element {position}", element, is_element=True)
        else:
            yield _FilePart(place, document)


def _documents(path: Path, told: SourceNotes) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the position of each JSON document of the file, a line or the whole file, and what reads it."""
    try:
        with open_recording(path) as file:
            lines = _lines(path, file, told)
            first = next(lines, None)
            if first is None:
                raise NothingYet(f"{path}: the file is empty")
            second = next(lines, None)
            if second is None or first[1] is None or is_whole(first[1]):
                for number, line in itertools.chain([first], [second] if second else [], lines):
                    yield f"{path}, line {number}", partial(load_line, line, path, number)
                return
            file.seek(0)
            document = read_document(path, file)
            yield str(path), lambda: document
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error


def _lines(path: Path, file: IO[bytes], told: SourceNotes) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines that have text, each with its number; None for one that is too long."""
    for number, line in bounded_lines(file, half_written=told.passing_over(path)):
        if line is None or stripped(line):
            yield number, line


def _is_messages(document: list[Any]) -> bool:
    return bool(document) and _is_message(document[0])


def _is_message(document: Any) -> bool:
    return isinstance(document, dict) and "role" in document and not any(key in document for key in _LISTS)


def _wrapped(place: str, document: Any) -> Recording:
    key = next((key for key in _LISTS if isinstance(document, dict) and isinstance(document.get(key), list)), None)
    if key is None:
        raise RecordingError(
            f"{place}: not a conversation: it must be a list of messages, or an object with `traj` or `messages`"
        )
    return _conversation(place, document[key], {name: value for name, value in document.items() if name != key})


def _conversation(place: str, messages: list[Any], around: dict[str, Any]) -> Recording:
    try:
        transcript = read_messages(messages)
    except MessageError as error:
        raise RecordingError(f"{place}: {error}") from error
    rest = dict(around)
    task, trial, reward = rest.get("task_id"), rest.get("trial"), finite(rest.get("reward"))
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
    return Recording(
        with_usage(transcript),
        place=place,
        run_key=place,
        subject=str(task) if isinstance(task, str | int) else None,
        trial=trial if isinstance(trial, int) else None,
        reward=reward,
    )
