"""Answers of models that are kept in a folder: what was asked before is not paid for again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from click.testing import CliRunner

from tests.model_server import STOP_KEYWORD, ModelServer, Request, Stall, by_role, judge, said_by, sequence, system_text
from tests.viva.real_suites import kill_outright, until
from tests.viva.viva_command import start_viva
from viva.cli.group import viva
from viva.journal.reader import read_records

CASE = """
task_description: Ask the agent to add 7001 to the total sum, and to report the sum.
scoring_points:
  - {score_point: "In round 1 the sum should be 7001.", weight: 1}
  - {score_point: "In round 1 the sum should be 5.", weight: 1}
"""
AGENT = """
class Agent:
    def __init__(self, task_description): pass
    def get_reply_from_agent(self, message): return "Sum: 7001."
    def close(self): pass
"""


def examiner(request: Request) -> str:
    keyword = STOP_KEYWORD.search(system_text(request))
    assert keyword is not None
    return keyword[1] if said_by("assistant", request) else "Please add 7001 to the total sum."


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_certificate: Path) -> Iterator[ModelServer]:
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-123456")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "case.yaml").write_text(CASE)
    (tmp_path / "my_agent.py").write_text(AGENT)
    with ModelServer({"m": by_role(examiner, judge)}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def command(*arguments: str, expect: int = 0) -> Any:
    done = CliRunner().invoke(viva, [*arguments, "--json"])
    assert done.exit_code == expect, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def suite(out: str, *options: str, agent: str = "my_agent", expect: int = 0) -> list[dict[str, Any]]:
    given = ("--agent", f"{agent}.py:Agent", "--model", "openai:m", "--cache", "answers", "--out", out)
    command("suite", "case", *given, *options, expect=expect)
    lines = map(json.loads, (Path(out) / "journal.jsonl").read_text().splitlines())
    return [line["data"] for line in lines if line["event"] == "run"]


def test_the_same_suite_asks_nothing_again_and_says_so(server: ModelServer) -> None:
    options = ("--trials", "2", "--votes", "2")
    before = suite("one", *options)
    asked = len(server.requests)
    after = suite("two", *options)
    assert len(server.requests) == asked
    assert [each["score"] for each in after] == [each["score"] for each in before] == [0.5, 0.5]
    assert [each.get("cached_answers", 0) for each in before] == [0, 0]
    assert sum(each["cached_answers"] for each in after) == asked
    assert after[0]["setting"]["cache"] == "answers"
    assert not after[0]["usage"]["judge"].get("calls"), "what was not asked was not used"
    words = f"{asked} answers were taken from the cache, and are not in these figures"
    assert words in " ".join(CliRunner().invoke(viva, ["report", "two"]).stdout.split())


def test_each_trial_asks_for_itself(server: ModelServer) -> None:
    suite("one")
    asked = len(server.requests)
    suite("two", "--trials", "3")
    assert len(server.requests) == 3 * asked


def test_judging_again_pays_for_what_changed_only(server: ModelServer) -> None:
    suite("one")
    asked = len(server.requests)
    command("judge", "one", "--model", "openai:m", "--judge", "model", "--cache", "answers", "--out", "same")
    assert len(server.requests) == asked
    (Path("case") / "case.yaml").write_text(CASE.replace("should be 5", "should be 6"))
    command(
        *("judge", "one", "--model", "openai:m", "--judge", "model", "--cache", "answers", "--out", "other"),
        *("--case", "case"),
    )
    assert len(server.requests) == asked + 1, "one of two points has other words"


def test_what_led_to_no_verdict_is_asked_again(server: ModelServer) -> None:
    server.parts["m"] = by_role(examiner, lambda request: "I cannot say.")
    first = suite("one", expect=3)
    assert first[0]["outcome"] == "judge_error"
    server.parts["m"] = by_role(examiner, judge)
    assert suite("two")[0]["outcome"] == "scored"


def test_a_resumed_suite_takes_the_answers_that_it_has_paid_for(server: ModelServer) -> None:
    suite("one", "--trials", "2")
    asked = len(server.requests)
    journal = Path("one") / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if '"event":"round"' in line.replace(" ", ""))
    journal.write_text("".join(lines[: first + 1]))
    command("suite", "--resume", "one")
    assert len(server.requests) == asked


def test_judging_again_that_was_killed_pays_only_for_what_was_not_answered(server: ModelServer) -> None:
    command("suite", "case", "--agent", "my_agent.py:Agent", "--model", "openai:m", "--trials", "2", "--out", "one")
    before, judging = len(server.requests), ("judge", "one", "--model", "openai:m", "--judge", "model")
    command(*judging, "--cache", "whole", "--out", "whole")
    each = len(server.requests) - before
    answered = each - 1
    server.parts["m"] = sequence(*[by_role(examiner, judge)] * answered, then=Stall(3600))
    words = (*judging, "--cache", "kept", "--out", "killed", "--quiet")
    with start_viva(*words, cwd=Path.cwd(), env=dict(os.environ), stdout=PIPE, stderr=PIPE, text=True) as process:
        until(lambda: len(list(Path("kept").glob("*/*.json"))) == answered, process)
        until(lambda: len(server.requests) > before + each + answered, process)
        kill_outright(process)
    server.parts["m"] = by_role(examiner, judge)
    command("judge", "--resume", "killed")
    assert len(server.requests) == before + 2 * each + 1, "the question that was open at the kill was asked again"
    assert verdicts("killed") == verdicts("whole")


def verdicts(journal: str) -> dict[str, list[tuple[str, str]]]:
    records = read_records(Path(journal))
    return {each.id: [(found.criterion, found.label) for found in each.insights[0].verdicts] for each in records}


def test_another_agent_is_examined_and_judged_for_itself(server: ModelServer) -> None:
    suite("one")
    asked = len(server.requests)
    Path("other_agent.py").write_text(AGENT.replace("7001", "8001"))
    suite("two", agent="other_agent")
    assert len(server.requests) > asked


@pytest.mark.parametrize("content", ["{", "[]", "null", '{"form": 9}', "x" * 50])
def test_a_folder_of_something_else_is_refused(server: ModelServer, content: str) -> None:
    Path("answers").mkdir()
    (Path("answers") / "viva-answers.json").write_text(content)
    done = CliRunner().invoke(
        viva, ["run", "case", "--agent", "my_agent.py:Agent", "--model", "openai:m", "--cache", "answers"]
    )
    assert done.exit_code == 2
    assert "--cache: " in done.stderr
    assert not server.requests


def test_a_folder_with_other_files_is_refused_and_left_alone(server: ModelServer) -> None:
    done = CliRunner().invoke(
        viva, ["run", "case", "--agent", "my_agent.py:Agent", "--model", "openai:m", "--cache", "case"]
    )
    assert done.exit_code == 2
    assert "holds other files" in done.stderr
    assert [each.name for each in Path("case").iterdir()] == ["case.yaml"]


def test_a_project_that_brings_answers_must_be_trusted(server: ModelServer) -> None:
    Path("viva.yaml").write_text("suites:\n  nightly:\n    cases: [case]\n    cache: answers\n    model: openai:m\n")
    done = CliRunner().invoke(viva, ["suite", "nightly"])
    assert done.exit_code == 2
    assert "takes answers of the examiner's and the judges' models from answers" in done.stderr
