"""The HTTP client for the A2A SDK: bounded answers, no redirects to other hosts, and streams that end with the task."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import httpx

from viva.models.bounded_answers import send_bounded
from viva.models.certificates import trusted_certificates
from viva.records.redact import redact
from viva.records.text import one_line

_END = re.compile(
    rb'"state"\s*:\s*"(?:TASK_STATE_(?:COMPLETED|FAILED|CANCELED|REJECTED|INPUT_REQUIRED|AUTH_REQUIRED)'
    rb'|completed|failed|canceled|rejected|input-required|auth-required)"'
)
"""The states after which an agent says nothing more, of both versions of the protocol."""
_LONGEST_STATE = 64
_ERROR = re.compile(rb'\A(?:data:)?\s*\{(?=.{0,200}"jsonrpc").{0,200}"error"\s*:\s*\{', re.DOTALL)
"""The beginning of an answer that is an error of the protocol."""
MOST_QUOTED, SHOWN = 1_200, 300
"""Bytes at the beginning of an answer that are looked at, and characters of them that are shown."""
_LINE_END = re.compile(r"\r\n|\r|\n")


class A2aHttp(httpx.AsyncClient):
    """An HTTP client that reads each answer whole, within the maximum size."""

    def __init__(self, **options: Any) -> None:
        """Args:
        options: As the client takes them.
        """
        super().__init__(verify=trusted_certificates(httpx), **options)
        self._answer: httpx.Response | None = None

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> Any:
        """Send a request, and return the whole response.

        Raises:
            ModelAnswerError: the response is too long.
            ProtocolError: the response has an encoding that was not asked for.
            ModelError: the response redirects to another host or port.
        """
        options["follow_redirects"] = False
        self._answer = None
        response = await send_bounded(partial(super().send, stream=True, **options), request, has_ended)
        response.aiter_lines = partial(_lines, response)
        self._answer = response
        return response

    def words(self) -> str:
        """Return the beginning of the last answer, for an error; empty if there is none.

        The SDK tells an answer's errors itself, and drops whatever else the agent answers.
        """
        body = b"" if self._answer is None else self._answer.content
        return "" if _ERROR.search(body) else one_line(redact(body[:MOST_QUOTED].decode("utf-8", "replace")), SHOWN)


async def _lines(response: httpx.Response) -> AsyncIterator[str]:
    """Yield the lines of a stream of events; httpx would also end them at U+0085, U+2028 and others."""
    *lines, rest = _LINE_END.split(response.text)
    for line in (*lines, *([rest] if rest else ())):
        yield line


def has_ended(body: bytearray, new: int) -> bool:
    """Return whether the last bytes of a stream end a task; some servers leave the connection open after that.

    Data of the agent may look like it. Then the task is not known to have ended, and the agent is asked for its state.
    """
    return body.endswith((b"\n\n", b"\r\n\r\n")) and _END.search(bytes(body[-(new + _LONGEST_STATE) :])) is not None
