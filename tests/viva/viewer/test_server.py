"""The viewer answers its own page only, and nothing of a journal can run in it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.viva.reports.made import HOSTILE, keep_image, png, write_run
from tests.viva.viewer.conftest import Reader
from viva.errors import SetupError
from viva.exam.kept_workspaces import workspace_name
from viva.journal.writer import Journal
from viva.records.run_record import Setting
from viva.records.transcript import Round
from viva.viewer.comments import read_comments
from viva.viewer.found import find_journals

Serve = Callable[..., Reader]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """One run with files that its agent left."""
    folder = tmp_path / "journal"
    with Journal(folder) as written:
        run = "run-1"
        workspace = workspace_name(run)
        written.append("setting", run, 1, Setting(case="c", agent="a", workspace=workspace))
        written.append("round", run, 1, Round(1, "q", "a", images=(keep_image(folder, png()),)))
    left = folder / workspace / "inner"
    left.mkdir(parents=True)
    (left / "page.html").write_text("<script>alert(1)</script>")
    (left / "a b%2f;é.txt").write_text("plain")
    (tmp_path / "secret.txt").write_text("secret")
    (left / "link").symlink_to(tmp_path / "secret.txt")
    return folder


def test_a_request_without_the_token_learns_nothing(journal: Path, serve: Serve) -> None:
    reader = serve(journal)
    for token in ("x", "x" * len(reader.server.token), reader.server.token[:-1], "api"):
        for path in ("", "api/journals", "0/file"):
            status, _, body = reader.ask(path, token=token)
            assert status == 403
            assert str(journal).encode() not in body


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", ""]
)
def test_another_host_is_refused(journal: Path, serve: Serve, host: str) -> None:
    reader = serve(journal)
    port = reader.server.server_address[1]
    assert reader.ask("api/journals", Host=host.format(port=port))[0] == 403
    assert reader.ask("api/journals", Host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1:{port}"])
def test_another_origin_is_refused(journal: Path, serve: Serve, origin: str) -> None:
    reader = serve(journal)
    port = reader.server.server_address[1]
    assert reader.ask("api/journals", Origin=origin.format(port=port))[0] == 403
    assert reader.ask("api/journals", Origin=f"http://127.0.0.1:{port}")[0] == 200


def test_every_answer_says_what_a_browser_may_do_with_it(journal: Path, serve: Serve) -> None:
    reader = serve(journal)
    for path in ("", "page/viewer.js", "page/viewer.css", "api/journals", "nothing"):
        _, headers, _ = reader.ask(path)
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        "page/../server.py", "page/..%2fserver.py", "page/index.html",
        "page/nothing.js", "../", "api/9/runs", "api/0/nothing",
        "0/images/../request.json", "0/journal.jsonl", "x" * 5000,
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_found(journal: Path, serve: Serve, path: str) -> None:
    assert serve(journal).ask(path)[0] == 404


def test_files_of_the_agent_are_downloads_that_cannot_run(journal: Path, serve: Serve) -> None:
    reader = serve(journal)
    status, headers, body = reader.ask("0/file", {"id": "run-1", "path": "inner/page.html"})
    assert (status, body) == (200, b"<script>alert(1)</script>")
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"].startswith("attachment; ")
    assert reader.ask("0/file", {"id": "run-1", "path": "inner/a b%2f;é.txt"})[2] == b"plain"


@pytest.mark.parametrize(
    "path",
    [
        "inner/link", "../../../secret.txt", "inner/../../../../secret.txt", "/etc/passwd",
        "inner", "inner/", "", "./inner/page.html",
        "inner//page.html", "inner/page.html\0", "nothing",
    ],
)  # fmt: skip
def test_no_file_outside_the_workspace_is_served(journal: Path, serve: Serve, path: str) -> None:
    status, _, body = serve(journal).ask("0/file", {"id": "run-1", "path": path})
    assert status == 404
    assert body.startswith(b'{"error":"the agent left no file')


def test_a_picture_has_its_own_type_and_text_is_none(journal: Path, serve: Serve) -> None:
    reader = serve(journal)
    (name,) = reader.json("api/0/run", id="run-1")["images"]
    status, headers, body = reader.ask(f"0/{name}")
    assert (status, headers["Content-Type"], body) == (200, "image/png", png())
    html = keep_image(journal, b"<script>alert(1)</script>")
    assert reader.ask(f"0/{html}")[0] == 404


@pytest.mark.parametrize(
    "query",
    [
        {"first": -1}, {"first": "x"}, {"most": "1e3"},
        {"most": "٣"}, {"first": "9" * 40}, {"where": "scroe<1"}, {"where": "(" * 100},
    ],
)  # fmt: skip
def test_a_wrong_question_is_answered_with_what_is_wrong(journal: Path, serve: Serve, query: dict[str, object]) -> None:
    status, _, body = serve(journal).ask("api/0/runs", query)
    assert status == 400
    assert json.loads(body)["error"]


def test_hostile_words_come_as_data(tmp_path: Path, serve: Serve) -> None:
    with Journal(tmp_path / "j") as written:
        for number, words in enumerate(HOSTILE):
            write_run(
                written, f"case {number} {words}", words, said=(words,), reason=words, statement=words, error=words
            )
    reader = serve(tmp_path / "j")
    rows = reader.json("api/0/runs")["rows"]
    assert len(rows) == len(HOSTILE)
    reader.json("api/0/grid")
    for row in rows:
        shown = reader.json("api/0/run", id=row["id"])
        # `json.dumps` writes what is not ASCII as an escape, and a backslash that is shown as two.
        assert re.search(r"(?<!\\)(?:\\\\)*\\u(?:001b|202e|0000|d800)", json.dumps(shown)) is None


def test_the_state_of_journals_is_sent_when_they_change(journal: Path, serve: Serve) -> None:
    import http.client

    reader = serve(journal)
    connection = http.client.HTTPConnection("127.0.0.1", reader.server.server_address[1], timeout=20)
    connection.request("GET", f"/{reader.server.token}/api/events")
    answer = connection.getresponse()
    assert answer.getheader("Content-Type") == "text/event-stream; charset=utf-8"

    def state() -> dict[str, object]:
        while not (line := answer.readline()).startswith(b"data: "):
            assert line
        (found,) = json.loads(line.removeprefix(b"data: "))
        return dict(found)

    before = state()
    with Journal(journal) as written:
        write_run(written, "another")
    while (after := state())["runs"] != 2:
        pass
    assert int(str(after["version"])) > int(str(before["version"]))
    answer.close()
    connection.close()


def test_journals_are_found_below_a_folder_and_not_within_one(journal: Path, tmp_path: Path) -> None:
    (journal / "inner" / "deep").mkdir(parents=True)
    (journal / "inner" / "deep" / "journal.jsonl").touch()
    with Journal(tmp_path / "a" / "b"):
        pass
    assert {path.name for path in find_journals([tmp_path])} == {"journal", "b"}
    assert find_journals([journal / "journal.jsonl"]) == [journal]
    with pytest.raises(SetupError, match="there is no journal below"):
        find_journals([tmp_path / "journal" / "inner" / ".." / "images"])
    with pytest.raises(SetupError, match="there is no /nowhere"):
        find_journals([Path("/nowhere")])


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": ""}, {"Origin": "null"},
        {"Origin": "http://evil.example"}, {"Host": "evil.example"},
    ],
)  # fmt: skip
def test_nothing_is_taken_from_another_page(journal: Path, serve: Serve, headers: dict[str, str]) -> None:
    status, _ = serve(journal).send("api/0/comment", {"run": "run-1", "text": "x"}, **headers)
    assert status == 403
    assert not (journal / "comments.jsonl").exists()


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"[]", b"{", b'"x"', {}, {"run": "run-1"}, {"run": "other", "text": "x"}, {"run": "run-1", "text": ""},
        {"run": "run-1", "text": "x" * 20_001}, {"run": "run-1", "text": "x", "round": "1"},
        {"run": ["run-1"], "text": "x"},
    ],
)  # fmt: skip
def test_a_comment_that_is_none_is_refused_with_a_reason(journal: Path, serve: Serve, sent: object) -> None:
    status, answer = serve(journal).send("api/0/comment", sent)
    assert status == 400
    assert answer["error"]
    assert not (journal / "comments.jsonl").exists()


def test_what_a_form_of_another_page_could_send_is_refused(journal: Path, serve: Serve) -> None:
    reader = serve(journal)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert reader.send("api/0/comment", {"run": "run-1", "text": "x"}, **{"Content-Type": kind})[0] == 400


def test_a_label_of_another_conversation_does_not_count(tmp_path: Path, serve: Serve) -> None:
    labels = tmp_path / "labels.jsonl"
    for name, said in (("one", "first"), ("two", "second")):
        with Journal(tmp_path / name) as written:
            run = write_run(written, said=(said,))
    reader = serve(tmp_path / "one", tmp_path / "two", labels=labels)
    status, answer = reader.send("api/0/label", {"run": run, "criterion": "p0", "label": "miss", "seconds": 1.5})
    assert (status, answer["label"], answer["agrees"]) == (200, "hit", False)
    assert reader.json("api/0/label")["left"] == 0
    assert reader.json("api/1/label")["left"] == 1


@pytest.mark.parametrize(
    "sent",
    [
        {}, {"run": "x", "criterion": "p0", "label": "hit"}, {"run": "{run}", "criterion": "none", "label": "hit"},
        {"run": "{run}", "criterion": "p0", "label": "maybe"}, {"run": "{run}", "criterion": "p0", "label": 1},
        {"run": "{run}", "criterion": "p0", "label": "hit", "seconds": -1},
        {"run": "{run}", "criterion": "p0", "label": "hit", "seconds": math.inf},
        {"run": "{run}", "criterion": "p0", "label": "hit", "note": "x" * 70_000},
    ],
)  # fmt: skip
def test_a_label_that_is_none_is_refused(tmp_path: Path, serve: Serve, sent: dict[str, object]) -> None:
    with Journal(tmp_path / "j") as written:
        run = write_run(written)
    filled = {name: run if value == "{run}" else value for name, value in sent.items()}
    status, answer = serve(tmp_path / "j", labels=tmp_path / "l.jsonl").send("api/0/label", filled)
    assert status == 400
    assert answer["error"]
    assert not (tmp_path / "l.jsonl").exists()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.one_of(st.binary(max_size=60), st.just(b'{"run":"r","text":"t","round":1e999}')), max_size=6))
def test_comments_of_any_content_are_read_without_a_fault(tmp_path: Path, lines: list[bytes]) -> None:
    (tmp_path / "comments.jsonl").write_bytes(b"\n".join([*lines, b'{"run":"r","text":"kept"}', b""]))
    assert read_comments(tmp_path, "r")[-1].text == "kept"


def test_a_run_without_a_case_is_shown_by_its_id_without_hidden_characters(tmp_path: Path, serve: Serve) -> None:
    with Journal(tmp_path / "j") as written:
        written.append("setting", "run \u202e\x1b[2J", 1, Setting())
    (row,) = serve(tmp_path / "j").json("api/0/runs")["rows"]
    assert row["case"].isprintable()


def test_a_journal_that_cannot_be_followed_says_why_and_the_others_go_on(
    journal: Path, tmp_path: Path, serve: Serve
) -> None:
    other = tmp_path / "other"
    with Journal(other) as written:
        write_run(written)
    reader = serve(journal, other)
    (journal / "journal.jsonl").write_bytes(b"")
    reader.server.follower.look(0)
    with Journal(other) as written:
        write_run(written, "another")
    reader.server.follower.look(1)
    first, second = reader.json("api/journals")
    assert "shorter than it was" in first["problem"]
    assert (second["problem"], second["runs"]) == ("", 2)
