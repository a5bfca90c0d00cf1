"""A server for one test: it answers each request with the next of its plays, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Play:
    """One answer."""

    body: object = b""
    """Bytes, text, or JSON data."""
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    """Whether the connection ends before the body does."""
    drip: float = 0.0
    """Seconds before each byte."""

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    json: Any


@dataclass
class PlayServer:
    """Its address, and the requests that it got."""

    url: str
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def playing(*plays: Play) -> Iterator[PlayServer]:
    """Serve; the last play is repeated."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            play = plays[min(len(found.asked), len(plays) - 1)]
            found.asked.append(Asked(self.command, self.path, headers, json.loads(content) if content else None))
            self.send_response(play.status)
            self.send_header("Content-Type", play.content_type)
            self.send_header("Content-Length", str(len(play.content) + (10 if play.cut else 0)))
            for name, value in play.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                if play.drip:
                    for byte in play.content:
                        self.wfile.write(bytes([byte]))
                        if stopped.wait(play.drip):
                            break
                else:
                    self.wfile.write(play.content)
            except OSError:
                pass
            self.close_connection = self.close_connection or play.cut

        def log_message(self, *arguments: object) -> None:
            pass

    for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
        setattr(Handler, f"do_{method}", Handler.answer)
    stopped = threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = PlayServer(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield found
        finally:
            stopped.set()
            server.shutdown()
            thread.join()


def events(*found: tuple[str, object]) -> str:
    """Return an event stream with these names and data."""
    return "".join(
        f"event: {name}\ndata: {data if isinstance(data, str) else json.dumps(data)}\n\n" for name, data in found
    )


def paths(asked: Sequence[Asked]) -> list[tuple[str, str]]:
    """Return the methods and paths."""
    return [(each.method, each.path) for each in asked]
