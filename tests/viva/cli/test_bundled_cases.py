"""What the bundled cases and the example agents promise to somebody who has just installed Viva."""

from __future__ import annotations

import asyncio
import functools
import re
from pathlib import Path

import pytest

from tests.viva.conftest import AGENTS, Desk, missing
from viva.cases import BUNDLED, bundled, load_case, load_cases
from viva.sandbox import SandboxError
from viva.sandbox.choice import choose

CASES = [case.reference for name in bundled() for case in load_cases(BUNDLED / name)]
"""What names each bundled case, of a family each row."""


@functools.cache
def why_not(kind: str) -> str:
    """Why this sandbox cannot be used here; empty if it can."""

    async def attempt() -> str:
        try:
            choice = await choose(kind)
        except SandboxError as error:
            return str(error)
        await choice.sandbox.close()
        return ""

    return asyncio.run(attempt())


@pytest.mark.parametrize("kind", ["process", "bwrap", "docker"])
@pytest.mark.parametrize("name", CASES, ids=[Path(each).parent.name + each.partition(".yaml")[2] for each in CASES])
def test_the_careful_agent_gets_full_marks_without_a_model(desk: Desk, name: str, kind: str) -> None:
    if reason := why_not(kind):
        missing(kind, reason)
    case = load_case(Path(name))
    runs_code = any(point.eval_code for point in case.scoring_points)
    if not runs_code and kind != "process":
        return  # checks without code use no sandbox
    record = desk.run(name, "--sandbox", kind)
    assert (record["outcome"], record["score"], record["low"]) == ("scored", 1.0, 1.0)
    assert record["points"] == record["max_points"] == case.max_points
    assert record["setting"]["sandbox"] == (kind if runs_code else None)
    assert record["setting"]["sandbox_isolates"] is (kind != "process" if runs_code else None)
    assert (record["setting"]["examiner"], record["setting"]["judge"]) == ("script", "code")
    assert record["stop"] == "finished"


def test_all_fifty_rounds_of_sum_1_to_50_happen(desk: Desk) -> None:
    record = desk.run("sum_1_to_50")
    assert record["rounds"] == 50
    assert desk.kinds().count("round") == 50
    shown = desk.viva("replay", "journal", expect=0).stdout
    assert "add 50 to the total sum" in shown
    assert "The total sum is now 1275." in shown


def test_every_bundled_case_can_be_judged_by_a_model_too() -> None:
    assert len(bundled()) >= 5
    for name in bundled():
        for case in load_cases(BUNDLED / name):
            assert case.script, name
            # A statement that a model can judge is a sentence about the agent, not a label.
            assert all(len(point.score_point.split()) > 4 for point in case.scoring_points), name


@pytest.mark.parametrize(("agent", "rounds"), [("careful.py:CarefulAgent", 1), ("asks_back.py:AsksBackAgent", 2)])
def test_answering_at_once_and_asking_back_both_get_full_marks(desk: Desk, agent: str, rounds: int) -> None:
    record = desk.run("weather_asks_back", "--agent", AGENTS / agent)
    assert (record["outcome"], record["score"], record["rounds"]) == ("scored", 1.0, rounds)


def test_an_agent_that_only_asks_back_does_not_pass_the_weather_exam(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'Do you mean New York, where it is sunny?'")
    record = desk.run("weather_asks_back", "--agent", agent)
    assert record["score"] < 1


def test_the_forgetful_agent_gets_six_of_fifteen_points(desk: Desk) -> None:
    agent = AGENTS / "forgetful.py:ForgetfulAgent"
    shown = desk.viva("run", "sum_1_to_50", "--agent", agent, "--sandbox", "process", "--quiet", expect=0).stdout
    assert shown == "sum_1_to_50 scored 6/15 = 0.40\n"
    record = desk.run("sum_1_to_50", "--agent", agent)
    assert [verdict["label"] for verdict in record["insights"][0]["verdicts"]] == ["hit", "hit", "hit", "miss", "miss"]


def test_the_failing_agent_ends_the_exam_and_is_judged_as_it_stands(desk: Desk) -> None:
    record = desk.run("sum_1_to_50", "--agent", AGENTS / "failing.py:FailingAgent")
    assert (record["outcome"], record["stop"], record["rounds"]) == ("target_error", "target_error", 3)
    assert (record["score"], record["max_points"]) == (0.0, 15.0)
    assert len(record["insights"][0]["verdicts"]) == 5
    assert "the tool server went away" in record["error"]


@pytest.mark.parametrize("options", [(), ("--isolate",)], ids=["in Viva's process", "isolated"])
def test_where_an_agent_raised_stands_in_output_replay_and_journal(desk: Desk, options: tuple[str, ...]) -> None:
    said = "failing.py:12: RuntimeError: the tool server went away"
    arguments = ("sum_1_to_50", "--agent", AGENTS / "failing.py:FailingAgent", *options)
    assert desk.run(*arguments)["error"] == said
    shown = desk.viva("run", *arguments, "--sandbox", "process", "--out", "again", expect=0).stdout
    assert said in " ".join(shown.replace("│", " ").split())
    assert said in desk.viva("replay", "again", expect=0).stdout
    assert f'"error":"{said}"' in (desk.folder / "again/journal.jsonl").read_text()


def test_what_an_agent_did_before_it_failed_still_counts(desk: Desk) -> None:
    agent = desk.agent(
        """
        count = 0
        def get_reply_from_agent(self, message):
            self.count += 1
            if self.count > 10:
                raise OSError("gone")
            return f"The sum is {self.count * (self.count + 1) // 2}."
        """
    )
    record = desk.run("sum_1_to_50", "--agent", agent)
    assert (record["outcome"], record["points"]) == ("target_error", 1.0)


def test_the_readme_names_only_example_agents_that_are_there() -> None:
    home = Path(__file__).resolve().parents[3]
    named = re.findall(r"examples/agents/(\w+\.py):(\w+)", (home / "README.md").read_text(encoding="utf-8"))
    for file, name in named:
        assert f"class {name}(" in (AGENTS / file).read_text(encoding="utf-8")
