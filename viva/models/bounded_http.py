"""The HTTP client for the OpenAI SDK: each response has a maximum size, and redirects stay on the host.

The SDK itself reads whatever a server sends, and follows it anywhere. This module loads the SDK.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from openai import DefaultAsyncHttpxClient

from viva.errors import ModelAnswerError, ModelError, ProtocolError
from viva.models.bounded_answers import StreamEnd, send_bounded


class BoundedHttp(DefaultAsyncHttpxClient):
    """An HTTP client that reads each response whole, within `LONGEST_RESPONSE`."""

    def __init__(self, *, stream_end: StreamEnd | None = None, **options: Any) -> None:
        """Args:
        stream_end: Where to stop reading an event stream whose server leaves the connection open.
        options: As the client of the SDK takes them.
        """
        super().__init__(headers={"Accept-Encoding": "gzip"}, **options)
        self._stream_end = stream_end

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Send a request, and return the whole response, which is read and decompressed.

        Raises:
            ModelAnswerError: the response is too long.
            ProtocolError: the response has an encoding that was not asked for.
            ModelError: the response redirects to another host or port.
        """
        options["follow_redirects"] = False
        return await send_bounded(partial(super().send, stream=True, **options), request, self._stream_end)


def own_error(error: BaseException) -> BaseException:
    """Return the exception that `BoundedHttp` raised, of which the SDK may have made a connection error."""
    cause = error.__cause__
    return cause if isinstance(cause, ModelAnswerError | ModelError | ProtocolError) else error
