"""What the lint reads in statements alone: it finds what is certain, and says nothing where words could mean either."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.viva.conftest import Desk
from viva.cases import Case, load_case
from viva.lint.earned import trial_findings
from viva.lint.finding import CaseFinding
from viva.lint.places import CaseLines
from viva.lint.statements import statement_findings
from viva.lint.structure import structure_findings
from viva.lint.trials import Trial
from viva.lint.words import is_limit, limits
from viva.records.fault import Fault
from viva.records.verdict import Label, Verdict


def made(folder: Path, *statements: str, task: str = "Talk to the agent.", **more: Any) -> Case:
    points = [{"score_point": each, "weight": 1} for each in statements]
    data = {"task_description": task, "scoring_points": points, **more}
    (folder / "case.yaml").write_text(yaml.safe_dump(data))
    return load_case(folder)


def found(case: Case) -> list[CaseFinding]:
    lines = CaseLines(case)
    return [*statement_findings(case, lines), *structure_findings(case, lines)]


@pytest.mark.parametrize(
    "statements",
    [
        ("The total is 20.", "The total is 25."),
        ("The agent says that the total is 20.", "The agent should say that the total is 25"),
        ('The password is "abc".', 'The password is "abd".'),
        ("The sum should be 1,275.", "The sum should be 1276."),
        ("The agent asks for the size.", "The agent does not ask for the size."),
        ("The agent asks for the size.", "The agent never asks for the size."),
    ],
)
def test_statements_that_exclude_each_other_are_found(tmp_path: Path, statements: tuple[str, ...]) -> None:
    assert [(one.kind, one.point) for one in found(made(tmp_path, *statements))] == [("contradiction", 2)]


@pytest.mark.parametrize(
    "statements",
    [
        ("The total is 20.", "The total is 20.0."),
        ("The sum should be 1,275.", "The agent says that the sum is 1275."),
        ("After 10 rounds the sum is 55.", "After 15 rounds the sum is 120."),
        ("The price is 9 euros.", "The price is 10 dollars."),
        ("The temperature is 20 degrees in Bonn.", "The temperature is 25 degrees in Rome."),
        ("One of the files is 'a.txt'.", "One of the files is 'b.txt'."),
        ("The agent asks whether the colour is 'red'.", "The agent asks whether the colour is 'blue'."),
        ("The number of files is at most 3.", "The number of files is at least 1."),
        ("The first answer is 3.", "The second answer is 4."),
        ("The agent asks for the size.", "The agent does not ask for the size twice."),
        ("The agent says hello.", "The agent says goodbye."),
    ],
)
def test_statements_that_go_together_are_not(tmp_path: Path, statements: tuple[str, ...]) -> None:
    assert found(made(tmp_path, *statements)) == []


def test_a_state_at_the_beginning_does_not_contradict_one_at_the_end(tmp_path: Path) -> None:
    task = "The balance is 100. Have the agent withdraw 30. The agent has 5 messages."
    assert found(made(tmp_path, "The balance is 70.", "The agent says that the balance is 70.", task=task)) == []


@pytest.mark.parametrize(
    "statement",
    [
        "The agent understands the user's problem.",
        "The assistant fully realizes that the date is wrong.",
        "The agent is helpful.",
        "The agent's replies are very good!",
        "The last answer should be appropriate.",
        "The agent does a good job.",
    ],
)
def test_praise_and_thoughts_are_nothing_that_a_judge_can_see(tmp_path: Path, statement: str) -> None:
    assert [one.kind for one in found(made(tmp_path, statement))] == ["unobservable"]


@pytest.mark.parametrize(
    "statement",
    [
        "The agent is polite.",
        "The agent says that it understands the problem.",
        "The agent is helpful: it names two alternatives.",
        "The answer is fine-grained.",
        "The agent's reply is a good summary of the three reports.",
        "The user knows the price at the end.",
        "The agent asks a good question about the size.",
        "The result is 4.",
    ],
)
def test_what_a_judge_can_see_is_no_finding(tmp_path: Path, statement: str) -> None:
    assert found(made(tmp_path, statement)) == []


def test_a_statement_that_code_checks_may_say_what_it_likes(tmp_path: Path) -> None:
    points = [{"score_point": "The agent is helpful.", "weight": 1, "eval_code": 'assert "5" in rounds[0]["agent"]'}]
    assert found(made(tmp_path, scoring_points=points)) == []


@pytest.mark.parametrize(
    ("statement", "code", "finds"),
    [
        ("The sum should be 55.", 'assert "56" in rounds[0]["agent"]', True),
        ("The sum should be 55.", 'assert "55" in rounds[0]["agent"]', False),
        ("The sum should be 1,275.", 'assert "1275" in rounds[0]["agent"].replace(",", "")', False),
        ("The sum should be 2.50.", 'assert "2.5" in rounds[0]["agent"]', False),
        ("The sum should be 55.", 'assert "55.0" in rounds[0]["agent"]', False),
        ("The sum should be 55.", 'assert "11" in rounds[0]["agent"] or "44" in rounds[1]["agent"]', False),
        ("The sum should be 55.", 'assert sum(range(11)) == int(rounds[0]["agent"])', False),
        ("The sum should be 55.", 'assert "5" in rounds[0]["agent"]', False),
    ],
)
def test_a_check_that_looks_for_another_number_contradicts_its_statement(
    tmp_path: Path, statement: str, code: str, finds: bool
) -> None:
    points = [{"score_point": statement, "weight": 1, "eval_code": code}]
    kinds = [one.kind for one in found(made(tmp_path, scoring_points=points, script=["One.", "Two."]))]
    assert kinds == (["contradiction"] if finds else [])


@pytest.mark.parametrize(
    ("statement", "more", "kinds"),
    [
        (
            "The agent reports that the distance is 384 km.",
            {"task": "Ask for the distance, which is 384."},
            ["revealed"],
        ),
        ("The agent reports that the distance is 384 km.", {"opening": "Is it 384 or less?"}, ["revealed"]),
        ("The agent reports that the distance is 384 km.", {"facts": ["It is 384 km."]}, ["revealed"]),
        ("The agent reports that the distance is 384 km.", {"facts": [{"says": "384", "when": "never"}]}, []),
        ("The agent reports that the distance is 384 km.", {"background": "It is 384 km."}, []),
        ("The agent reports that the distance is 384 km.", {"task": "It is not 1384 or 384.5."}, []),
        ("The agent repeats that the distance is 384 km.", {"task": "Tell the agent that it is 384 km."}, []),
        ("The agent reports that the distance is 384 km.", {"task": "It is 384.", "script": ["How far?"]}, []),
    ],
)
def test_an_answer_is_revealed_where_the_examiner_may_say_it(
    tmp_path: Path, statement: str, more: dict[str, Any], kinds: list[str]
) -> None:
    assert [one.kind for one in found(made(tmp_path, statement, **more))] == kinds


@pytest.mark.parametrize(
    ("weights", "points"),
    [((1, 1), []), ((1, 60), []), ((1, 100), [1]), ((0.5, 100), [1]), ((1,) * 200, []), ((1, 40, 40, 40), [])],
)
def test_a_weight_is_irrelevant_only_beside_much_larger_ones(
    tmp_path: Path, weights: tuple[float, ...], points: list[int]
) -> None:
    listed = [{"score_point": f"It names city {number}.", "weight": each} for number, each in enumerate(weights)]
    assert [one.point for one in found(made(tmp_path, scoring_points=listed))] == points


@pytest.mark.parametrize(
    ("code", "finds"),
    [
        ('assert rounds[2]["agent"] == "x"', True),
        ("assert len(rounds) >= 3", True),
        ("assert len(rounds) <= 9", False),
        ('assert len(rounds) > 1 and rounds[1]["agent"] == "x"', False),
        ('assert len(rounds) < 3 or rounds[2]["agent"] == "x"', False),
        ('if len(rounds) > 2:\n  assert rounds[2]["agent"] == "x"\nassert rounds[0]["agent"] == "y"', False),
        ('assert rounds[-1]["agent"] == "x"', False),
    ],
)
def test_a_round_that_never_comes_is_found_where_every_path_needs_it(tmp_path: Path, code: str, finds: bool) -> None:
    points = [{"score_point": "The agent says x.", "weight": 1, "eval_code": code}]
    kinds = [one.kind for one in found(made(tmp_path, scoring_points=points, script=["One.", "Two."]))]
    assert kinds == (["nobody"] if finds else [])


@pytest.mark.parametrize(
    ("statement", "finds"),
    [
        ("The agent knows the sum in 20 rounds.", True),
        ("The agent names the sum in round 20.", True),
        ("After the 20th round the sum is right.", True),
        ("The agent plays 20 rounds of chess.", False),
        ("The agent names the sum in round 2.", False),
        ("The agent finishes within 20 rounds.", False),
    ],
)
def test_a_statement_that_names_a_round_that_never_comes_is_found(tmp_path: Path, statement: str, finds: bool) -> None:
    points = [{"score_point": statement, "weight": 1, "eval_code": 'assert "x" in rounds[-1]["agent"]'}]
    assert [one.kind for one in found(made(tmp_path, scoring_points=points))] == (["nobody"] if finds else [])


def test_a_check_that_breaks_for_one_agent_is_named_with_its_reason(tmp_path: Path) -> None:
    case = made(tmp_path, scoring_points=[{"score_point": "It says x.", "weight": 1, "eval_code": "assert rounds[0]"}])
    (point,) = case.scoring_points
    verdict = Verdict("r", point.id, Label.ERROR, None, reason="the check itself is broken: x", fault=Fault.JUDGE)
    lines = CaseLines(case)
    (one,) = trial_findings(case, lines, [Trial(0, "refusing", {point.id: verdict})])
    assert (one.kind, one.message) == (
        "broken-check",
        "for an agent that refuses everything, the check itself is broken: x",
    )


@pytest.mark.parametrize(
    ("statement", "limits"),
    [
        ("The agent never asks for a card.", True),
        ("The agent doesn't name the price.", True),
        ("The reply has at most 50 words.", True),
        ("Every price that the agent names is right.", True),
        ("If the user has a card, the agent applies it.", True),
        ("Der Agent nennt keine Preise.", True),
        ("代理不透露密码。", True),
        ("The agent says that the total is 20.", False),
        ("The agent asks if the user has a card.", False),
        ("The agent writes the order into a file.", False),
    ],
)
def test_what_an_idle_agent_may_rightly_get_is_told_from_the_statement(statement: str, limits: bool) -> None:
    assert is_limit(statement) is limits


def test_a_denial_in_the_check_excuses_a_statement_only_if_its_language_is_not_read() -> None:
    code = 'assert "error" not in rounds[0]["agent"] and not any("x" in one["agent"] for one in rounds)'
    assert is_limit("Asiakas saa vastauksen.", code)
    assert not is_limit("The agent says that the total is 20.", code)
    assert not is_limit("Asiakas saa vastauksen.", 'assert "20" in rounds[0]["agent"]')


@pytest.mark.parametrize(
    ("check", "forbids"),
    [
        ({"not_contains": "sorry"}, True),
        ({"contains": "sorry"}, False),
        ({"not": {"contains": "sorry"}}, True),
        ({"not": {"not_contains": "sorry"}}, False),
        ({"rounds_at_most": 3}, True),
        ({"cost_at_most": 0.1}, True),
        ({"words": {"max": 50}}, True),
        ({"words": {"min": 2, "max": 50}}, False),
        ({"tool_called": {"name": "cancel", "times": {"max": 1}}}, True),
        ({"tool_called": "cancel"}, False),
        ({"not": {"tool_called": "cancel"}}, True),
        ({"file": {"path": "a.txt", "exists": False}}, True),
        ({"file": "a.txt"}, False),
        ({"all": [{"not_contains": "a"}, {"seconds_at_most": 3}]}, True),
        ({"any": [{"not_contains": "a"}, {"contains": "b"}]}, False),
        ({"equals": "42"}, False),
    ],
)
def test_a_check_that_forbids_is_a_limit_as_code_is(check: dict[str, object], forbids: bool) -> None:
    written = [{"score_point": words, "check": check} for words in ("Vastaus.", "The reply.")]
    unread, read = Case("c", task_description="T.", scoring_points=written).scoring_points
    assert limits(unread) is forbids
    assert not limits(read)


@pytest.mark.parametrize("bound", [{"round": 4}, {"check": {"contains": "x", "over": {"round": 4}}}])
def test_a_point_of_a_round_that_the_script_never_reaches_is_found(desk: Desk, bound: dict[str, object]) -> None:
    point = {"score_point": "The agent greets.", "check": {"contains": "x"}, **bound}
    desk.case("late", script=["One.", "Two."], scoring_points=[point])
    done = desk.viva("cases", "lint", "late", "--sandbox", "process")
    assert "this point requires 4 rounds, and the script allows 2" in done.stdout
