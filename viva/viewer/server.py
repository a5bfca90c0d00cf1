"""Serves the viewer's page to one machine. Every address begins with a token, and nothing of a journal is markup."""

from __future__ import annotations

import hmac
import json
import re
import secrets
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from viva.errors import SetupError
from viva.journal.errors import JournalError
from viva.records.text import printable
from viva.viewer import answers
from viva.viewer.downloads import open_left_file
from viva.viewer.following import Follower
from viva.viewer.label_desk import LabelDesk
from viva.viewer.page_files import SCRIPT, START, STYLES, html, joined
from viva.viewer.pictures import picture
from viva.viewer.routes import Routes
from viva.viewer.watched import WatchedJournal
from viva.viewer.wire import to_json, to_script

LOCAL = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_QUESTION = re.compile(r"api/(\d{1,4})/([a-z]+)")
_PAGE_FILES = {f"page/{SCRIPT}": "text/javascript; charset=utf-8", f"page/{STYLES}": "text/css; charset=utf-8"}
HEARTBEAT = 15.0
"""Seconds after which an event stream says that it is still there."""
BLOCK = 256 * 1024
MOST_CONNECTIONS = 256
"""Maximum number of open connections; a browser's page has at most seven. Further ones are ended at once."""
WAITING_SECONDS = 20.0
"""Maximum time to wait for a request, and for each piece of what a client sends or takes."""
MOST_GIVEN = 1024 * 1024
"""Maximum size in bytes of what the page sends."""


class Viewer(ThreadingHTTPServer):
    """The server of one `viva view`."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        journals: Sequence[WatchedJournal],
        host: str = LOCAL,
        port: int = 0,
        *,
        rater: str = "",
        labels: Path | None = None,
    ) -> None:
        """Listen on a port.

        Args:
            journals: What is shown.
            host: The address to listen on.
            port: The port; 0 takes a free one.
            rater: Who reads: the name in labels and comments.
            labels: The label file; None if nothing is labelled.

        Raises:
            OSError: the address is in use, or not one of this machine.
        """
        self.journals = journals
        self.follower = Follower(journals)
        desks = () if labels is None else [LabelDesk(each, rater, labels) for each in journals]
        self.routes = Routes(journals, rater, desks)
        self.token = secrets.token_urlsafe(18)
        self.open_connections = 0
        self._counting = threading.Lock()
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Answering)
        self.host = host

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection on a thread of its own, unless there are too many."""
        with self._counting:
            accepted = self.open_connections < MOST_CONNECTIONS
            self.open_connections += accepted
        if accepted:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer the requests of one connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._counting:
                self.open_connections -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a connection that breaks is the client's affair."""

    @property
    def address(self) -> str:
        """Return the address of the page, with the token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.server_address[1]}/{self.token}/"

    def is_own_host(self, host: str) -> bool:
        """Return whether a request's Host is this server: a page of a stranger's domain may lead here by its name."""
        name, _, port = host.rpartition(":")
        if port != str(self.server_address[1]):
            return False
        return self.host != LOCAL or name in (LOCAL, "localhost")


class _Answering(BaseHTTPRequestHandler):
    server: Viewer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "viva", ""
    wbufsize = -1

    def setup(self) -> None:
        """Limit how long a client may take."""
        self.request.settimeout(WAITING_SECONDS)
        super().setup()

    def send_response(self, code: int, message: str | None = None) -> None:
        """Begin an answer, always with a head: without one, a browser guesses what the body is."""
        self.request_version = self.protocol_version
        super().send_response(code, message)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request of the page: in JSON, where the base class would write HTML."""
        self.close_connection = True
        self._json({"error": "this is not a request that the viewer answers"}, HTTPStatus(code))

    def do_GET(self) -> None:
        """Answer one request."""
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # a body would be taken for the next request
        path = urlsplit(self.path)
        token, _, rest = path.path.lstrip("/").partition("/")
        if self._is_allowed(token):
            self._answered(lambda: self._route(rest, _last_values(path.query)))

    def do_POST(self) -> None:
        """Take a label or a comment."""
        token, _, rest = urlsplit(self.path).path.lstrip("/").partition("/")
        # Unlike a question, this changes something, so the browser has to say that its own page asks.
        if self._is_allowed(token, needs_origin=True):
            self._answered(lambda: self._take(rest))

    def _answered(self, work: Callable[[], None]) -> None:
        """Do the work of one request; whatever fails becomes an answer in words."""
        try:
            work()
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True
        except (answers.NotFound, FileNotFoundError) as error:
            self._json(answers.failure_view(error), HTTPStatus.NOT_FOUND)
        except JournalError as error:
            self._json(answers.failure_view(error), HTTPStatus.GONE)
        except (SetupError, ValueError) as error:
            self._json(answers.failure_view(error), HTTPStatus.BAD_REQUEST)
        except Exception as error:
            self.close_connection = True
            words = f"Viva itself failed: {type(error).__name__}: {error}"
            self._json({"error": printable(words, 2000)}, HTTPStatus.INTERNAL_SERVER_ERROR)

    def _take(self, rest: str) -> None:
        given = self._given()
        if (found := _QUESTION.fullmatch(rest)) is None:
            raise answers.NotFound(f"there is no {rest!r:.200}")
        self._json(self.server.routes.take(int(found[1]), found[2], given))

    def _given(self) -> dict[str, Any]:
        (length, *more) = self.headers.get_all("Content-Length", [""])
        is_plain = length.isascii() and length.isdigit() and len(length) < 9 and not more
        is_json = self.headers.get_content_type() == "application/json" and "Transfer-Encoding" not in self.headers
        if not (is_json and is_plain) or int(length) > MOST_GIVEN:
            self.close_connection = True
            raise ValueError(f"a JSON object of at most {MOST_GIVEN:,} bytes is required")
        given = json.loads(self.rfile.read(int(length)))
        if not isinstance(given, dict):
            raise ValueError("a JSON object is required")
        return given

    def _is_allowed(self, token: str, *, needs_origin: bool = False) -> bool:
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        host, origin = hosts[0] if hosts else "", origins[0] if origins else None
        own_origin = origin == f"http://{host}" or (origin is None and not needs_origin)
        if not self.server.is_own_host(host) or not own_origin or len(hosts) != 1 or len(origins) > 1:
            self._refuse("this server answers its own page only")
            return False
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse("the address lacks the token that `viva view` printed")
            return False
        return True

    def _refuse(self, words: str) -> None:
        self.close_connection = True  # what it sent is not read
        self._json({"error": words}, HTTPStatus.FORBIDDEN)

    def _route(self, rest: str, query: Mapping[str, str]) -> None:
        if rest == "":
            start = START.format(to_script(self.server.routes.start()))
            self._send("text/html; charset=utf-8", html().replace(START, start).encode())
        elif rest in _PAGE_FILES:
            self._send(_PAGE_FILES[rest], joined(rest.removeprefix("page/")).encode())
        elif rest == "api/journals":
            self._json(self.server.routes.states())
        elif rest == "api/events":
            self._events()
        elif (found := _QUESTION.fullmatch(rest)) is not None:
            self._json(self.server.routes.answer(int(found[1]), found[2], query))
        elif (found := re.fullmatch(r"(\d{1,4})/(images/[0-9a-f]{64}\.[a-z]{3,4})", rest)) is not None:
            self._picture(self.server.routes.journal(int(found[1])), found[2])
        elif (found := re.fullmatch(r"(\d{1,4})/file", rest)) is not None:
            self._download(self.server.routes.journal(int(found[1])), query.get("id", ""), query.get("path", ""))
        else:
            raise answers.NotFound(f"there is no {rest!r:.200}")

    def _events(self) -> None:
        self.send_response(HTTPStatus.OK)
        self._head("text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        server, seen, count = self.server, [-1] * len(self.server.journals), -1
        while not server.follower.stopped:
            changed = server.routes.changes(seen)
            for each in changed:
                seen[each["n"]] = each["version"]
            text = f"data: {to_json(changed)}\n\n" if changed else ": still here\n\n"
            self.wfile.write(text.encode())
            self.wfile.flush()
            count = server.follower.wait(count, HEARTBEAT)

    def _picture(self, journal: WatchedJournal, name: str) -> None:
        found = picture(journal.folder, name)
        if found is None:
            raise answers.NotFound("there is no such picture")
        self._send(*found)

    def _download(self, journal: WatchedJournal, run: str, path: str) -> None:
        with open_left_file(journal, run, path) as (file, size):
            self.send_response(HTTPStatus.OK)
            # Whatever the agent left, a browser neither shows nor runs it.
            self._head("application/octet-stream")
            name = quote(path.rpartition("/")[2], safe="")
            self.send_header("Content-Disposition", f"attachment; filename*=UTF-8''{name}")
            self.send_header("Content-Length", str(size))
            self.end_headers()
            left = size
            while left and (block := file.read(min(BLOCK, left))):
                self.wfile.write(block)
                left -= len(block)
            self.close_connection = bool(left)  # it was cut meanwhile

    def _json(self, value: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send("application/json; charset=utf-8", to_json(value).encode(), status)

    def _send(self, kind: str, body: bytes, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self._head(kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _head(self, kind: str) -> None:
        self.send_header("Content-Type", kind)
        for name, value in _HEADERS.items():
            self.send_header(name, value)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Print nothing: the terminal shows the address."""


def _last_values(query: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(query, max_num_fields=20).items()}
