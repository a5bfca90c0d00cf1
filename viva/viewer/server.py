"""Serves the viewer's page to one machine. Every address begins with a token, and nothing of a journal is markup."""

from __future__ import annotations

import hmac
import json
import re
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from viva.errors import SetupError
from viva.journal.errors import JournalError
from viva.viewer import answers
from viva.viewer.comments import Comment, add_comment, comment_view, read_comments
from viva.viewer.downloads import open_left_file
from viva.viewer.following import Follower
from viva.viewer.label_desk import LabelDesk
from viva.viewer.overview import Overviews
from viva.viewer.pictures import picture
from viva.viewer.side_by_side import versus_view
from viva.viewer.watched import WatchedJournal

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
_PAGE_FILE = re.compile(r"[a-z_]+\.(?:js|css)")
_TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_OF_REPORTS = frozenset({"page.css", "run_parts.js"})
"""What a report's page shares with the viewer's."""
HEARTBEAT = 15.0
"""Seconds after which an event stream says that it is still there."""
BLOCK = 256 * 1024
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
        self.overviews = Overviews()
        self.rater = rater
        self.labels = labels is not None
        self.desks = [None if labels is None else LabelDesk(each, rater, labels) for each in journals]
        self.token = secrets.token_urlsafe(18)
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)
        self.host = host

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


class _Handler(BaseHTTPRequestHandler):
    server: Viewer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "viva", ""
    wbufsize = -1
    timeout = 60

    def do_GET(self) -> None:
        """Answer one request."""
        path = urlsplit(self.path)
        token, _, rest = path.path.lstrip("/").partition("/")
        if not self._is_allowed(token):
            return
        query = {name: values[-1] for name, values in parse_qs(path.query, max_num_fields=20).items()}
        try:
            self._route(rest, query)
        except (answers.NotFound, FileNotFoundError) as error:
            self._json(answers.failure_view(error), HTTPStatus.NOT_FOUND)
        except (SetupError, JournalError, ValueError) as error:
            self._json(answers.failure_view(error), HTTPStatus.BAD_REQUEST)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True

    def do_POST(self) -> None:
        """Take a label or a comment."""
        token, _, rest = urlsplit(self.path).path.lstrip("/").partition("/")
        # Unlike a question, this changes something, so the browser has to say that its own page asks.
        if not self._is_allowed(token, needs_origin=True):
            return
        try:
            given = self._given()
            found = re.fullmatch(r"api/(\d{1,4})/(label|comment)", rest)
            if found is None:
                raise answers.NotFound(f"there is no {rest!r:.200}")
            take = self._take_label if found[2] == "label" else self._take_comment
            self._json(take(int(found[1]), given))
        except answers.NotFound as error:
            self._json(answers.failure_view(error), HTTPStatus.NOT_FOUND)
        except (SetupError, JournalError, ValueError) as error:
            self._json(answers.failure_view(error), HTTPStatus.BAD_REQUEST)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True

    def _given(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json" or not length.isdigit() or int(length) > MOST_GIVEN:
            self.close_connection = True
            raise ValueError(f"a JSON object of at most {MOST_GIVEN:,} bytes is required")
        given = json.loads(self.rfile.read(int(length)))
        if not isinstance(given, dict):
            raise ValueError("a JSON object is required")
        return given

    def _take_label(self, number: int, given: dict[str, Any]) -> object:
        self._journal(str(number))
        desk = self.server.desks[number]
        if desk is None:
            raise SetupError("this viewer has no label file")
        run, criterion, label = (given.get(name) for name in ("run", "criterion", "label"))
        seconds, note = given.get("seconds"), given.get("note", "")
        texts = isinstance(run, str) and isinstance(criterion, str) and isinstance(note, str)
        if not texts or not isinstance(label, str | None) or not isinstance(seconds, int | float | None):
            raise ValueError("a label requires the texts run and criterion, and label")
        return desk.give(str(run), str(criterion), label, seconds, note)

    def _take_comment(self, number: int, given: dict[str, Any]) -> object:
        journal = self._journal(str(number))
        run, text, place = given.get("run"), given.get("text"), given.get("round")
        if not isinstance(text, str) or run not in journal.runs or type(place) not in (int, type(None)):
            raise ValueError("a comment requires a run of this journal and a text")
        comment = Comment(str(run), text, place, self.server.rater)
        return comment_view(add_comment(journal.folder, comment))

    def _is_allowed(self, token: str, *, needs_origin: bool = False) -> bool:
        origin = self.headers.get("Origin")
        host = self.headers.get("Host", "")
        own_origin = origin == f"http://{host}" or (origin is None and not needs_origin)
        if not self.server.is_own_host(host) or not own_origin:
            self._json({"error": "this server answers its own page only"}, HTTPStatus.FORBIDDEN)
            return False
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            words = "the address lacks the token that `viva view` printed"
            self._json({"error": words}, HTTPStatus.FORBIDDEN)
            return False
        return True

    def _route(self, rest: str, query: Mapping[str, str]) -> None:
        if rest == "":
            self._send("text/html; charset=utf-8", _page_file("index.html"))
        elif rest.startswith("page/") and _PAGE_FILE.fullmatch(name := rest.removeprefix("page/")):
            self._send(_TYPES[name.rpartition(".")[2]], _page_file(name))
        elif rest == "api/journals":
            self._json(
                [answers.journal_view(*each, labels=self.server.labels) for each in enumerate(self.server.journals)]
            )
        elif rest == "api/events":
            self._events()
        elif (found := re.fullmatch(r"api/(\d{1,4})/([a-z]+)", rest)) is not None:
            self._json(self._answer(int(found[1]), found[2], query))
        elif (found := re.fullmatch(r"(\d{1,4})/(images/[0-9a-f]{64}\.[a-z]{3,4})", rest)) is not None:
            self._picture(self._journal(found[1]), found[2])
        elif (found := re.fullmatch(r"(\d{1,4})/file", rest)) is not None:
            self._download(self._journal(found[1]), query.get("id", ""), query.get("path", ""))
        else:
            raise answers.NotFound(f"there is no {rest!r:.200}")

    def _answer(self, number: int, name: str, query: Mapping[str, str]) -> object:
        journal, server = self._journal(str(number)), self.server
        if name == "overview":
            return server.overviews.of(journal)
        if name == "versus":
            other = self._journal(str(_whole(query, "other", 0)))
            only_changed = query.get("all") != "1"
            return versus_view(journal, other, only_changed=only_changed, first=_whole(query, "first", 0))
        if name == "comments":
            return [comment_view(each) for each in read_comments(journal.folder, query.get("id", ""))]
        if name == "label":
            desk = server.desks[number]
            after = (query["run"], query["criterion"]) if "run" in query and "criterion" in query else None
            return {"point": None, "left": 0, "total": 0} if desk is None else desk.state(after)
        answer = _ANSWERS.get(name)
        if answer is None:
            raise answers.NotFound(f"there is no {name!r}")
        return answer(journal, query)

    def _journal(self, number: str) -> WatchedJournal:
        if int(number) >= len(self.server.journals):
            raise answers.NotFound(f"there is no journal {number}")
        return self.server.journals[int(number)]

    def _events(self) -> None:
        self.send_response(HTTPStatus.OK)
        self._head("text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        server, seen, count = self.server, [-1] * len(self.server.journals), -1
        while not server.follower.stopped:
            changed = answers.changes_view(server.journals, seen, labels=server.labels)
            for each in changed:
                seen[each["n"]] = each["version"]
            text = f"data: {json.dumps(changed)}\n\n" if changed else ": still here\n\n"
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
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        self._send("application/json; charset=utf-8", body, status)

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


def _whole(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError(f"{name} is not a whole number")
    return int(text)


def _runs(journal: WatchedJournal, query: Mapping[str, str]) -> object:
    first, most = _whole(query, "first", 0), _whole(query, "most", answers.MOST_ROWS)
    return answers.runs_view(journal, query.get("where", ""), query.get("order", ""), first, most)


def _run(journal: WatchedJournal, query: Mapping[str, str]) -> object:
    first, most = _whole(query, "first", 0), _whole(query, "most", answers.MOST_ROUNDS)
    return answers.run_view(journal, query.get("id", ""), first, most)


_ANSWERS: Mapping[str, Callable[[WatchedJournal, Mapping[str, str]], object]] = {
    "runs": _runs,
    "run": _run,
    "grid": lambda journal, query: answers.grid_view(journal, query.get("where", "")),
    "position": lambda journal, query: answers.position_of(journal, query.get("id", ""), _whole(query, "number", 1)),
    "find": lambda journal, query: answers.found_rounds(journal, query.get("id", ""), query.get("words", "")),
}


@cache
def _page_file(name: str) -> bytes:
    package, folder = ("viva.reports.page", "templates") if name in _OF_REPORTS else ("viva.viewer", "pages")
    return (files(package) / folder / name).read_bytes()
