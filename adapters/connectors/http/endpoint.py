"""Sends requests to an agent's server: bounded answers, retries, no redirects to other hosts, the trace's context."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from viva.adapters.connectors.http.event_streams import is_stream
from viva.adapters.trace_context import current_traceparent
from viva.errors import AgentError, ModelAnswerError, ModelError, ProtocolError
from viva.models.retry import RetryPolicy, is_key_refused, is_unreachable, with_retries
from viva.records.redact import redact, redacted_line

NOT_TAKEN = (429, 503)
"""The statuses with which a server says that it did not take the request."""
WORDS_SHOWN = 300
"""Maximum number of characters of a server's own words in an error message."""


class StatusError(Exception):
    """The server answered with a status that is an error."""

    def __init__(self, status: int, words: str, response: Any) -> None:
        self.status_code = status
        self.response = response
        super().__init__(f"it answered with {status}" + (f": {words}" if words else ""))


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """An answer that is no error."""

    body: bytes
    content_type: str
    retries: int
    value: Any = None
    """What `read` made of it."""

    @property
    def streams(self) -> bool:
        """Return whether the answer is an event stream."""
        return is_stream(self.content_type, self.body)


@dataclass(frozen=True, slots=True)
class EndpointRequest:
    """One request, with nothing left to fill in."""

    method: str
    url: str
    headers: Mapping[str, str]
    json: Any = None


class Endpoint:
    """The connections of one conversation to its server."""

    def __init__(self, stream_end: Any = None) -> None:
        """Args:
        stream_end: Where to stop reading an event stream whose server leaves the connection open.
        """
        from viva.models.bounded_http import BoundedHttp

        # No time-out: the session's limit applies, which ends as `timeout` instead of a broken connection.
        self._http = BoundedHttp(timeout=None, stream_end=stream_end)
        self._policy = RetryPolicy.from_environment()

    async def send(
        self,
        request: EndpointRequest,
        *,
        repeatable: bool,
        retried: Callable[[AgentError | None], None] | None = None,
        read: Callable[[bytes, str], Awaitable[Any]] | None = None,
    ) -> EndpointAnswer:
        """Send a request until it is answered.

        Args:
            request: The request.
            repeatable: Whether the request may be sent again although the server may have taken it.
            retried: Called with each failure that is followed by another attempt, and with None when that was sent.
            read: Reads the body of an answer, by its content type. If it raises a ProtocolError, the request is sent
                again.

        Raises:
            AgentError: the server cannot be reached, or its answer is an error or too long.
        """
        retries = 0

        def again(fault: BaseException) -> None:
            nonlocal retries
            retries += 1
            if retried is not None:
                retried(self._error(request, fault))
                self._http.sent = partial(retried, None)

        async def attempt() -> tuple[bytes, str, Any]:
            body, content_type = await self._attempt(request, repeatable=repeatable)
            return body, content_type, None if read is None else await read(body, content_type)

        try:
            body, content_type, value = await with_retries(attempt, self._policy, again)
        except (ModelError, ModelAnswerError) as error:
            known = isinstance(error.__cause__, StatusError | ConnectionError | ProtocolError)
            raise self._error(request, error.__cause__ if known and error.__cause__ else error) from error
        finally:
            self._http.sent = None
        return EndpointAnswer(body, content_type, retries, value)

    async def _attempt(self, request: EndpointRequest, *, repeatable: bool) -> tuple[bytes, str]:
        parent = current_traceparent()
        headers = {**request.headers, **({} if parent is None else {"traceparent": parent})}
        content = {} if request.json is None else {"json": request.json}
        try:
            response = await self._http.request(request.method, request.url, headers=headers, **content)
        except (ModelError, ModelAnswerError):
            raise
        except Exception as error:
            if repeatable or is_unreachable(error):
                raise ConnectionError(_connection_words(error)) from error
            raise ModelError(_connection_words(error)) from error
        if response.status_code >= 400:
            wrong = StatusError(response.status_code, beginning_of(response.content), response)
            if repeatable or wrong.status_code in NOT_TAKEN:
                raise wrong
            raise ModelError(str(wrong)) from wrong
        return response.content, response.headers.get("content-type", "")

    def _error(self, request: EndpointRequest, fault: BaseException) -> AgentError:
        status = getattr(fault, "status_code", None)
        hint = ""
        if is_key_refused(fault):
            hint = ". Set VIVA_AGENT_API_KEY, or the variable that key_env names, to a key that it accepts; "
            hint += "a key in another header belongs into headers: of the agent file"
        elif status in (404, 405):
            hint = ". Check the address, and the path in the agent file"
        words = f"{request.method} {redact(request.url)} failed: {redacted_line(str(fault), 500)}{hint}"
        unavailable = is_unreachable(fault) or (fault.__cause__ is not None and is_unreachable(fault.__cause__))
        return AgentError(f"the agent's endpoint: {words}", unavailable=unavailable)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def beginning_of(body: bytes) -> str:
    """Return the beginning of a body, for an error message."""
    return redacted_line(body, WORDS_SHOWN)


def _connection_words(error: BaseException) -> str:
    if isinstance(error, ProtocolError):
        return f"the answer does not follow the protocol: {error}"
    return f"{redacted_line(str(error), 250) or type(error).__name__} (no whole answer came)"
