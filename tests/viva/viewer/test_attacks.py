"""Requests that no browser's own page makes: by hand, malformed, slow, in great number, or from another page."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.viva.reports.made import keep_image, png, write_run
from tests.viva.viewer.conftest import Reader
from viva.exam.kept_workspaces import workspace_name
from viva.journal.writer import Journal
from viva.records.run_record import Setting
from viva.viewer import server as serving

Serve = Callable[..., Reader]
SECRET = b"nobody may read this"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal beside a secret, to which links in its folders lead."""
    folder = tmp_path / "journal"
    (tmp_path / "secret.txt").write_bytes(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_bytes(SECRET)
    with Journal(folder) as written:
        write_run(written, images=(keep_image(folder, png()),))
        for run, workspace in (("run-1", workspace_name("run-1")), ("run-2", "workspaces/linked"), ("run-3", "..")):
            written.append("setting", run, 1, Setting(case="c", agent="a", workspace=workspace))
    (folder / workspace_name("run-1")).mkdir(parents=True)
    (folder / workspace_name("run-1") / "inner").symlink_to(tmp_path / "outside")
    (folder / workspace_name("run-1") / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "workspaces" / "linked").symlink_to(tmp_path / "outside")
    (folder / "images" / f"{'0' * 64}.png").symlink_to(tmp_path / "secret.txt")
    (folder / "comments.jsonl").symlink_to(tmp_path / "secret.txt")
    return folder


def say(reader: Reader, *sent: bytes) -> bytes:
    """Send bytes, and return everything that comes back until the server ends the connection."""
    with socket.create_connection(reader.server.server_address[:2], timeout=20) as connection:
        try:
            for each in sent:
                connection.sendall(each)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server has refused before all was sent
        found = b""
        try:
            while block := connection.recv(65536):
                found += block
        except ConnectionResetError:
            pass
        return found


def request(reader: Reader, path: str, *headers: str, method: str = "GET", version: str = "HTTP/1.1") -> bytes:
    host = f"Host: 127.0.0.1:{reader.server.server_address[1]}"
    lines = [f"{method} /{reader.server.token}/{path} {version}", host, "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:80]
    head, _, _ = answer.partition(b"\r\n\r\n")
    assert b"content-security-policy: default-src 'none'" in head.lower()
    assert b"referrer-policy: no-referrer" in head.lower()
    assert b"access-control" not in head.lower()
    return int(answer.split(b" ", 2)[1])


TRAVERSALS = (
    "../",
    "..%2f",
    "%2e%2e/",
    "%2e%2e%2f",
    "..%252f",
    "....//",
    "..\\",
    "..%5c",
    "%c0%ae%c0%ae/",
    "..;/",
    "./../",
)


@pytest.mark.parametrize("up", TRAVERSALS)
def test_no_way_up_leaves_the_folders(journal: Path, serve: Serve, up: str) -> None:
    reader = serve(journal)
    for path in (f"page/{up}server.py", f"0/images/{up * 2}secret.txt", f"0/{up}secret.txt", f"{up * 6}etc/passwd"):
        answer = say(reader, request(reader, path))
        assert status(answer) == 404
        assert SECRET not in answer
    for run in ("run-1", "run-2", "run-3"):
        for inner in ("", "inner/"):
            answer = say(reader, request(reader, f"0/file?id={run}&path={inner}{up * 3}secret.txt"))
            assert status(answer) == 404
            assert SECRET not in answer


def test_no_link_is_followed(journal: Path, serve: Serve) -> None:
    reader = serve(journal)
    paths = [f"0/file?id=run-1&path={quote(path)}" for path in ("link.txt", "inner/secret.txt", "inner")]
    paths += ["0/file?id=run-2&path=secret.txt", "0/file?id=run-3&path=secret.txt", f"0/images/{'0' * 64}.png"]
    for path in paths:
        answer = say(reader, request(reader, path))
        assert status(answer) == 404
        assert SECRET not in answer
    assert SECRET not in say(reader, request(reader, "api/0/comments?id=run-1"))
    status_, _ = reader.send("api/0/comment", {"run": "run-1", "text": "x"})
    assert status_ == 400
    assert (journal.parent / "secret.txt").read_bytes() == SECRET


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}", "127.0.0.1.evil.example:{port}", "127.0.0.1:{port}.evil.example",
        "user@127.0.0.1:{port}", "127.1:{port}", "0.0.0.0:{port}", "[::1]:{port}", "127.0.0.1:{port}:{port}",
        "127.0.0.1:0{port}", "2130706433:{port}",
    ],
)  # fmt: skip
def test_a_name_that_leads_here_is_not_this_server(journal: Path, serve: Serve, host: str) -> None:
    reader = serve(journal)
    named = host.format(port=reader.server.server_address[1])
    assert reader.ask("", Host=named)[0] == 403
    # A page of that name would also be its own origin.
    assert reader.ask("", Host=named, Origin=f"http://{named}")[0] == 403


def test_two_hosts_or_origins_and_other_targets_are_refused(journal: Path, serve: Serve) -> None:
    reader = serve(journal)
    port = reader.server.server_address[1]
    own = f"Origin: http://127.0.0.1:{port}"
    assert status(say(reader, request(reader, "", "Host: evil.example"))) == 403
    assert status(say(reader, request(reader, "", own, "Origin: http://evil.example"))) == 403
    assert status(say(reader, f"GET http://evil.example/{reader.server.token}/ HTTP/1.1\r\n\r\n".encode())) == 403
    assert status(say(reader, f"GET /{reader.server.token}/ HTTP/1.0\r\n\r\n".encode())) == 403


def test_a_token_anywhere_but_in_the_address_is_none(journal: Path, serve: Serve) -> None:
    reader = serve(journal)
    token = reader.server.token
    for named in (
        f"Referer: {reader.server.address}", f"Cookie: token={token}", f"Authorization: Bearer {token}",
        f"X-Original-URL: /{token}/",
    ):  # fmt: skip
        sent = request(reader, "", named).replace(f"/{token}/ ".encode(), b"/api/journals ", 1)
        assert status(say(reader, sent)) == 403
    assert status(say(reader, request(reader, "").replace(token.encode(), token.swapcase().encode(), 1))) == 403
    assert status(say(reader, request(reader, "").replace(f"/{token}/".encode(), b"/?token=" + token.encode()))) == 403


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "<script>", "get"])
def test_other_methods_do_nothing(journal: Path, serve: Serve, method: str) -> None:
    reader = serve(journal)
    answer = say(reader, request(reader, "api/journals", "Origin: null", method=method))
    assert status(answer) in (403, 405, 501)
    assert b"<" not in answer
    assert str(journal).encode() not in answer


@pytest.mark.parametrize(
    "path", ["", "page/viewer.js", "api/journals", "api/events", "api/0/runs", "0/file", "nothing"]
)
def test_posts_change_nothing_where_none_is_expected(journal: Path, serve: Serve, path: str) -> None:
    reader = serve(journal)
    assert reader.send(path, {"run": "run-1", "text": "x"})[0] == 404


@pytest.mark.parametrize(
    "headers",
    [
        ("Transfer-Encoding: chunked",), ("Content-Length: -1",), ("Content-Length: 99999999999",),
        ("Content-Length: 1e2",), ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Content-Length: 2", "Content-Length: 30"), (),
    ],
)  # fmt: skip
def test_a_body_of_unclear_length_ends_the_connection(journal: Path, serve: Serve, headers: tuple[str, ...]) -> None:
    reader = serve(journal)
    own = f"Origin: http://127.0.0.1:{reader.server.server_address[1]}"
    sent = request(reader, "api/0/comment", own, "Content-Type: application/json", *headers, method="POST")
    # What follows must never be taken for a request of its own.
    answer = say(reader, sent.replace(b"Connection: close\r\n", b""), b"{}", request(reader, "api/journals"))
    assert status(answer) == 400
    assert answer.count(b"HTTP/1.1") == 1


def test_a_question_with_a_body_ends_the_connection(journal: Path, serve: Serve) -> None:
    reader = serve(journal)
    hidden = request(reader, "api/journals")
    sent = request(reader, "api/0/runs", f"Content-Length: {len(hidden)}").replace(b"Connection: close\r\n", b"")
    assert say(reader, sent, hidden).count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n" * 3, b"\x00" * 100, b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 300 + b"\r\n", b"GET /\xff\xfe HTTP/1.1\r\nHost: \xff\r\n\r\n",
        b"GET / HTTP/1.1\r\n: \r\n \r\n\r\n",
    ],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_request_gets_no_secret_and_no_page(journal: Path, serve: Serve, sent: bytes) -> None:
    reader = serve(journal)
    answer = say(reader, sent)
    assert answer == b"" or status(answer) >= 400
    assert reader.server.token.encode() not in answer
    assert b"<" not in answer
    assert reader.ask("api/journals")[0] == 200


def test_slow_clients_and_a_thousand_connections_do_not_keep_readers_out(
    journal: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 20)
    monkeypatch.setattr(serving, "WAITING_SECONDS", 0.2)
    reader = serve(journal)
    idle = []
    try:
        for number in range(1000):
            connection = socket.create_connection(reader.server.server_address[:2], timeout=20)
            if number % 3:
                connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
            if len(idle) < 200:
                idle.append(connection)
            else:
                connection.close()
        for _ in range(200):  # the first ones are ended after their time
            try:
                found = reader.ask("api/journals")[0]
                break
            except OSError:
                continue
        assert found == 200
        assert reader.server.open_connections <= 20
    finally:
        for connection in idle:
            connection.close()


def test_a_page_of_another_origin_learns_nothing(journal: Path, serve: Serve, browser: object) -> None:
    """A real browser, on another page that knows the port and, at worst, the token."""
    from tests.viva.reports.browser import Browser

    assert isinstance(browser, Browser)
    reader, other = serve(journal), serve(journal)
    browser.open(f"http://127.0.0.1:{other.server.server_address[1]}/no-token/")
    script = (
        f"const address = {json.dumps(reader.server.address)};"
        """
      const done = arguments[arguments.length - 1], found = {};
      const ask = async (name, path, options) => {
        try { found[name] = await (await fetch(address + path, options)).text(); } catch (error) { found[name] = null; }
      };
      (async () => {
        await ask("fetch", "api/journals");
        await ask("opaque", "api/journals", { mode: "no-cors" });
        await ask("post", "api/0/comment", { method: "POST", body: "{}" });
        done(found);
      })();
    """
    )
    found = browser._call("/execute/async", {"script": script, "args": []})
    assert not any(found.values())
    browser.complaints()
