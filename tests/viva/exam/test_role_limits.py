"""Limits of models' answers, from the command line to the request and the record; and exams that go in circles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.model_server import (
    STOP_KEYWORD,
    Answer,
    ModelServer,
    Play,
    Request,
    by_role,
    judge,
    said_by,
    sequence,
    system_text,
)
from viva.cli.group import viva
from viva.models.roles import OUTPUT_TOKENS

CASE = """
task_description: Ask the agent to add 7001 to the total sum, and to report the sum.
scoring_points:
  - {score_point: "In round 1 the sum should be 7001.", weight: 1}
"""


def examiner(request: Request) -> str:
    keyword = STOP_KEYWORD.search(system_text(request))
    assert keyword is not None
    return keyword[1] if said_by("assistant", request) else "Please add 7001 to the total sum."


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_certificate: Path) -> Path:
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-123456")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "case" / "case.yaml"
    file.parent.mkdir()
    file.write_text(CASE)
    return file.parent


def command(*arguments: str, expect: int = 0) -> dict[str, Any]:
    done = CliRunner().invoke(viva, [*arguments, "--json"])
    assert done.exit_code == expect, (done.stdout, done.stderr)
    return dict(json.loads(done.stdout)["run"])


def run(
    case: Path, monkeypatch: pytest.MonkeyPatch, parts: Play, agent: str, *options: str, expect: int = 0
) -> tuple[dict[str, Any], ModelServer]:
    (case.parent / "my_agent.py").write_text(
        "class Agent:\n"
        "    def __init__(self, task_description): pass\n"
        f"    def get_reply_from_agent(self, message): return {agent!r}\n"
        "    def close(self): pass\n"
    )
    with ModelServer({"m": parts}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        arguments = ["--agent", "my_agent.py:Agent", "--model", "openai:m", "--out", "out", *options]
        record = command("run", str(case), *arguments, expect=expect)
        return record, server


def limits_sent(server: ModelServer) -> dict[str, set[int]]:
    """The limits in the requests of each role."""
    sent: dict[str, set[int]] = {"examiner": set(), "judge": set()}
    for request in server.requests:
        role = "examiner" if STOP_KEYWORD.search(system_text(request.body)) else "judge"
        sent[role].add(request.body["max_tokens"])
    return sent


GOOD = by_role(examiner, judge)


def test_every_request_has_the_limit_of_its_role(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, server = run(case, monkeypatch, GOOD, "The total sum is now 7001.")
    assert limits_sent(server) == {"examiner": {OUTPUT_TOKENS["examiner"]}, "judge": {OUTPUT_TOKENS["judge"]}}
    assert record["outcome"] == "scored"
    assert not record["setting"].get("max_output_tokens"), "what was not given is not recorded as given"


def test_given_limits_are_sent_and_recorded_and_a_judge_has_its_own_later(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--max-output-tokens", "judge=700,examiner=55", "--model-seconds", "60", "--model-seconds", "judge=70")
    record, server = run(case, monkeypatch, GOOD, "The total sum is now 7001.", *options)
    assert limits_sent(server) == {"examiner": {55}, "judge": {700}}
    assert record["setting"]["max_output_tokens"] == {"judge": 700, "examiner": 55}
    assert record["setting"]["model_seconds"]["judge"] == 70
    assert record["setting"]["model_seconds"]["examiner"] == 60
    with ModelServer({"m": GOOD}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        arguments = ("--model", "openai:m", "--judge", "model", "--max-output-tokens", "900", "--out", "again")
        done = CliRunner().invoke(viva, ["judge", "out", *arguments, "--json"])
    assert done.exit_code == 0, done.stderr
    again = json.loads((case.parent / "again" / "journal.jsonl").read_text().splitlines()[-1])["data"]
    assert limits_sent(server)["judge"] == {900}
    assert again["setting"]["max_output_tokens"]["judge"] == 900
    assert again["setting"]["max_output_tokens"]["examiner"] == 55, "the conversation is that of before"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--max-output-tokens=judges=5", "--max-output-tokens has no role 'judges'"),
        ("--max-output-tokens=none", "--max-output-tokens takes a whole number of tokens above 0"),
        ("--model-seconds=judge=soon", "--model-seconds takes a number of seconds above 0"),
    ],
)
def test_a_mistake_is_told_before_the_first_message(
    option: str, words: str, case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer({"m": GOOD}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = CliRunner().invoke(viva, ["run", str(case), "--model", "openai:m", "--out", "out", option])
    assert (done.exit_code, words in done.stderr) == (2, True)
    assert not server.requests
    assert not (case.parent / "out").exists()


def test_the_cut_answer_of_a_judge_is_no_miss(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = Answer('{"reason": "It goes on and on', finish_reason="length")
    record, _ = run(case, monkeypatch, by_role(examiner, cut), "The total sum is now 7001.", expect=3)
    assert record["outcome"] == "judge_error"
    assert "cut off at the limit of 4,096 output tokens" in record["error"]
    assert "--max-output-tokens" in record["error"]


def test_an_agent_that_asks_without_end_is_scored_at_the_first_attempt(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = by_role(sequence("Please add the number to the total sum.", then="7001"), judge)
    record, _ = run(case, monkeypatch, stuck, "Which number?")
    assert (record["outcome"], record["score"], record["rounds"]) == ("scored", 0.0, 3)
    assert record.get("attempt", 1) == 1
