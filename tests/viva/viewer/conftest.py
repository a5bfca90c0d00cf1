"""What the tests of the viewer share."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.viva.reports.conftest import browser, chromium
from viva.viewer.server import Viewer
from viva.viewer.watched import WatchedJournal

__all__ = ["browser", "chromium"]


@dataclass
class Reader:
    """A client of one viewer."""

    server: Viewer

    def ask(
        self, path: str, query: dict[str, object] | None = None, *, token: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Ask for an address below the token's; give status, headers and body."""
        words = f"?{urlencode(query)}" if query else ""
        host = urlsplit(self.server.address)
        connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=20)
        try:
            connection.putrequest("GET", f"/{token or self.server.token}/{path}{words}", skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def send(self, path: str, given: object, **headers: str) -> tuple[int, Any]:
        """Send data as the page does; give the status and what was answered."""
        host = urlsplit(self.server.address)
        connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=20)
        named = {"Content-Type": "application/json", "Origin": f"http://{host.netloc}"} | headers
        body = given if isinstance(given, bytes) else json.dumps(given).encode()
        try:
            connection.request("POST", f"/{self.server.token}/{path}", body, {k: v for k, v in named.items() if v})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def json(self, path: str, **query: object) -> Any:
        """Ask for data."""
        status, _, body = self.ask(path, query)
        assert status == 200, body
        return json.loads(body)


@pytest.fixture
def serve() -> Iterator[Callable[..., Reader]]:
    """Serve journals until the test ends."""
    servers = []

    def start(*folders: Path, labels: Path | None = None) -> Reader:
        server = Viewer([WatchedJournal(folder) for folder in folders], rater="reader", labels=labels)
        servers.append(server)
        for place in range(len(folders)):
            server.follower.look(place)
        server.follower.start()
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return Reader(server)

    yield start
    for server in servers:
        server.follower.stop()
        server.shutdown()
        server.server_close()
