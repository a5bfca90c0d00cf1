"""Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) from whole bodies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from viva.errors import ModelAnswerError, ProtocolError
from viva.records.bounded_json import UnfitJson, read
from viva.records.redact import redacted_line

DONE = "[DONE]"
"""The data of the last event, in OpenAI's protocols."""
MOST_EVENTS = 200_000
"""Maximum number of events in one answer."""
MOST_LINES = 1_000_000
"""Maximum number of lines in one answer; an event has several, and comments and unknown fields are in none."""
_LINE_END = re.compile(r"\r\n|\n|\r")
_BEGINNING = re.compile(rb"\s*(?:data|event|id|retry)?:")
_DONE_LINE = re.compile(rb"^data: ?\[DONE\]", re.MULTILINE)
_LAST_EVENTS = re.compile(rb"event: ?response\.(?:completed|failed|incomplete)\s")
_LONGEST_LINE_END = 64
"""How far before new bytes the line `data: [DONE]` may have begun."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of a stream."""

    name: str
    """What the field `event` says; `message` without one."""
    data: str

    def json(self) -> Any:
        """Return the event's data.

        Raises:
            ProtocolError: it is not JSON.
        """
        try:
            return read(self.data.encode("utf-8", "replace"), strict=False)
        except UnfitJson as error:
            raise ProtocolError(f"an event of the stream is not JSON: {redacted_line(self.data, 80)!r}") from error


def is_stream(content_type: str, body: bytes) -> bool:
    """Return whether a body is an event stream, by what the server says, or by how it begins."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "text/event-stream" or (kind != "text/html" and _BEGINNING.match(body[:200]) is not None)


def has_ended(body: bytes | bytearray, new: int) -> bool:
    """Return whether the last bytes of a stream end an answer; some servers leave the connection open after that.

    Args:
        body: What was received.
        new: The number of bytes in it that were received last.
    """
    if _DONE_LINE.search(bytes(body[-(new + _LONGEST_LINE_END) :])):
        return True
    if b"event: response." not in body[:200] or not body.endswith((b"\n\n", b"\r\n\r\n")):
        return False
    # The event that ends an answer of the Responses API holds all of the answer again.
    last = body.rfind(b"event: response.")
    return _LAST_EVENTS.match(bytes(body[last : last + 40])) is not None


def lines_of(body: bytes, end: re.Pattern[str] = _LINE_END) -> list[str]:
    """Return the lines of a stream, which is UTF-8 by definition, whatever its server says.

    Args:
        body: The stream.
        end: What ends a line.

    Raises:
        ModelAnswerError: there are too many lines.
    """
    lines = end.split(body.decode("utf-8-sig", "replace"), MOST_LINES)
    if len(lines) > MOST_LINES:
        raise ModelAnswerError(f"the stream has more than {MOST_LINES:,} lines")
    return lines


def read_events(body: bytes) -> Iterator[ServerEvent]:
    """Yield the events of a stream; comments, such as keep-alives, and lines that are no fields are left out.

    An event that is cut, without the empty line that ends it, is read too: the JSON in it shows whether it is whole.

    Raises:
        ModelAnswerError: there are too many events, or too many lines.
    """
    name, count = "", 0
    data: list[str] = []
    for line in (*lines_of(body), ""):
        if not line:
            if data:
                count += 1
                if count > MOST_EVENTS:
                    raise ModelAnswerError(f"the stream has more than {MOST_EVENTS:,} events")
                yield ServerEvent(name or "message", "\n".join(data))
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value


def error_in(event: object) -> str | None:
    """Return the words of an error inside of a stream; None if an event is none."""
    if not isinstance(event, Mapping) or not event.get("error"):
        return None
    error = event["error"]
    words = error.get("message") or error if isinstance(error, Mapping) else error
    return redacted_line(str(words), 200)
