"""A webhook for tests: a real server that keeps what is posted to it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Hook:
    """A server, what it was sent, and what it answers."""

    address: str = ""
    answers: list[int] = field(default_factory=list)
    """In order; 200 after that."""
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def posted(self) -> list[Any]:
        """The JSON of each request."""
        return [json.loads(body) for _, _, body in self.requests]


NOT_HTTP = {
    "no status": b"220 mail.example.org ESMTP\r\n",
    "nothing": b"",
    "a long header": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
    "a version of its own": b"HTTP/9.x 200 OK\r\n\r\n",
}
"""Answers of servers that speak another protocol, or HTTP badly."""


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Run a server that gives these bytes to whoever connects, and return its address, whose path is secret."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, suppress(OSError):
                        connection.recv(65536)
                        connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/hooks/s3cret-path"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@contextmanager
def listening() -> Iterator[Hook]:
    """Run such a server on this machine."""
    found = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.requests.append((self.path, dict(self.headers), body))
            self.send_response(found.answers.pop(0) if found.answers else 200)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found.address = f"http://127.0.0.1:{server.server_port}/hooks/s3cret-path"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
