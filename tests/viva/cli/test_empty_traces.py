"""A trace in which nothing of an agent was recognised is not scored, opens no gate, and every report says why."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest

from tests.viva.cli.test_trace_spans import trace
from tests.viva.recordings.spans.test_broken import model, span
from tests.viva.viva_command import in_this_process
from viva.recordings.spans.conventions.known import names
from viva.recordings.table import read_recordings
from viva.records.trajectory import UNREAD

WHY = f"its spans of {{}} with the attributes {{}} follow none of the known conventions ({', '.join(names())})"
HTTP = WHY.format("instrumentation.asgi", "http.*")


def of_trace(number: int, *spans: dict[str, Any]) -> list[dict[str, Any]]:
    for each in spans:
        each["context"]["trace_id"] = f"{number:032x}"
    return list(spans)


def http(number: int, scope: str = "instrumentation.asgi") -> list[dict[str, Any]]:
    made = span(1, name="GET /health", attributes={"http.request.method": "GET"}, scope={"name": scope})
    return of_trace(number, {**made, "span_kind": ""})


def unknown(number: int) -> list[dict[str, Any]]:
    """An instrumentation that Viva does not know, whose outermost span has words in the usual places."""
    about = {"input.value": "Warm in Rome?", "output.value": "Yes.", "foo.completion": "Yes."}
    return of_trace(number, span(1, span_kind="", attributes=about, scope={"name": "foo"}), span(2, 1, scope="foo"))


def broken(number: int) -> list[dict[str, Any]]:
    failed: dict[str, Any] = {"status_code": "ERROR", "status_message": "429 Too Many Requests"}
    return of_trace(number, span(1, span_kind="AGENT", **failed), span(2, 1, span_kind="LLM", **failed))


def answered(number: int) -> list[dict[str, Any]]:
    return of_trace(number, span(1, name="ask"), model(2, 1, "Thought: t\nAnswer: 25 degrees"))


def write(folder: Path, *traces: list[dict[str, Any]]) -> Path:
    file = folder / "spans.json"
    file.write_text(json.dumps([each for one in traces for each in one]))
    return file


@pytest.mark.parametrize("evaluator", ["loops", "match_subset", "match_superset", "match_strict", "tool_success"])
def test_an_empty_trajectory_has_no_score_and_opens_no_gate(evaluator: str, tmp_path: Path) -> None:
    file = write(tmp_path, http(1), unknown(2), broken(3))
    subjects = [recording.subject or recording.place for recording in read_recordings(f"spans:{file}")]
    reference = tmp_path / "reference.json"
    reference.write_text(json.dumps({subject: [] for subject in subjects}))
    given = (
        ("--evaluators", evaluator, "--reference", reference) if "match" in evaluator else ("--evaluators", evaluator)
    )
    for gate in ("0.5", f"{evaluator}=0.5"):
        code, told, _ = trace(
            tmp_path, f"spans:{file}", "--out", tmp_path / gate, *given, "--json", "--fail-under", gate
        )
        assert code == 3
        figures = json.loads(told)["figures"]
        assert (figures["suite"]["runs"], figures["suite"]["mean"], figures["suite"]["excluded"]) == (
            0,
            None,
            {"skipped": 3},
        )
        words = {group["words"]: group["runs"] for group in figures["skipped"]}
        error = "it ended in an error before the agent decided anything: 429 Too Many Requests"
        assert words == {
            HTTP: 1,
            WHY.format("foo", "foo.*, input.*, output.*"): 1,
            error: 1,
        }


def test_console_page_and_markdown_say_how_many_traces_were_empty_and_why(tmp_path: Path) -> None:
    file = write(tmp_path, http(1), http(2), http(3, "celery"), answered(4))
    code, out, told = trace(tmp_path, f"spans:{file}", "--out", tmp_path / "run")
    assert code == 0
    shown = " ".join(f"{out} {told}".split())
    assert f"2 runs: {HTTP}" in shown
    assert f"1 run: {WHY.format('celery', 'http.*')}" in shown
    assert "not the agent's fault" not in shown, "nothing broke"
    for kind in ("html", "markdown"):
        done = in_this_process("report", tmp_path / "run", "--format", kind, "--out", tmp_path / kind, cwd=tmp_path)
        assert done.returncode == 0
        assert f"2 runs: {HTTP}" in html.unescape((tmp_path / kind).read_text())


def test_an_answer_without_a_tool_is_no_empty_trajectory(tmp_path: Path) -> None:
    file = write(tmp_path, answered(1))
    (recording,) = read_recordings(f"spans:{file}")
    assert UNREAD not in recording.transcript.attributes
    code, told, _ = trace(tmp_path, f"spans:{file}", "--out", tmp_path / "run", "--json", "--fail-under", "loops=1")
    assert code == 0
    assert json.loads(told)["figures"]["suite"]["mean"] == 1.0


def test_a_conversation_in_words_is_no_empty_trajectory(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    talk = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hello."}]
    chat.write_text(json.dumps(talk))
    asked = tmp_path / "asked.json"
    asked.write_text(json.dumps(talk[:1]))
    for file, mean, code in ((chat, 1.0, 0), (asked, None, 3)):
        got, told, _ = trace(
            tmp_path,
            f"chat:{file}",
            "--evaluators",
            "loops",
            "--out",
            tmp_path / file.stem,
            "--json",
            "--fail-under",
            "1",
        )
        assert (got, json.loads(told)["figures"]["suite"]["mean"]) == (code, mean)
