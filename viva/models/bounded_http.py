"""The HTTP client for the OpenAI SDK: each response has a maximum size, and redirects stay on the host.

The SDK itself reads whatever a server sends, and follows it anywhere. This module loads the SDK.
"""

from __future__ import annotations

import functools
import os
import ssl
import sys
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
        trusted = _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        super().__init__(headers={"Accept-Encoding": "gzip"}, verify=trusted, **options)
        self._stream_end = stream_end

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Send a request, and return the whole response, which is read and decompressed.

        Raises:
            ModelAnswerError: the response is too long.
            ProtocolError: the response has an encoding that was not asked for.
            ModelError: the response redirects to another host or port.
        """
        options["follow_redirects"] = False
        return await send_bounded(functools.partial(super().send, stream=True, **options), request, self._stream_end)


@functools.cache
def _trusted(*environment: str | None) -> ssl.SSLContext:
    """Return the certificates that clients trust. Reading them takes 35 ms, in which every conversation stands still.

    Args:
        environment: The variables that say where they are.
    """
    client = next(base for base in DefaultAsyncHttpxClient.__mro__ if base.__name__ == "AsyncClient")
    library: Any = sys.modules[client.__module__.partition(".")[0]]  # the one that the SDK uses, httpx or its successor
    context: ssl.SSLContext = library.create_ssl_context()
    return context


def own_error(error: BaseException) -> BaseException:
    """Return the exception that `BoundedHttp` raised, of which the SDK may have made a connection error."""
    cause = error.__cause__
    return cause if isinstance(cause, ModelAnswerError | ModelError | ProtocolError) else error
