"""Sends requests of HTTP clients of any make: each response has a maximum size, and redirects stay on the host."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

from viva.errors import ModelAnswerError, ModelError, ProtocolError
from viva.records.redact import redact_end, redacted_line
from viva.records.text import one_line

LONGEST_RESPONSE = 64 * 1024 * 1024
"""Maximum size of one response in bytes, as it is sent and decompressed."""
MOST_QUOTED, QUOTED_SHOWN = 400, 100
"""Bytes at the end of an answer that broke off that are looked at, and characters of them that are shown."""
MOST_REDIRECTS = 20
DEFAULT_PORTS = {"http": 80, "https": 443}
_ENCODINGS = ("", "identity", "gzip", "x-gzip", "deflate")
"""The encodings that can be read piece by piece. Of several at once, 400 kB can become any amount of memory."""
_EITHER_FORMAT = 32 + zlib.MAX_WBITS
"""Has zlib recognize both of its formats, gzip and deflate."""
_OF_ENCODED = frozenset({"content-encoding", "content-length", "transfer-encoding"})


StreamEnd = Callable[[bytearray, int], bool]
"""Tells from what was received of an event stream, and how much of it came last, whether the answer has ended."""


async def send_bounded(
    send: Callable[[Any], Awaitable[Any]],
    request: Any,
    stream_end: StreamEnd | None = None,
    sent: Callable[[], None] | None = None,
) -> Any:
    """Send a request, and return the whole response, which is read and decompressed.

    Args:
        send: Sends one request without following redirects, and returns a response that was not read.
        request: The request.
        stream_end: Where to stop reading an event stream whose server leaves the connection open.
        sent: Called when there is a connection, and the request has been sent on it.

    Raises:
        ModelAnswerError: the response is too long.
        ProtocolError: the response has an encoding that was not asked for.
        ModelError: the response redirects to another host or port.
    """
    if sent is not None:
        request.extensions = {**request.extensions, "trace": partial(_trace, sent)}
    for _ in range(MOST_REDIRECTS):
        response = await send(request)
        try:
            if not response.has_redirect_location:
                return _whole(response, await _read(response, stream_end))
        finally:
            await response.aclose()
        request = _checked(request, response.next_request)
    raise ModelError(f"the server redirects more than {MOST_REDIRECTS} times")


async def _trace(sent: Callable[[], None], event: str, _: object) -> None:
    """Watch what httpcore, of either version, does for a request."""
    if event.endswith(".send_request_body.complete"):
        sent()


def with_content(response: Any, content: bytes) -> Any:
    """Return a response with another content."""
    return _whole(response, content)


def _whole(response: Any, content: bytes) -> Any:
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _OF_ENCODED]
    whole = type(response)(
        response.status_code,
        headers=headers,
        content=content,
        request=response.request,
        extensions=response.extensions,
    )
    # As JSON and events are. The SDK reads the text of an error on the event loop, where a charset that the server
    # names, such as punycode, could take the square of its length.
    whole.encoding = "utf-8"
    return whole


async def _read(response: Any, stream_end: StreamEnd | None) -> bytes:
    """Read a response, and decompress it piece by piece.

    Raises:
        ModelAnswerError: the response is too long.
        ProtocolError: its encoding was not asked for, or is broken.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise ProtocolError(f"it has the encoding {redacted_line(encoding, 40)!r}, which was not asked for")
    unpack = None if encoding in ("", "identity") else zlib.decompressobj(_EITHER_FORMAT)
    content, sent = bytearray(), 0
    streams = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    ends = stream_end if streams else None
    async for piece in _pieces(response, content):
        sent += len(piece)
        before = len(content)
        if unpack is None:
            content += piece
        else:
            try:
                content += unpack.decompress(piece, LONGEST_RESPONSE + 1 - len(content))
            except zlib.error as error:
                raise ProtocolError(f"it is not {encoding}, as it says") from error
        if max(sent, len(content)) > LONGEST_RESPONSE:
            raise ModelAnswerError(f"the response is longer than {LONGEST_RESPONSE:,} bytes")
        if ends is not None and ends(content, len(content) - before):
            break
    return bytes(content)


async def _pieces(response: Any, content: bytearray) -> AsyncIterator[bytes]:
    """Yield what is received; the error of a connection that breaks quotes what came before."""
    try:
        async for piece in response.aiter_raw():
            yield piece
    except Exception as error:
        if content:
            last = one_line(redact_end(content[-MOST_QUOTED:].decode("utf-8", "replace"), QUOTED_SHOWN), QUOTED_SHOWN)
            error.args = (f"{str(error) or type(error).__name__}; the end of what it had sent: {last!r}",)
        raise


def _checked(asked: Any, led: Any) -> Any:
    """Return the request that a redirect leads to, if it is to the same server; the user did not choose another one.

    A redirect from http to https on the same host is followed.

    Raises:
        ModelError: the request is to another host or port.
    """
    if led is None:
        raise ModelError("it redirects to an invalid address")
    scheme, host, port = _place(asked.url)
    upgraded = ("https", host, 443) if (scheme, port) == ("http", 80) else None
    if _place(led.url) not in ((scheme, host, port), upgraded):
        there = led.url.netloc.decode("ascii", "replace")
        raise ModelError(
            f"it redirects to {redacted_line(there, 100)!r}, and redirects to other hosts are not followed"
        )
    return led


def _place(url: Any) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or DEFAULT_PORTS.get(url.scheme)
