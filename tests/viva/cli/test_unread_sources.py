"""What of a source cannot be read may have been any number of runs: no gate on its figures passes over it."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import viva
from tests.copilot_sessions import event
from tests.ufo_folders import app_line, make_folder
from tests.viva.cli.test_empty_traces import answered
from tests.viva.cli.test_trace_follow import FOLLOW, save, spans
from tests.viva.conftest import Desk
from tests.viva.recordings.sources.test_platforms import RECORDED as PLATFORMS
from tests.viva.recordings.sources.test_sessions import CLAUDE, log_of, sample, write
from tests.webhooks import Hook
from viva.journal.reader import read_records, read_runs
from viva.recordings.recording import NothingYet, Recording, SourceNotes, UnfinishedFile
from viva.records import Round, Transcript
from viva.suites.request import RecordingsRequest
from viva.suites.resuming.stored_request import load_request
from viva.suites.watching import Settling, UnfinishedFiles

GOOD = "ok.py:good"
GATED = ("--evaluators", GOOD, "--fail-under", "0.5")


@pytest.fixture
def desk(desk: Desk) -> Desk:
    """A folder with an evaluator that finds everything good."""
    (desk.folder / "ok.py").write_text("def good(transcript, context):\n    return True\n")
    return desk


def lines(*numbers: int) -> str:
    return "".join(json.dumps(span) + "\n" for number in numbers for span in answered(number))


def torn_line(folder: Path) -> str:
    (folder / "spans.jsonl").write_text(lines(1) + "{torn\n" + lines(2))
    return "spans:spans.jsonl"


def unreadable_file(folder: Path) -> str:
    (folder / "logs").mkdir()
    (folder / "logs" / "a.jsonl").write_text(lines(1))
    (folder / "logs" / "b.jsonl").symlink_to("nowhere.jsonl")
    return "spans:logs"


def document_that_breaks_off(folder: Path) -> str:
    (folder / "logs").mkdir()
    (folder / "logs" / "a.json").write_text(json.dumps(answered(1)))
    (folder / "logs" / "b.json").write_text(json.dumps(answered(2))[:-20])
    return "spans:logs"


def archive_that_ends_too_early(folder: Path) -> str:
    noise = random.Random(0)
    long = "".join(
        json.dumps({**span, "noise": noise.randbytes(5000).hex()}) + "\n"
        for number in range(1, 30)
        for span in answered(number)
    )
    packed = gzip.compress(long.encode())
    (folder / "spans.jsonl.gz").write_bytes(packed[: len(packed) * 2 // 3])
    return "spans:spans.jsonl.gz"


def damaged_session(folder: Path) -> str:
    write(folder / "logs" / "a.jsonl", CLAUDE)
    (folder / "logs" / "z.jsonl").write_text("{torn\n")
    return "claude_code:logs"


def torn_event(folder: Path) -> str:
    events = (event("session.start", 1, sessionId="a"), event("user.message", 2, content="one"))
    (folder / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events) + "{torn\n")
    return "copilot:events.jsonl"


def unreadable_desktop_session(folder: Path) -> str:
    make_folder(folder / "logs" / "a", [app_line(1)])
    (make_folder(folder / "logs" / "b", [app_line(1)]) / "response.log").write_text("{torn\n")
    return "ufo:logs"


def torn_line_of_a_desktop_session(folder: Path) -> str:
    with (make_folder(folder / "log", [app_line(1)]) / "response.log").open("a") as file:
        file.write("\n{torn\n")
    return "ufo:log"


def span_without_its_id(folder: Path) -> str:
    spans = [*answered(1), *answered(2)]
    for span in spans[2:]:
        del span["context"]["span_id"]
    (folder / "spans.json").write_text(json.dumps(spans))
    return "spans:spans.json"


def spans_of_otlp_that_are_no_objects(folder: Path) -> str:
    documents = [{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]} for spans in (answered(1), ["torn"], {"a": 1})]
    (folder / "spans.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents))
    return "otlp:spans.jsonl"


def export_without_the_id_of_a_run(folder: Path) -> str:
    runs = [{"id": str(number), "run_type": "llm", "inputs": {}, "outputs": {}} for number in (1, 2)]
    del runs[1]["id"]
    (folder / "runs.json").write_text(json.dumps(runs))
    return "langsmith:runs.json"


def trace_without_spans(folder: Path) -> str:
    whole = (PLATFORMS / "mlflow.jsonl").read_text().splitlines()[0]
    (folder / "traces.jsonl").write_text(f'{whole}\n{{"info": {{"trace_id": "tr-1"}}, "data": {{}}}}\n')
    return "mlflow:traces.jsonl"


def session_without_ids(folder: Path) -> str:
    write(folder / "logs" / "a.jsonl", CLAUDE)
    ids = ("sessionId", "uuid")
    write(folder / "logs" / "b.jsonl", [{key: line[key] for key in line if key not in ids} for line in CLAUDE])
    return "claude_code:logs"


def call_without_a_trace(folder: Path) -> str:
    part = {"trace": {"orchestrationTrace": {"observation": {"finalResponse": {"text": "Done."}}}}}
    calls = [{"inputText": "Order.", "completion": each} for each in ([part], [{"chunk": {"bytes": "RG9uZS4="}}])]
    (folder / "calls.json").write_text(json.dumps(calls))
    return "bedrock:calls.json"


def span_with_the_id_of_another(folder: Path) -> str:
    first, second = answered(1)
    (folder / "spans.json").write_text(json.dumps([first, second, {**second, "name": "another"}]))
    return "spans:spans.json"


def empty_file_of_spans(folder: Path) -> str:
    (folder / "logs").mkdir()
    (folder / "logs" / "a.jsonl").write_text(lines(1))
    (folder / "logs" / "b.jsonl").touch()
    return "spans:logs"


def empty_trajectory(folder: Path) -> str:
    source = trajectories(folder)
    (folder / "logs" / "secret" / "trajectory.json").write_text("")
    return source


def empty_session(folder: Path) -> str:
    write(folder / "logs" / "a.jsonl", CLAUDE)
    (folder / "logs" / "b.jsonl").touch()
    return "claude_code:logs"


def empty_log_of_a_desktop_session(folder: Path) -> str:
    make_folder(folder / "logs" / "a", [app_line(1)])
    (make_folder(folder / "logs" / "b", [app_line(1)]) / "response.log").write_text("")
    return "ufo:logs"


EMPTY = {
    empty_file_of_spans: "logs/b.jsonl",
    empty_trajectory: "logs/secret/trajectory.json",
    empty_session: "logs/b.jsonl",
    empty_log_of_a_desktop_session: "logs/b/response.log",
}
DAMAGED: dict[Callable[[Path], str], str] = {
    torn_line: "spans.jsonl: lines left out because they are not valid JSON: 1 (first: line 3)",
    unreadable_file: "b.jsonl: cannot be read: No such file or directory",
    document_that_breaks_off: "b.json, line 1: not valid JSON",
    archive_that_ends_too_early: "spans.jsonl.gz: the packed file is read as far as it goes",
    damaged_session: "lines of z.jsonl left out because they are not JSON objects: 1",
    torn_event: "lines of events.jsonl skipped because they are not events: 1",
    unreadable_desktop_session: "it has only broken lines (1)",
    span_without_its_id: "spans.json: spans left out because they have no ids, or are nested too deeply: 2",
    spans_of_otlp_that_are_no_objects: "spans.jsonl: spans left out because they have no ids",
    export_without_the_id_of_a_run: "runs.json: spans left out because they have no ids",
    trace_without_spans: "traces.jsonl: spans left out because they have no ids",
    session_without_ids: "b.jsonl: left out because it does not say enough to be a session of Claude Code",
    call_without_a_trace: "calls.json: calls left out because they have no trace of the agent: 1",
    torn_line_of_a_desktop_session: "broken lines of log/response.log: 1",
    span_with_the_id_of_another: "spans left out that say something else than another one with their id: 1",
    **EMPTY,
}


@pytest.mark.parametrize("damage", DAMAGED, ids=lambda each: each.__name__)
def test_a_gate_does_not_pass_over_what_could_not_be_read(desk: Desk, damage: Callable[[Path], str]) -> None:
    words = DAMAGED[damage]
    source = damage(desk.folder)
    done = desk.viva("trace", source, *GATED, "--out", "j", "--quiet", expect=3)
    assert "not all of the sources could be read: " in done.stderr
    assert words in done.stderr
    assert "mean score 1.0000" in done.stdout
    # The journal knows it, whatever is asked of it later.
    reported = desk.viva("report", "j", "--fail-under", "0.5", expect=3)
    assert words in reported.stderr
    desk.viva("report", "j", expect=0)
    judged = desk.viva("judge", "j", *GATED, "--out", "again", "--quiet", expect=3)
    assert words in judged.stderr
    desk.viva("report", "again", "--fail-under", "0.5", expect=3)


@pytest.mark.parametrize("damage", DAMAGED, ids=lambda each: each.__name__)
def test_without_a_gate_it_is_a_note(desk: Desk, damage: Callable[[Path], str]) -> None:
    done = desk.viva("trace", damage(desk.folder), "--evaluators", GOOD, "--out", "j", expect=0)
    assert "note: " in done.stderr


def spans_in_folders(folder: Path) -> str:
    for name in ("logs/a", "logs/secret"):
        (folder / name).mkdir(parents=True)
        (folder / name / "spans.jsonl").write_text(lines(1 + (name == "logs/a")))
    return "spans:logs"


def spans_of_a_pattern(folder: Path) -> str:
    return f"{spans_in_folders(folder)}/*/*.jsonl"


def spans_anywhere(folder: Path) -> str:
    return f"{spans_in_folders(folder)}/**/*.jsonl"


def sessions_in_folders(folder: Path) -> str:
    for name in ("a", "secret"):
        write(folder / "logs" / name / "a.jsonl", CLAUDE)
    return "claude_code:logs"


def desktop_sessions(folder: Path) -> str:
    for name in ("a", "secret/b"):
        make_folder(folder / "logs" / name, [app_line(1)])
    return "ufo:logs"


def trajectories(folder: Path) -> str:
    steps = [{"step_id": 1, "source": "user", "message": "Hi"}, {"step_id": 2, "source": "agent", "message": "Hello."}]
    agent = {"name": "a", "version": "1"}
    for name in ("a", "secret"):
        (folder / "logs" / name).mkdir(parents=True)
        document = {"schema_version": "ATIF-v1.6", "session_id": name, "agent": agent, "steps": steps}
        (folder / "logs" / name / "trajectory.json").write_text(json.dumps(document))
    return "atif:logs"


UNLISTED = (
    *(spans_in_folders, spans_of_a_pattern, spans_anywhere, sessions_in_folders, desktop_sessions, trajectories),
)


def refuse_to_list(monkeypatch: pytest.MonkeyPatch, name: str, fault: int = errno.EACCES) -> None:
    scandir = os.scandir

    def refusing(path: Any = ".") -> Any:  # as for an ordinary user: for root, every folder may be listed
        if os.path.basename(str(path)) == name:
            raise OSError(fault, os.strerror(fault), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)


def give_away(monkeypatch: pytest.MonkeyPatch, name: str, owner: int) -> None:
    lstat = os.lstat

    def look(path: Any, **options: Any) -> os.stat_result:
        found = lstat(path, **options)
        return os.stat_result((*found[:4], owner, *found[5:])) if os.path.basename(str(path)) == name else found

    monkeypatch.setattr(os, "lstat", look)


@pytest.mark.parametrize("make", [spans_of_a_pattern, spans_anywhere])
def test_a_pattern_in_a_folder_that_may_not_be_listed_is_an_error(
    desk: Desk, make: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make(desk.folder)
    refuse_to_list(monkeypatch, "logs")
    done = desk.viva("trace", source, *GATED, "--out", "j", expect=2)
    assert "logs: cannot be read: Permission denied" in done.stderr


@pytest.mark.parametrize("make", UNLISTED, ids=lambda each: each.__name__)
@pytest.mark.parametrize(
    ("name", "fault"), [("lost+found", errno.EACCES), ("gone", errno.ENOENT), ("loop", errno.ELOOP)]
)
def test_a_folder_that_cannot_hold_recordings_has_lost_none(
    desk: Desk, make: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch, name: str, fault: int
) -> None:
    source = make(desk.folder)
    (desk.folder / "logs" / "secret").rename(desk.folder / "logs" / name)
    refuse_to_list(monkeypatch, name, fault)
    give_away(monkeypatch, name, 0)
    assert name not in desk.viva("trace", source, *GATED, "--out", "j", expect=0).stderr


@pytest.mark.parametrize("make", UNLISTED, ids=lambda each: each.__name__)
def test_a_folder_that_may_not_be_listed_is_one_that_could_not_be_read(
    desk: Desk, make: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make(desk.folder)
    refuse_to_list(monkeypatch, "secret")
    done = desk.viva("trace", source, *GATED, "--out", "j", expect=3)
    assert "not all of the sources could be read: logs/secret: cannot be read: Permission denied" in done.stderr
    assert ("; if you do not mean it, use a pattern that does not match it" in done.stderr) == ("*" in source)
    shutil.rmtree(desk.folder / "logs" / "a")
    desk.viva("trace", source, *GATED, "--out", "k", expect=2)
    monkeypatch.undo()
    desk.viva("trace", source, *GATED, "--out", "k", expect=0)


def test_a_folder_that_somebody_else_than_root_named_lost_and_found_could_not_be_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = spans_in_folders(desk.folder)
    (desk.folder / "logs" / "secret").rename(desk.folder / "logs" / "lost+found")
    refuse_to_list(monkeypatch, "lost+found")
    give_away(monkeypatch, "lost+found", 1000)
    done = desk.viva("trace", source, *GATED, "--out", "j", expect=3)
    assert "logs/lost+found: cannot be read: Permission denied" in done.stderr


@pytest.mark.parametrize(("name", "code"), [("secret", 3), ("lost+found", 0)])
def test_a_folder_on_the_way_of_a_pattern_that_may_not_be_entered_could_not_be_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str, code: int
) -> None:
    source = spans_in_folders(desk.folder) + "/*/spans.jsonl"
    (desk.folder / "logs" / "secret").rename(desk.folder / "logs" / name)
    stat, lstat = os.stat, os.lstat

    def refusing(real: Callable[..., Any]) -> Callable[..., Any]:
        def look(path: Any, **options: Any) -> Any:
            if str(path).endswith(f"{name}/spans.jsonl"):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return real(path, **options)

        return look

    monkeypatch.setattr(os, "stat", refusing(stat))
    monkeypatch.setattr(os, "lstat", refusing(lstat))
    give_away(monkeypatch, name, 0)
    done = desk.viva("trace", source, *GATED, "--out", "j", expect=code)
    words = f"not all of the sources could be read: logs/{name}/spans.jsonl: cannot be read: Permission denied"
    assert (words in done.stderr) == bool(code)


def test_a_missed_limit_says_more_than_what_could_not_be_read(desk: Desk) -> None:
    (desk.folder / "bad.py").write_text("def bad(transcript, context):\n    return False\n")
    gated = ("--evaluators", "bad.py:bad", "--fail-under", "0.5")
    done = desk.viva("trace", torn_line(desk.folder), *gated, "--out", "j", expect=1)
    assert "below 0.5" in done.stderr
    assert "not all of the sources could be read: " in done.stderr


LOG = {"body": "Hi", "severity_number": 9, "attributes": {}, "timestamp": "2026-01-01T00:00:00Z", "trace_id": "0x0"}
FOREIGN: list[object] = [
    {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "n", "sum": {}}]}]}]},
    {"name": "n", "description": "", "unit": "s", "data": {"data_points": []}},
    {"resourceLogs": []},
    LOG,
    {"resourceSpans": None},
    {"role": "user", "content": "Hi", "name": "Ann"},
    {"id": "1", "traceId": "2", "name": "helpful", "value": 1, "timestamp": "2026-01-01T00:00:00Z"},
    "text",
]
"""Metrics, logs, an empty export, a message, a score, and what is no object."""


def test_what_the_user_left_out_and_foreign_files_are_not_missing(desk: Desk) -> None:
    logs = desk.folder / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_text(lines(1, 2, 3))
    (logs / "README.md").write_text("no spans")
    (logs / "c.jsonl").write_text("".join(json.dumps(each) + "\n" for each in FOREIGN))
    done = desk.viva("trace", "spans:logs", *GATED, "--out", "j", "--limit", "2", expect=0)
    assert "left out because their names end in none of" in done.stderr
    desk.viva("trace", "spans:logs", *GATED, "--out", "k", "--since", "2020-01-01", expect=0)
    desk.viva("report", "j", "--fail-under", "0.5", expect=0)


SUMMARY = {"name": "ci-summary", "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:00:01Z"}
POINT = {"attributes": {}, "start_time_unix_nano": 1, "time_unix_nano": 2, "value": 3}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("document", [SUMMARY, {"status": "ok", "attributes": {"a": 1}}, POINT])
def test_an_ordinary_document_beside_spans_is_no_lost_span(
    desk: Desk, document: dict[str, object], indent: int | None
) -> None:
    logs = desk.folder / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_text(lines(1))
    (logs / "b.json").write_text(json.dumps(document, indent=indent))
    done = desk.viva("trace", "spans:logs", *GATED, "--out", "j", expect=0)
    assert "b.json: elements left out because they are not spans: 1" in done.stderr
    (logs / "b.json").write_text(lines(2) + json.dumps(POINT))
    desk.viva("trace", "spans:logs", *GATED, "--out", "k", expect=0)


NO_IDS = answered(2)[1] | {"context": {}}
OF_A_MODEL = {**SUMMARY, "attributes": {"gen_ai.operation.name": "chat"}}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(NO_IDS),
        json.dumps(OF_A_MODEL, indent=1),
        json.dumps({**SUMMARY, "parent_id": None}),
        json.dumps([SUMMARY]),
        json.dumps({"spans": [SUMMARY]}),
        json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SUMMARY]}]}]}),
        lines(2) + json.dumps(SUMMARY),
    ],
)
def test_a_span_without_ids_is_lost_if_it_or_what_is_around_it_shows_that_it_is_one(desk: Desk, text: str) -> None:
    logs = desk.folder / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_text(lines(1))
    (logs / "b.json").write_text(text)
    done = desk.viva("trace", "spans:logs", *GATED, "--out", "j", expect=3)
    assert "b.json: spans left out because they have no ids, or are nested too deeply: 1" in done.stderr


def test_a_source_that_was_mended_is_read_whole_when_it_is_resumed(desk: Desk) -> None:
    source = torn_line(desk.folder)
    desk.viva("trace", source, *GATED, "--out", "j", expect=3)
    desk.viva("trace", "--resume", "j", "--fail-under", "0.5", expect=3)
    (desk.folder / "spans.jsonl").write_text(lines(1, 2))
    desk.viva("trace", "--resume", "j", "--fail-under", "0.5", expect=0)
    desk.viva("report", "j", "--fail-under", "0.5", expect=0)
    request = load_request(desk.folder / "j")
    assert isinstance(request, RecordingsRequest)
    assert request.recordings == (source,)


def test_a_judging_that_is_resumed_after_the_source_was_mended_misses_nothing(desk: Desk) -> None:
    desk.viva("trace", torn_line(desk.folder), *GATED, "--out", "j", expect=3)
    desk.viva("judge", "j", *GATED, "--out", "k", expect=3)
    resumed = ("judge", "--resume", "k", "--fail-under", "0.5")
    assert "spans.jsonl" in desk.viva(*resumed, expect=3).stderr
    (desk.folder / "spans.jsonl").write_text(lines(1, 2))
    desk.viva("trace", "--resume", "j", "--fail-under", "0.5", expect=0)
    desk.viva("report", "k", "--fail-under", "0.5", expect=3)  # it was not resumed yet
    desk.viva(*resumed, expect=0)
    desk.viva("report", "k", "--fail-under", "0.5", expect=0)
    desk.viva(*resumed, expect=0)


def test_python_and_json_say_the_same_of_how_much_could_not_be_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.folder)
    result = viva.trace(torn_line(desk.folder), evaluators=GOOD, out="j")
    assert result.left_out == 1
    assert "lines left out because they are not valid JSON: 1" in (result.reason or "")
    words = ("spans:spans.jsonl", "--evaluators", GOOD, "--json")
    followed = (*FOLLOW, "--looks", 2)  # its journal is `out`
    for more in (("--out", "told"), followed):
        told = json.loads(desk.viva("trace", *words, *more, expect=0).stdout)
        assert (told["left_out"], told["reason"]) == (result.left_out, result.reason)
    (desk.folder / "spans.jsonl").write_text(lines(1, 2))
    whole = viva.trace("spans:spans.jsonl", evaluators=GOOD, out="k")
    assert (whole.left_out, whole.reason) == (0, None)
    told = json.loads(desk.viva("trace", *words, "--out", "whole", expect=0).stdout)
    assert not {"left_out", "reason"} & told.keys()


def test_damage_before_the_time_of_interest_is_not_missing(desk: Desk) -> None:
    old, new = desk.folder / "logs" / "old.jsonl", desk.folder / "logs" / "new.jsonl"
    write(new, [{**each, "timestamp": "2026-02-02T10:00:00Z"} for each in CLAUDE])
    write(old, CLAUDE)
    old.write_text("{torn\n" + old.read_text())
    since = ("claude_code:logs", *GATED, "--since", "2026-02-01")
    done = desk.viva("trace", *since, "--out", "j", expect=0)
    assert "lines of old.jsonl left out because they are not JSON objects: 1" in done.stderr
    # What stands after the newest line that can be read may be newer than that.
    with old.open("a") as file:
        file.write("{torn\n")
    desk.viva("trace", *since, "--out", "k", expect=3)


def test_a_followed_source_says_so_once_and_its_gate_does_not_pass(desk: Desk) -> None:
    save(desk, ("a", 1))
    text = "".join(json.dumps(each) + "\n" for each in spans("a", 1))
    (desk.folder / "spans.json").write_text(text + "{torn\n")
    done = desk.viva("trace", "spans:spans.json", *FOLLOW, *GATED, "--alert", "otel", "--looks", 3, expect=3)
    assert done.stderr.count("no limit can be checked: not all of the sources could be read") == 1


def line_of(value: object) -> str:
    return json.dumps(value) + "\n"


def growing_spans(folder: Path) -> tuple[str, Path]:
    (folder / "s.jsonl").write_text(lines(1) + line_of(answered(2)))
    return "spans:s.jsonl", folder / "s.jsonl"


def growing_documents(folder: Path) -> tuple[str, Path]:
    each = (json.dumps(span, indent=4) + "\n" for number in (1, 2) for span in answered(number))
    (folder / "console.log").write_text("".join(each))
    return "spans:console.log", folder / "console.log"


def growing_file_of_several(folder: Path) -> tuple[str, Path]:
    (folder / "logs").mkdir()
    (folder / "logs" / "a.json").write_text(json.dumps(answered(1)))
    (folder / "logs" / "b.json").write_text(json.dumps(answered(2)))
    return "spans:logs", folder / "logs" / "b.json"


def growing_session(folder: Path) -> tuple[str, Path]:
    return "claude_code:a.jsonl", write(folder / "a.jsonl", CLAUDE)


def growing_events(folder: Path) -> tuple[str, Path]:
    events = (event("session.start", 1, sessionId="a"), event("user.message", 2, content="one"), event("idle", 3))
    (folder / "events.jsonl").write_text("".join(map(line_of, events)))
    return "copilot:events.jsonl", folder / "events.jsonl"


def growing_chat(folder: Path) -> tuple[str, Path]:
    talk = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    (folder / "talks.jsonl").write_text(line_of({"messages": talk}) * 2)
    return "chat:talks.jsonl", folder / "talks.jsonl"


def growing_samples(folder: Path) -> tuple[str, Path]:
    sample = {"item": {"input": "Hi."}, "sample": {"output": "Hello."}}
    (folder / "samples.jsonl").write_text(line_of(sample) * 2)
    return "openai_evals:samples.jsonl", folder / "samples.jsonl"


def growing_trajectories(folder: Path) -> tuple[str, Path]:
    file = folder / trajectories(folder).partition(":")[2] / "a" / "trajectory.json"
    file.write_text((file.read_text() + "\n") * 2)
    return f"atif:{file.relative_to(folder)}", file


def growing_desktop_log(folder: Path) -> tuple[str, Path]:
    return "ufo:log", make_folder(folder / "log", [app_line(1), app_line(2)]) / "response.log"


GROWING = (
    *(growing_spans, growing_documents, growing_file_of_several, growing_session, growing_events, growing_chat),
    *(growing_samples, growing_trajectories, growing_desktop_log),
)


@pytest.mark.parametrize("make", GROWING, ids=lambda each: each.__name__)
def test_the_end_of_a_followed_file_is_lost_only_if_it_is_still_half_written_at_the_last_look(
    desk: Desk, make: Callable[[Path], tuple[str, Path]]
) -> None:
    source, file = make(desk.folder)
    whole = file.read_bytes()
    file.write_bytes(whole[:-25])
    done = desk.viva("trace", source, *map(str, FOLLOW), *GATED, "--alert", "otel", "--looks", "1", expect=3)
    assert "warning:" not in done.stderr
    assert (
        f"not all of the sources could be read: {file.relative_to(desk.folder)}: its end is half written" in done.stderr
    )
    assert "no limit can be checked" not in done.stderr
    assert "half written" in desk.viva("report", "out", "--fail-under", "0.5", expect=3).stderr
    # Nobody says that it is being written if it is not followed.
    assert desk.viva("trace", source, *GATED, "--out", "whole").returncode in (2, 3)
    file.write_bytes(whole)
    resumed = ("--resume", "out", "--follow", "--settle", "0", "--looks", "1", "--fail-under", "0.5")
    done = desk.viva("trace", *resumed, expect=0)
    assert "could not be read" not in done.stderr
    assert "half written" not in done.stderr
    desk.viva("report", "out", "--fail-under", "0.5", expect=0)


@pytest.mark.parametrize("make", EMPTY, ids=lambda each: each.__name__)
def test_one_of_several_followed_files_that_is_empty_is_lost_only_if_it_still_is_at_the_last_look(
    desk: Desk, make: Callable[[Path], str]
) -> None:
    source, file = make(desk.folder), desk.folder / EMPTY[make]
    done = desk.viva("trace", source, *map(str, FOLLOW), *GATED, "--alert", "otel", "--looks", "1", expect=3)
    assert f"not all of the sources could be read: {EMPTY[make]}: it is empty" in done.stderr
    assert "no limit can be checked" not in done.stderr
    other = next(each for each in (desk.folder / "logs").rglob(f"*{file.suffix}") if each != file)
    file.write_text(other.read_text().replace("session-1", "session-2"))
    resumed = ("--resume", "out", "--follow", "--settle", "0", "--looks", "1", "--fail-under", "0.5")
    assert "is empty" not in desk.viva("trace", *resumed, expect=0).stderr


@pytest.mark.parametrize("followed", [True, False])
def test_an_empty_file_that_is_older_than_what_is_asked_for_is_not_lost(tmp_path: Path, followed: bool) -> None:
    file = tmp_path / "a.jsonl"
    file.touch()
    os.utime(file, (0, 0))  # its agent can do so, too
    for since, is_lost in ((time.time() - 60, True), (time.time() + 60, False)):
        told = SourceNotes(growing=followed, since=since)
        told.leave_out(file, NothingYet("the file is empty."))
        assert bool(told.lost or told.half_written) == is_lost
        assert told.waiting == (["the file is empty, and is older than --since"] if not is_lost else told.lost)


def test_a_followed_file_among_others_that_holds_only_white_space_is_called_empty(desk: Desk) -> None:
    source = spans_in_folders(desk.folder)
    (desk.folder / "logs" / "b.jsonl").write_text("\n\n")
    done = desk.viva("trace", source, *map(str, FOLLOW), *GATED, "--looks", "1", expect=3)
    assert "logs/b.jsonl: it is empty" in done.stderr


@pytest.mark.parametrize("broken", ["{torn", '{"a": 1}', '{"role": "user", "content": "Hi."}'])
@pytest.mark.parametrize("make", [growing_chat, growing_samples, growing_trajectories], ids=lambda each: each.__name__)
def test_a_broken_line_of_a_followed_file_is_lost_and_those_after_it_are_judged(
    desk: Desk, make: Callable[[Path], tuple[str, Path]], broken: str
) -> None:
    source, file = make(desk.folder)
    before, after = file.read_text().splitlines()
    file.write_text("\n".join((before, broken, broken, after, "")))
    done = desk.viva("trace", source, *map(str, FOLLOW), *GATED, "--alert", "otel", "--looks", "2", expect=3)
    words = f"not all of the sources could be read: {file.relative_to(desk.folder)}, line 2"
    assert done.stderr.count(f"no limit can be checked: {words}") == 1
    assert "(and 1 more); what comes after it is read" in done.stderr
    assert len(list(read_records(desk.folder / "out"))) == 2
    assert f"{file.name}, line 2" in desk.viva("trace", source, *GATED, "--out", "whole", expect=2).stderr


def talks_in_a_list(folder: Path) -> str:
    talk = {"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]}
    (folder / "talks.json").write_text(json.dumps([talk, {"role": "user", "content": "Hi."}, talk, talk], indent=1))
    return "chat:talks.json"


def lists_of_talks(folder: Path) -> str:
    talks = json.loads((folder / talks_in_a_list(folder).partition(":")[2]).read_text())
    (folder / "talks.jsonl").write_text(line_of([]) + line_of(talks))
    return "chat:talks.jsonl"


def subagents(folder: Path) -> str:
    file = folder / trajectories(folder).partition(":")[2] / "a" / "trajectory.json"
    one = json.loads(file.read_text())
    file.write_text(line_of({**one, "subagent_trajectories": [{"bad": 1}, {**one, "subagent_trajectories": [one]}]}))
    return f"atif:{file.relative_to(folder)}"


@pytest.mark.parametrize("make", [talks_in_a_list, lists_of_talks, subagents], ids=lambda each: each.__name__)
def test_a_broken_element_of_a_followed_file_is_lost_and_those_after_it_are_judged(
    desk: Desk, make: Callable[[Path], str]
) -> None:
    source = make(desk.folder)
    done = desk.viva("trace", source, *map(str, FOLLOW), *GATED, "--looks", "1", expect=3)
    assert "what comes after it is read" in done.stderr
    assert len(list(read_records(desk.folder / "out"))) == 3
    assert "not a" in desk.viva("trace", source, *GATED, "--out", "whole", expect=2).stderr


SAMPLES = [
    [{}, {}, {}],
    [{"data_source_idx": 1}, {"data_source_idx": 2}, {"data_source_idx": 3}],
    [{"run_id": "r", "data_source_idx": 1}] * 3,
    [{"run_id": "r", "data_source_idx": each} for each in (1, 2, 1)],
]


@pytest.mark.parametrize("about", SAMPLES, ids=["no-ids", "indices", "one-item", "other-item"])
@pytest.mark.parametrize("broken", [0, 1])
def test_a_broken_line_that_is_mended_is_judged_and_no_other_one_is_judged_again(
    desk: Desk, about: list[dict[str, object]], broken: int
) -> None:
    samples = [
        line_of({**ids, "item": {"input": "Hi."}, "sample": {"output": f"Answer {number}."}})
        for number, ids in enumerate(about)
    ]
    file = desk.folder / "samples.jsonl"
    file.write_text("".join(each[:-5] + "\n" if number == broken else each for number, each in enumerate(samples)))
    desk.viva("trace", f"openai_evals:{file.name}", *map(str, FOLLOW), *GATED, "--looks", "1", expect=3)
    file.write_text("".join(samples))
    resumed = ("--resume", "out", "--follow", "--settle", "0", "--looks", "1", "--fail-under", "0.5")
    desk.viva("trace", *resumed, expect=0)
    said = sorted(run.transcript.rounds[0].agent or "" for run in read_runs(desk.folder / "out"))
    assert said == ["Answer 0.", "Answer 1.", "Answer 2."]


def test_an_end_that_is_half_written_at_the_last_look_is_counted_as_left_out(desk: Desk) -> None:
    source, file = growing_spans(desk.folder)
    file.write_bytes(file.read_bytes()[:-25])
    told = json.loads(desk.viva("trace", source, *map(str, FOLLOW), "--looks", "1", "--json", expect=0).stdout)
    assert told["left_out"] == 1
    assert "its end is half written" in told["reason"]


def test_a_followed_packed_file_that_still_lacks_its_end_at_the_last_look_is_lost(desk: Desk) -> None:
    source = archive_that_ends_too_early(desk.folder)
    done = desk.viva("trace", source, *map(str, FOLLOW), *GATED, "--alert", "otel", "--looks", "1", expect=3)
    assert "spans.jsonl.gz: its end is half written" in done.stderr


def test_a_followed_file_that_has_stopped_growing_is_lost_while_it_is_followed(desk: Desk) -> None:
    source = document_that_breaks_off(desk.folder)
    os.utime(desk.folder / "logs" / "b.json", (10**9, 10**9))
    (desk.folder / "own.py").write_text(
        "import json\n"
        "import pathlib\n\n"
        "from viva.recordings.spans.files import SpansReader\n\n\n"
        "class More(SpansReader):\n"
        "    def read(self, source, **options):\n"
        "        folder = pathlib.Path(source)\n"
        "        number = len(list(folder.iterdir())) + 1\n"
        "        text = (folder / 'a.json').read_text().replace(f'{1:032x}', f'{number:032x}')\n"
        "        (folder / f'c{number}.json').write_text(text)\n"
        "        return super().read(source, **options)\n"
    )
    source = source.replace("spans:", "own.py:More:")
    done = desk.viva("trace", source, *map(str, FOLLOW), *GATED, "--alert", "otel", "--looks", "3", expect=3)
    assert done.stderr.count("no limit can be checked: not all of the sources could be read: logs/b.json") == 1


def test_a_file_is_abandoned_when_it_has_not_grown_for_as_long_as_recordings_settle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files, clock = UnfinishedFiles(settle=60), [1000.0]
    monkeypatch.setattr("viva.suites.watching.time.time", lambda: clock[0])

    def look(size: int, changed: float, seconds: float = 30) -> bool:
        clock[0] += seconds
        return bool(files.abandoned([UnfinishedFile(Path("a"), size, changed)]))

    assert not look(1, 0)  # it may be growing
    assert look(1, 0)
    assert not look(2, 0)
    assert not look(2, 1090)
    future = 10**9
    assert not look(3, future)
    assert not look(3, future)
    assert look(3, future)


TIMED = """
import time

from viva.recordings.recording import Recording
from viva.records import Round, Transcript


class Reader:
    "Reads recordings that began so many seconds after now, or before."

    def read(self, source):
        for key in source.split():
            transcript = Transcript((Round(1, "a", "b", started=time.time() + float(key)),), source="own")
            yield Recording(transcript, place=f"run {key}", run_key=key)
"""


def test_a_recording_that_may_not_have_ended_at_the_last_look_passes_no_gate(desk: Desk) -> None:
    (desk.folder / "own.py").write_text(TIMED)
    follow = [str(word) for word in FOLLOW]
    follow[follow.index("--settle") + 1] = "60"
    followed = ("own.py:Reader:-900 -2 9e8", *follow, *GATED, "--alert", "otel", "--looks", "1")
    done = desk.viva("trace", *followed, expect=3)
    words = "not imported because less than --settle has passed since the last step: 2 recordings (first: run -2)"
    assert f"not all of the sources could be read: {words}" in done.stderr
    assert "no limit can be checked" not in done.stderr
    assert words in desk.viva("report", "out", "--fail-under", "0.5", expect=3).stderr
    desk.viva("trace", "--resume", "out", "--fail-under", "0.5", expect=0)
    assert len(list(read_records(desk.folder / "out"))) == 3


@pytest.mark.parametrize(("newest", "code"), [("time.time()", 3), ("1e9", 0)])
def test_a_judged_recording_that_has_grown_and_may_not_have_ended_at_the_last_look_passes_no_gate(
    desk: Desk, newest: str, code: int
) -> None:
    (desk.folder / "own.py").write_text(
        "import pathlib\nimport time\n\n"
        "from viva.recordings.recording import Recording\n"
        "from viva.records import Round, Transcript\n\n\n"
        "class Reader:\n"
        "    def read(self, source):\n"
        "        rounds = [Round(1, 'a', 'b', started=1e9)]\n"
        "        if pathlib.Path(source).exists():\n"
        f"            rounds.append(Round(2, 'c', 'd', started={newest}))\n"
        "        pathlib.Path(source).touch()\n"
        "        yield Recording(Transcript(tuple(rounds), source='own'), place='run 1', run_key='1')\n"
    )
    follow = [str(word) for word in FOLLOW]
    follow[follow.index("--settle") + 1] = "60"
    watched = ("own.py:Reader:seen", *follow, *GATED, "--alert", "otel", "--looks", "2")
    done = desk.viva("trace", *watched, expect=code)
    words = "not imported because less than --settle has passed since the last step: 1 recording (first: run 1)"
    assert (words in done.stderr) == bool(code)
    desk.viva("report", "out", "--fail-under", "0.5", expect=code)


def test_a_recording_that_is_dated_in_the_future_has_ended_when_it_has_not_grown_for_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settling, clock = Settling(settle=60), [1000.0]
    monkeypatch.setattr("viva.suites.watching.time.time", lambda: clock[0])

    def look(ends: float, seconds: float = 30) -> bool:
        clock[0] += seconds
        transcript = Transcript((Round(1, "a", "b", started=ends),))
        return settling.is_over(Recording(transcript, place="p", run_key="1"))

    future = 10.0**9
    assert not look(future)  # it may be growing
    assert not look(future)
    assert not look(future + 1)
    assert not look(future + 1)
    assert look(future + 1)
    assert not look(1150)  # 30 seconds ago
    assert look(1150)
    assert not settling.seen, "nothing is kept of what has ended"
    assert look(float("nan"))


def test_a_followed_file_that_is_half_written_is_lost_if_following_is_stopped(desk: Desk) -> None:
    source = document_that_breaks_off(desk.folder)
    process = desk.start("trace", source, *map(str, FOLLOW), *GATED)
    unread, deadline = desk.folder / "out" / "unread.json", time.monotonic() + 60
    while not (unread.is_file() and "half written" in unread.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert "b.json: its end is half written" in desk.viva("report", "out", "--fail-under", "0.5", expect=3).stderr


def test_a_followed_document_that_is_half_written_is_waited_for(desk: Desk) -> None:
    (desk.folder / "spans.json").write_text(json.dumps(answered(1), indent=1)[:-30])
    done = desk.viva("trace", "spans:spans.json", *map(str, FOLLOW), *GATED, "--looks", "2", expect=2)
    assert done.stderr.count("waiting for the source") == 1


BREAKS_OFF = """
import pathlib

from viva.recordings.recording import HalfWritten, Recording
from viva.records import Round, Transcript


class Reader:
    def read(self, source):
        looks = pathlib.Path("looks")
        looks.write_text((looks.read_text() if looks.exists() else "") + ".")
        yield self.recording("1")
        if len(looks.read_text()) in map(int, source.split()):
            raise HalfWritten("2 is half written")
        yield self.recording("2")

    def recording(self, key):
        transcript = Transcript((Round(1, "a", "b"),), source="own")
        return Recording(transcript, place=key, run_key=key)
"""


def test_a_first_look_that_breaks_off_after_a_recording_is_followed_by_others(desk: Desk) -> None:
    (desk.folder / "own.py").write_text(BREAKS_OFF)
    done = desk.viva("trace", "own.py:Reader:1", *map(str, FOLLOW), *GATED, "--looks", "2", expect=0)
    assert "this poll failed, and will be repeated: 2 is half written" in done.stderr
    assert len(list(read_records(desk.folder / "out"))) == 2


def half_written_trajectory(folder: Path) -> tuple[str, Path]:
    source = trajectories(folder)
    return source, folder / "logs" / "a" / "trajectory.json"


def half_written_log(folder: Path) -> tuple[str, Path]:
    (folder / "logs").mkdir()
    for name in ("a.eval", "b.eval"):
        log_of(folder / "logs" / name, sample(uuid=name, id=name))
    return "inspect:logs", folder / "logs" / "a.eval"


@pytest.mark.parametrize("make", [half_written_trajectory, half_written_log])
def test_a_followed_file_that_is_half_written_does_not_keep_later_ones_from_being_read(
    desk: Desk, make: Callable[[Path], tuple[str, Path]]
) -> None:
    source, file = make(desk.folder)
    whole = file.read_bytes()
    file.write_bytes(whole[:-25])
    done = desk.viva("trace", source, *map(str, FOLLOW), *GATED, "--alert", "otel", "--looks", "1", expect=3)
    assert f"{file.relative_to(desk.folder)}: its end is half written" in done.stderr
    assert len(list(read_records(desk.folder / "out"))) == 1
    done = desk.viva("trace", source, *GATED, "--out", "whole", expect=3)  # nobody is writing it
    assert f"{file.relative_to(desk.folder)}" in done.stderr
    assert "the other files are read" in done.stderr
    file.write_bytes(whole)
    resumed = ("--resume", "out", "--follow", "--settle", "0", "--looks", "1", "--fail-under", "0.5")
    desk.viva("trace", *resumed, expect=0)
    assert len(list(read_records(desk.folder / "out"))) == 2


def test_several_files_of_which_none_can_be_read_are_an_error(desk: Desk) -> None:
    source, file = half_written_trajectory(desk.folder)
    for each in file.parent.parent.rglob("*.json"):
        each.write_text("{torn")
    assert "not valid JSON" in desk.viva("trace", source, *GATED, expect=2).stderr


def test_a_last_poll_that_failed_is_lost_until_another_one_succeeds(desk: Desk) -> None:
    (desk.folder / "own.py").write_text(BREAKS_OFF)
    done = desk.viva(
        "trace", "own.py:Reader:2 3", *map(str, FOLLOW), *GATED, "--alert", "otel", "--looks", "2", expect=3
    )
    words = "not all of the sources could be read: the last poll failed: 2 is half written"
    assert words in done.stderr
    assert words in desk.viva("report", "out", "--fail-under", "0.5", expect=3).stderr
    resumed = ("--resume", "out", "--follow", "--settle", "0", "--interval", "0.02", "--fail-under", "0.5")
    desk.viva("trace", *resumed, "--looks", "2", expect=0)
    desk.viva("report", "out", "--fail-under", "0.5", expect=0)


def test_polls_that_fail_in_the_same_way_alert_everybody_once(desk: Desk, hook: Hook) -> None:
    (desk.folder / "own.py").write_text(BREAKS_OFF)
    hook.answers = [500, 200]
    alert = ("--alert", f"webhook:{hook.address}", "--looks", "4")
    done = desk.viva("trace", "own.py:Reader:2 3 4", *map(str, FOLLOW), *GATED, *alert, expect=3)
    assert done.stderr.count("this poll failed, and will be repeated") == 3
    assert done.stderr.count("no limit can be checked: the last poll failed: 2 is half written") == 1
    assert [posted["event"] for posted in hook.posted] == ["viva.unjudged"] * 2, "the first one was not received"


def test_the_first_poll_that_does_not_fail_again_tells_everybody_so_without_a_new_recording(
    desk: Desk, hook: Hook
) -> None:
    (desk.folder / "own.py").write_text(BREAKS_OFF)
    alert = ("--alert", f"webhook:{hook.address}", "--looks", "5")
    desk.viva("trace", "own.py:Reader:2 3", *map(str, FOLLOW), *GATED, *alert, expect=0)
    assert [posted["event"] for posted in hook.posted] == ["viva.unjudged", "viva.recovered"]


def test_damage_that_is_found_while_too_few_runs_are_there_is_told_when_they_are(desk: Desk) -> None:
    (desk.folder / "spans.jsonl").write_text(lines(1) + "{torn\n")
    (desk.folder / "own.py").write_text(
        "from viva.recordings.spans.files import SpansReader\n\n\n"
        "class Later(SpansReader):\n"
        "    def read(self, source, **options):\n"
        "        yield from super().read(source, **options)\n"
        "        with open(source) as file, open('more') as more:\n"
        "            text, new = file.read(), more.read()\n"
        "        if new not in text:\n"
        "            with open(source, 'a') as file:\n"
        "                file.write(new)\n"
    )
    (desk.folder / "more").write_text(lines(2))
    follow = [str(word) for word in FOLLOW]
    follow[follow.index("--window-min") + 1] = "2"
    watched = ("own.py:Later:spans.jsonl", *follow, *GATED, "--alert", "otel", "--looks", "3")
    done = desk.viva("trace", *watched, expect=3)
    assert done.stderr.count("no limit can be checked: not all of the sources could be read") == 1


def test_a_reader_of_ones_own_can_say_so_too(desk: Desk) -> None:
    (desk.folder / "own.py").write_text(
        "from viva.recordings.recording import Recording\n"
        "from viva.records import Round, Transcript\n\n\n"
        "class Whole:\n"
        "    def read(self, source):\n"
        "        yield Recording(Transcript((Round(1, 'a', 'b'),)), place='p', run_key='1', lost=('page 2 is torn',))\n"
        "\n\n"
        "class Last:\n"
        "    def read(self, source, told=None):\n"
        "        yield Recording(Transcript((Round(1, 'a', 'b'),)), place='p', run_key='1')\n"
        "        told.lose('page 3 is torn')\n"
    )
    for reader, words in (("Whole", "page 2 is torn"), ("Last", "page 3 is torn")):
        done = desk.viva("trace", f"own.py:{reader}:x", *GATED, "--out", reader, expect=3)
        assert words in done.stderr


def test_a_journal_that_is_removed_again_leaves_nothing_that_is_said_of_the_next_one(desk: Desk) -> None:
    (desk.folder / "other.jsonl").write_text(json.dumps({"messages": [{"role": "user", "content": "Another."}]}) + "\n")
    desk.viva("trace", "chat:other.jsonl", "--evaluators", GOOD, "--out", "before", expect=0)
    compared = ("--baseline", "before", "--max-drop", "0")
    refused = desk.viva("trace", torn_line(desk.folder), *GATED, *compared, "--out", "new", expect=2)
    assert "in common" in refused.stderr
    assert not (desk.folder / "new").exists()
    (desk.folder / "new").mkdir()
    (desk.folder / "new" / "unread.json").write_text('{"unread": ["a.jsonl: torn"]}')
    (desk.folder / "spans.jsonl").write_text(lines(1))
    begun = ("trace", "spans:spans.jsonl", *GATED, "--out", "new")
    assert "new contains unread.json, which says what an import could not read" in desk.viva(*begun, expect=2).stderr
    (desk.folder / "new" / "unread.json").unlink()
    desk.viva(*begun, expect=0)
    desk.viva("report", "new", "--fail-under", "0.5", expect=0)


STOPPED = """
import os
import signal

from viva.recordings.recording import Recording, RecordingError
from viva.records import Round, Transcript


class Reader:
    def read(self, source):
        for number in range(5):
            if number == 3 and os.path.exists("killed"):
                os.kill(os.getpid(), signal.SIGKILL)
            if number == 3 and os.path.exists("torn"):
                raise RecordingError("page 4 is torn")
            transcript = Transcript((Round(1, "a", "b"),), source="own")
            yield Recording(transcript, place=f"page {number + 1}", run_key=str(number))
"""


@pytest.mark.parametrize("how", ["killed", "torn"])
def test_no_gate_passes_over_an_import_that_did_not_end(desk: Desk, how: str) -> None:
    (desk.folder / "own.py").write_text(STOPPED)
    (desk.folder / how).touch()
    begun = ("trace", "own.py:Reader:x", "--evaluators", GOOD, "--out", "j")
    desk.viva(*begun, process=True, expect=3 if how == "killed" else 2)
    words = "not all of the sources could be read: the import did not end"
    judged = desk.viva("judge", "j", *GATED, "--out", "again", "--quiet", expect=3)
    assert words in judged.stderr
    assert len(list(read_records(desk.folder / "again"))) == 3
    desk.viva("report", "again", "--fail-under", "0.5", expect=3)
    assert words in desk.viva("report", "j", "--fail-under", "0.5", expect=3).stderr
    (desk.folder / how).unlink()
    desk.viva("trace", "--resume", "j", "--fail-under", "0.5", expect=0)
    desk.viva("judge", "j", *GATED, "--out", "whole", expect=0)


def test_a_resumed_import_that_finds_more_and_is_stopped_did_not_end_either(desk: Desk) -> None:
    (desk.folder / "own.py").write_text(STOPPED.replace("range(5)", "range(2)"))
    desk.viva("trace", "own.py:Reader:x", *GATED, "--out", "j", expect=0)
    (desk.folder / "own.py").write_text(STOPPED)
    (desk.folder / "torn").touch()
    desk.viva("trace", "--resume", "j", "--fail-under", "0.5", expect=2)
    desk.viva("judge", "j", *GATED, "--out", "again", expect=3)
