"""The HTTP client for the A2A SDK: bounded answers, no redirects to other hosts, and streams that end with the task.

The SDK parses what it is given on the event loop, and without a limit, so answers are checked here before.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

import httpx

from viva.adapters.connectors.http.event_streams import MOST_EVENTS, lines_of
from viva.errors import ModelAnswerError, ProtocolError
from viva.models.bounded_answers import send_bounded, with_content
from viva.models.certificates import trusted_certificates
from viva.records.bounded_json import LARGE, UnfitJson, check_limits
from viva.records.redact import redacted_line

_END = re.compile(
    rb'"state"\s*:\s*"(?:TASK_STATE_(?:COMPLETED|FAILED|CANCELED|REJECTED|INPUT_REQUIRED|AUTH_REQUIRED)'
    rb'|completed|failed|canceled|rejected|input-required|auth-required)"'
)
"""The states after which an agent says nothing more, of both versions of the protocol."""
_LONGEST_STATE = 64
_ERROR = re.compile(rb'\A(?:data:)?\s*\{(?=.{0,200}"jsonrpc").{0,200}"error"\s*:\s*\{', re.DOTALL)
"""The beginning of an answer that is an error of the protocol."""
SHOWN, QUOTED = 300, 80
"""Maximum number of characters of an answer that are shown in an error, and of one that was not parsed."""
MOST_AT_ONCE = 1_000
"""Maximum number of lines of a stream that the SDK reads before others on the event loop have their turn."""


class A2aHttp(httpx.AsyncClient):
    """An HTTP client that reads each answer whole, within the maximum size and number of values."""

    def __init__(self, **options: Any) -> None:
        """Args:
        options: As the client takes them.
        """
        super().__init__(verify=trusted_certificates(httpx), **options)
        self._answer: httpx.Response | None = None
        self.sent: Callable[[], None] | None = None
        """Called when a request has been sent to somebody who took it."""

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> Any:
        """Send a request, and return the whole response.

        Raises:
            ModelAnswerError: the response is too long, or a stream of too many events or lines.
            ProtocolError: the response has an encoding that was not asked for, too many values, or values that are
                nested too deeply.
            ModelError: the response redirects to another host or port.
        """
        options["follow_redirects"] = False
        self._answer = None
        response = await send_bounded(partial(super().send, stream=True, **options), request, has_ended, self.sent)
        # As the SDK decides: it reads a stream event by event, and any other answer, or to another request, whole.
        streams = stream and "text/event-stream" in response.headers.get("content-type", "")
        check = partial(_checked_lines if streams else _checked_whole, response)
        answer, lines = response, list[str]()
        try:
            lines = await asyncio.to_thread(check) if len(response.content) > LARGE else check()
        except (ProtocolError, ModelAnswerError):
            if not response.is_error:
                raise
            answer = with_content(response, b"")  # its status is enough; the SDK would parse it for words
        answer.aiter_lines = partial(_each, lines)
        self._answer = response
        return answer

    def words(self) -> str:
        """Return the beginning of the last answer, for an error; empty if there is none.

        The SDK tells an answer's errors itself, and drops whatever else the agent answers.
        """
        body = b"" if self._answer is None else self._answer.content
        return "" if _ERROR.search(body) else redacted_line(body, SHOWN)


def _checked_whole(response: httpx.Response) -> list[str]:
    """Check an answer that is parsed whole; return no lines.

    Raises:
        ProtocolError: it exceeds a limit of JSON, or is in another encoding, in which that cannot be seen.
    """
    content = response.content
    if not json.detect_encoding(content).startswith("utf-8"):
        raise ProtocolError(f"it is not JSON in UTF-8: {redacted_line(content, QUOTED)!r}")
    _check(content)
    return []


def _checked_lines(response: httpx.Response) -> list[str]:
    """Return the lines of a stream of events; httpx would also end them at U+0085, U+2028 and others.

    Raises:
        ModelAnswerError: there are too many events or lines.
        ProtocolError: an event exceeds a limit of JSON.
    """
    lines = lines_of(response.content)
    events, data = 0, list[str]()
    for line in lines:
        if line.startswith("data:"):
            data.append(line[len("data:") :])
        elif not line and data:
            events += 1
            if events > MOST_EVENTS:
                raise ModelAnswerError(f"the stream has more than {MOST_EVENTS:,} events")
            _check("\n".join(data).encode())
            data.clear()
    return lines if lines[-1] else lines[:-1]


def _check(body: bytes) -> None:
    try:
        check_limits(body)
    except UnfitJson as error:
        raise ProtocolError(f"{error}: {redacted_line(body, QUOTED)!r}") from error


async def _each(lines: Sequence[str]) -> AsyncIterator[str]:
    """Yield lines; after each event, and after many lines, others on the event loop have their turn."""
    for number, line in enumerate(lines, 1):
        yield line
        if not line or number % MOST_AT_ONCE == 0:
            await asyncio.sleep(0)


def has_ended(body: bytearray, new: int) -> bool:
    """Return whether the last bytes of a stream end a task; some servers leave the connection open after that.

    Data of the agent may look like it. Then the task is not known to have ended, and the agent is asked for its state.
    """
    return body.endswith((b"\n\n", b"\r\n\r\n")) and _END.search(bytes(body[-(new + _LONGEST_STATE) :])) is not None
