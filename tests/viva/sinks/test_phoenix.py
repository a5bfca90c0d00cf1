"""Verdicts on a real Phoenix server: three annotations, written twice and there once, and live exams as spans."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.adapters.connectors.http.plays import Play, playing
from tests.conftest import KEY
from tests.judge.trajectory.react_model import judge
from tests.model_server import ModelServer
from tests.recordings import llama_index_spans
from tests.viva.viva_command import in_this_process
from viva.journal.reader import read_records
from viva.sinks.phoenix.annotations import NAMES, Annotation
from viva.sinks.phoenix.server import PhoenixError, PhoenixServer
from viva.sinks.phoenix.spans import SpanIds

LABELS = {
    "thought_to_tool": "correct",
    "thought_to_tool list_issues": "incorrect",
    "query_to_thought": "correct",
    "sequence": "optimal",
    "sequence list_issues": "suboptimal",
}


@pytest.fixture
def project() -> str:
    """A project of this test's own."""
    return f"test-{uuid4().hex}"


@pytest.fixture
def client(phoenix: str) -> Any:
    from phoenix.client import Client

    return Client(base_url=phoenix)


def own_spans(name: str) -> list[dict[str, Any]]:
    """The spans of a file with ids of this test's own: the server knows each id once, whatever the project."""
    text = llama_index_spans(name).read_text()
    for span in json.loads(text):
        for known in span["context"].values():
            text = text.replace(known, uuid4().hex[: len(known)])
    spans: list[dict[str, Any]] = json.loads(text)
    return spans


def load(client: Any, project: str, spans: list[dict[str, Any]]) -> None:
    client.spans.log_spans(project_identifier=project, spans=spans)
    until = time.monotonic() + 60
    while _known(client, project) < len(spans):
        assert time.monotonic() < until, "the server did not take the spans"
        time.sleep(0.1)


def _known(client: Any, project: str) -> int:
    with contextlib.suppress(httpx.HTTPStatusError):  # there is no such project until its first span
        return len(client.spans.get_spans(project_identifier=project, limit=10_000))
    return 0


def annotations_of(phoenix: str, project: str, client: Any) -> tuple[list[Any], list[Any]]:
    """Read back those of all spans, and those of all traces, not by Viva's own code."""
    spans = client.spans.get_spans(project_identifier=project, limit=10_000)
    of_spans = client.spans.get_span_annotations(spans=spans, project_identifier=project)
    traces = sorted({span["context"]["trace_id"] for span in spans})
    answer = client._client.get(f"v1/projects/{project}/trace_annotations", params={"trace_ids": traces})
    answer.raise_for_status()
    return of_spans, answer.json()["data"]


def test_each_judged_span_and_trace_has_its_annotations_once_however_often_they_are_written(
    phoenix: str, client: Any, project: str, tmp_path: Path
) -> None:
    load(client, project, own_spans("chat_model"))
    for attempt, labels in enumerate([LABELS, LABELS, {**LABELS, "query_to_thought": "incorrect"}]):
        with ModelServer({"m": judge(labels)}) as server:
            done = in_this_process(
                "trace",
                f"phoenix:{phoenix}#{project}",
                "--evaluators",
                "sequence,thought_to_tool,query_to_thought",
                "--model",
                "openai:m",
                "--to",
                "phoenix",
                "--out",
                f"out{attempt}",
                cwd=tmp_path,
                environment={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url},
            )
        assert done.returncode == 0, done.stderr
        # 9 steps in 4 traces; the one step without a thought of its own has no annotation.
        assert "wrote 16 span annotations, 4 trace annotations; all were found when read back" in done.stderr
        of_spans, of_traces = annotations_of(phoenix, project, client)
        names = Counter(each["name"] for each in of_spans)
        assert names == {NAMES["thought_to_tool"]: 8, NAMES["query_to_thought"]: 8}
        assert Counter(each["name"] for each in of_traces) == {NAMES["sequence"]: 4}
        found = Counter((each["name"], each["result"]["label"], each["result"].get("score")) for each in of_spans)
        wrong = sum(number for (name, label, _), number in found.items() if label == "incorrect" and "Tool" in name)
        assert wrong == 2
        query = NAMES["query_to_thought"]
        assert found[query, labels["query_to_thought"], float(labels["query_to_thought"] == "correct")] == 8
        assert {each["annotator_kind"] for each in [*of_spans, *of_traces]} == {"LLM"}
        assert all(each["result"]["explanation"].startswith("Judged ") for each in of_spans)


def test_the_annotated_span_is_the_model_call_in_which_the_step_was_decided(
    phoenix: str, client: Any, project: str, tmp_path: Path
) -> None:
    load(client, project, own_spans("completion_model"))
    done = in_this_process(
        "trace", f"phoenix:{phoenix}#{project}", "--evaluators", "tool_success", "--to", "phoenix", cwd=tmp_path
    )
    # One of the five steps with a tool was not parsed, so that no tool was called.
    assert "wrote 4 span annotations, 0 trace annotations" in done.stderr
    assert "not recorded" not in done.stderr
    of_spans, _ = annotations_of(phoenix, project, client)
    spans = {
        span["context"]["span_id"]: span for span in client.spans.get_spans(project_identifier=project, limit=10_000)
    }
    assert {spans[each["span_id"]]["span_kind"] for each in of_spans} == {"LLM"}
    assert {each["annotator_kind"] for each in of_spans} == {"CODE"}


def test_verdicts_go_to_another_project_only_where_it_has_the_spans(
    phoenix: str, client: Any, project: str, tmp_path: Path
) -> None:
    spans = own_spans("chat_model")
    load(client, project, spans)
    file = tmp_path / "spans.json"
    file.write_text(json.dumps(spans))
    arguments = ["trace", f"spans:{file}", "--evaluators", "tool_success", "--to"]
    done = in_this_process(*arguments, f"phoenix:{phoenix}#{project}", cwd=tmp_path)
    assert "wrote 4 span annotations" in done.stderr
    refused = in_this_process(*arguments, "phoenix", cwd=tmp_path)
    assert refused.returncode == 2
    assert "no source is one" in refused.stderr
    absent = in_this_process(*arguments, "phoenix:http://127.0.0.1:1#x", cwd=tmp_path)
    assert absent.returncode == 2
    assert "cannot be reached" in absent.stderr
    assert "The verdicts are in" in absent.stderr


def test_spans_that_the_server_does_not_have_are_an_error(phoenix: str, project: str) -> None:
    unknown = Annotation("0" * 16, "0" * 32, "n", "CODE", "viva:x", "good", 1.0, "", {})
    with pytest.raises(PhoenixError, match="does not have all of these spans"):
        PhoenixServer(f"{phoenix}#{project}").annotate([unknown])


@pytest.mark.parametrize("charset", ["utf-8", "punycode", "zlib"])
def test_what_a_server_says_of_a_failure_is_told_whatever_charset_it_names(charset: str) -> None:
    pytest.importorskip("phoenix.client", reason="the package arize-phoenix-client is not installed")
    play = Play("no röom", status=507, content_type=f"text/plain; charset={charset}")
    with playing(play) as server, pytest.raises(PhoenixError, match="it answered with the status 507: no röom"):
        PhoenixServer(server.url).send(b"")


def test_a_live_exam_is_shown_with_its_spans_and_verdicts(
    phoenix: str, client: Any, project: str, tmp_path: Path
) -> None:
    sink = f"phoenix:{phoenix}#{project}"
    done = in_this_process("suite", "echo", "--trials", "2", "--sink", sink, "--out", "runs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sink" not in done.stderr, done.stderr
    records = list(read_records(tmp_path / "runs"))
    spans = client.spans.get_spans(project_identifier=project, limit=1000)
    by_trace = Counter(span["context"]["trace_id"] for span in spans)
    assert by_trace == {SpanIds(each.id, each.attempt).trace: 1 + each.rounds for each in records}
    roots = [span for span in spans if span["parent_id"] is None]
    assert {span["span_kind"] for span in roots} == {"AGENT"}
    assert all(span["attributes"]["input.value"] for span in roots)
    _, of_traces = annotations_of(phoenix, project, client)
    points = sum(len(each.insights[0].verdicts) for each in records)
    assert len(of_traces) == len(records) + points
    whole = [each for each in of_traces if each["name"] == "Viva scoring_points"]
    assert [each["result"]["score"] for each in whole] == [each.score for each in records]


STEPS = """
from viva import VirtualUser
from viva import Reply, Step


class Agent(VirtualUser):
    def get_reply_from_agent(self, message):
        evil = "<script>\\x1b[31m\\u202e" + "x" * 100_000
        steps = (
            Step("s1", thought=evil, tool="look\\n" + evil, tool_input={"a": 10**400}, result=evil),
            Step("s2", tool="fail", error="it broke", started=-5.0, seconds=-1.0),
        )
        return Reply(message, steps)
"""


def test_the_steps_of_a_live_exam_are_spans_with_their_verdicts_whatever_they_hold(
    phoenix: str, client: Any, project: str, tmp_path: Path
) -> None:
    (tmp_path / "agent.py").write_text(STEPS)
    sink = f"phoenix:{phoenix}#{project}"
    done = in_this_process(
        "run",
        "echo",
        "--agent",
        "agent.py:Agent",
        "--evaluators",
        "scoring_points,tool_success",
        "--sink",
        sink,
        cwd=tmp_path,
    )
    assert "phoenix" not in done.stderr, done.stderr
    spans = {span["context"]["span_id"]: span for span in client.spans.get_spans(project_identifier=project, limit=100)}
    tools = [span for span in spans.values() if span["span_kind"] == "TOOL"]
    assert len(tools) == 2 * sum(span["span_kind"] == "CHAIN" for span in spans.values())
    of_spans, _ = annotations_of(phoenix, project, client)
    found = {(spans[each["span_id"]]["name"][:4], each["name"], each["result"]["label"]) for each in of_spans}
    assert found == {("look", "Viva tool_success", "succeeded"), ("fail", "Viva tool_success", "failed")}
    assert {span["status_code"] for span in tools} == {"OK", "ERROR"}
