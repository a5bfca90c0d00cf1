"""The HTTP client for the OpenAI SDK: each response has a maximum size, and redirects stay on the host.

The SDK itself reads whatever a server sends, and follows it anywhere. This module loads the SDK.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from openai import DefaultAsyncHttpxClient

from viva.errors import ModelAnswerError, ModelError, ProtocolError
from viva.models.bounded_answers import StreamEnd, send_bounded
from viva.models.certificates import trusted_certificates


class BoundedHttp(DefaultAsyncHttpxClient):
    """An HTTP client that reads each response whole, within `LONGEST_RESPONSE`."""

    def __init__(self, *, stream_end: StreamEnd | None = None, **options: Any) -> None:
        """Args:
        stream_end: Where to stop reading an event stream whose server leaves the connection open.
        options: As the client of the SDK takes them.
        """
        trusted = trusted_certificates(_library())
        super().__init__(headers={"Accept-Encoding": "gzip"}, verify=trusted, **options)
        self._stream_end = stream_end
        self.sent: Callable[[], None] | None = None
        """Called when a request has been sent to somebody who took it."""

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Send a request, and return the whole response, which is read and decompressed.

        Raises:
            ModelAnswerError: the response is too long.
            ProtocolError: the response has an encoding that was not asked for.
            ModelError: the response redirects to another host or port.
        """
        options["follow_redirects"] = False
        send = functools.partial(super().send, stream=True, **options)
        return await send_bounded(send, request, self._stream_end, self.sent)


def _library() -> ModuleType:
    """Return the HTTP library that the SDK uses: httpx, or its successor."""
    client = next(base for base in DefaultAsyncHttpxClient.__mro__ if base.__name__ == "AsyncClient")
    return sys.modules[client.__module__.partition(".")[0]]


def own_error(error: BaseException) -> BaseException:
    """Return the exception that `BoundedHttp` raised, of which the SDK may have made a connection error."""
    cause = error.__cause__
    return cause if isinstance(cause, ModelAnswerError | ModelError | ProtocolError) else error
