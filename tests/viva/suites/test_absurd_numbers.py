"""Numbers of hundreds of digits that an agent or a recording reports end no report, and count as unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.model_server import Answer, ModelServer, Usage
from tests.viva.conftest import Desk

KINDS = ("console", "csv", "json", "junit", "markdown", "html", "atif", "training", "training_supervised")
DIGITS = "9" * 400
AGENT = """
def __init__(self, task_description): pass
def get_reply_from_agent(self, message):
    from viva import Reply, Step, Usage
    most = 10**400 - 1
    used = Usage(most, most, most, most, most, most, most, cache_write_tokens=most)
    return Reply("Hello.", (Step("s", tool="t", tool_input=most, usage=used, started=most, seconds=most),), used)
def close(self): pass
"""


def check_reports(desk: Desk, journal: str = "journal") -> None:
    """Write the journal's reports of every kind; each can be written, and none has the number as a count."""
    for kind in KINDS:
        done = desk.viva("report", journal, "--format", kind, "--out", f"{journal}.{kind}")
        assert done.returncode == 0, f"{kind}: {done.stderr}"
    group = json.loads(desk.viva("report", journal, "--format", "json").stdout)
    assert DIGITS not in json.dumps(group.get("statistics", group.get("groups", "")))
    for command in (("compare", journal, journal), ("history", journal)):
        assert desk.viva(*command).returncode in (0, 3)  # 3: nothing was scored


@pytest.mark.parametrize("options", [(), ("--isolate",)], ids=["here", "in a process of its own"])
def test_of_an_agent(options: tuple[str, ...], desk: Desk) -> None:
    desk.case()
    agent = desk.agent(AGENT)
    to = ("--sandbox", "process", "--out", "journal")
    done = desk.viva("suite", "exam", "--agent", agent, "--trials", "2", *options, *to, expect=0)
    assert "unknown" in done.stdout
    check_reports(desk)


def test_of_an_agents_endpoint(desk: Desk) -> None:
    desk.case()
    absurd = {"prompt_tokens": int(DIGITS), "completion_tokens": int(DIGITS), "total_tokens": int(DIGITS)}
    with ModelServer({"gpt-4o": Answer("Hello.", usage=Usage(absurd))}) as server:
        to = ("--sandbox", "process", "--out", "journal")
        done = desk.viva("suite", "exam", "--agent", f"{server.url}#gpt-4o", "--trials", "2", *to, expect=0)
    assert "unknown" in done.stdout
    check_reports(desk)


def test_of_a_judges_model(desk: Desk) -> None:
    desk.case(scoring_points=[{"score_point": "the sum should be 1", "weight": 1}])
    from tests.model_server import judge

    absurd = Usage({"prompt_tokens": int(DIGITS), "completion_tokens": int(DIGITS)})
    with ModelServer({"gpt-4o": lambda request: Answer(judge(request), usage=absurd)}) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        model = ("--judge-model", "openai:gpt-4o", "--sandbox", "process", "--out", "journal")
        desk.viva("suite", "exam", "--agent", "example:careful", *model, expect=0, environment=environment)
    check_reports(desk)


def test_of_a_recording(desk: Desk) -> None:
    metrics = {"prompt_tokens": int(DIGITS), "completion_tokens": int(DIGITS), "cost_usd": int(DIGITS)}
    step = {"step_id": 2, "source": "agent", "message": "Hello.", "metrics": metrics, "llm_call_count": int(DIGITS)}
    trajectory = {
        "schema_version": "ATIF-v1.4",
        "session_id": "s",
        "agent": {"name": "a", "version": "1"},
        "steps": [{"step_id": 1, "source": "user", "message": "Hello?"}, step],
        "final_metrics": {"total_prompt_tokens": int(DIGITS), "total_cost_usd": int(DIGITS)},
    }
    (desk.folder / "trajectory.json").write_text(json.dumps(trajectory))
    desk.viva(
        "trace", "atif:trajectory.json", "--evaluators", "operational", "--out", "journal", expect=3
    )  # nothing to judge
    check_reports(desk)


def test_of_spans(desk: Desk) -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": int(DIGITS),
        "gen_ai.usage.output_tokens": int(DIGITS),
        "gen_ai.usage.cost": int(DIGITS),
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Hello?"}]}]',
        "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Hello."}]}]',
    }
    span = {
        "name": "chat",
        "context": {"trace_id": "0x" + "1" * 32, "span_id": "0x" + "1" * 16},
        "parent_id": None,
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:01Z",
        "attributes": attributes,
    }
    Path(desk.folder / "spans.jsonl").write_text(json.dumps(span) + "\n")
    desk.viva(
        "trace", "otlp:spans.jsonl", "--evaluators", "operational", "--out", "journal", expect=3
    )  # nothing to judge
    check_reports(desk)
