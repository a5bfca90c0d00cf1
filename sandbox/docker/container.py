"""A container's stdin and stdout as a pipe: attaches to it, reads Docker's stream format, and removes containers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import ssl
import threading
from typing import Any

from viva.sandbox.docker.daemon import Daemon


class ContainerPipe:
    """See `Pipe`. Docker sends stdout and stderr in pieces with 8 bytes before each: stream, three zeros, length."""

    def __init__(self, daemon: Daemon, container: str) -> None:
        self._daemon = daemon
        self._container = container
        self._buffer = bytearray()
        self._errors = bytearray()
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._open = True

    async def connect(self) -> None:
        """Attach. Call it before the container starts: a harness killed in between then leaves nothing that runs."""
        stream = await self._daemon.run(_attach, self._container)
        self._reader, self._writer = await asyncio.open_connection(sock=stream, limit=1024 * 1024)

    async def read(self, size: int) -> bytes:
        while len(self._buffer) < size:
            await self._piece()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def _piece(self) -> None:
        head = await self._reader.readexactly(8)
        piece = await self._reader.readexactly(int.from_bytes(head[4:], "big"))
        if head[0] == 1:
            self._buffer += piece
        else:
            self._errors = (self._errors + piece)[-2000:]

    async def rest(self, maximum: int = 1_000_000) -> bytes:
        """Return what it prints until it ends: the last `maximum` bytes, then stderr."""
        with contextlib.suppress(EOFError):
            while True:
                await self._piece()
                del self._buffer[:-maximum]
        return bytes(self._buffer + self._errors)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        if not self._open:
            return
        self._open = False
        self.hang_up()
        with contextlib.suppress(Exception):
            await self._daemon.run(remove, self._container)

    def hang_up(self) -> None:
        """Close the connection: the end of its stdin ends the server."""
        with contextlib.suppress(Exception):
            self._writer.close()

    def last_words(self) -> str:
        return self._errors.decode("utf-8", "replace").strip()


def remove(api: Any, container: str) -> None:
    """Remove a container, running or not, and wait until it is gone. One that was gone already is not an error."""
    from docker.errors import APIError, NotFound

    try:
        api.remove_container(container, force=True, v=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409:
            raise
        # The daemon is already removing it, because it has ended.
        with contextlib.suppress(NotFound):
            api.wait(container, timeout=30, condition="removed")


def _attach(api: Any, container: str) -> socket.socket:
    attached = api.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
    inner = getattr(attached, "_sock", attached)
    if isinstance(inner, ssl.SSLSocket):
        return _bridge(inner)
    copy = socket.socket(fileno=os.dup(inner.fileno()))
    copy.setblocking(False)
    response = getattr(attached, "_response", None)
    if response is not None:
        response.close()
    return copy


def _bridge(secure: ssl.SSLSocket) -> socket.socket:
    """Carry a TLS connection's bytes to a socket pair, in a thread: asyncio takes over no TLS made elsewhere."""
    ours, theirs = socket.socketpair()
    threading.Thread(target=_carry, args=(secure, theirs), daemon=True).start()
    ours.setblocking(False)
    return ours


def _carry(secure: ssl.SSLSocket, plain: socket.socket) -> None:
    """Carry both directions in one thread: OpenSSL connections must not be read and written at the same time."""
    secure.setblocking(False)
    waiting = b""
    with contextlib.suppress(OSError), secure, plain:
        while True:
            if not secure.pending():
                select.select([secure] if waiting else [secure, plain], [secure] if waiting else [], [])
            with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                data = secure.recv(65536)
                if not data:
                    return
                plain.sendall(data)
            if not waiting and select.select([plain], [], [], 0)[0]:
                waiting = plain.recv(65536)
                if not waiting:
                    return
            if waiting:
                with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    waiting = waiting[secure.send(waiting) :]
