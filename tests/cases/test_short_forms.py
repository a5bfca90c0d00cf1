"""A scoring point can be one line, and a case has homes for what the formats of other tools hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.cases import Case, CaseError, load_case
from viva.cases.given_turns import GivenTurn
from viva.cases.text import point_ids
from viva.records.codec import decode, encode, loads

ASK = "task_description: Ask.\n"
POINTS = "scoring_points: [It answers.]\n"


def case_of(folder: Path, text: str) -> Case:
    (folder / "case.yaml").write_text(text)
    return load_case(folder)


def mistakes_of(folder: Path, text: str) -> list[str]:
    (folder / "case.yaml").write_text(text)
    with pytest.raises(CaseError) as caught:
        load_case(folder)
    return [f"{each.line}: {each.message}" for each in caught.value.mistakes]


def test_a_scoring_point_is_a_statement_of_weight_1(tmp_path: Path) -> None:
    case = case_of(
        tmp_path, ASK + "scoring_points:\n  - The agent asks for the code.\n  - score_point: It is polite.\n"
    )
    assert [(point.score_point, point.weight) for point in case.scoring_points] == [
        ("The agent asks for the code.", 1.0),
        ("It is polite.", 1.0),
    ]
    assert [point.id for point in case.scoring_points] == point_ids(["The agent asks for the code.", "It is polite."])


def test_a_statement_in_a_tree_is_a_point_of_its_group(tmp_path: Path) -> None:
    case = case_of(tmp_path, ASK + "scoring_points:\n  - score_point: Both.\n    points: [One., Two.]\n")
    assert [(point.score_point, point.weight) for point in case.scoring_points] == [("One.", 0.5), ("Two.", 0.5)]


def test_an_empty_statement_is_a_mistake_with_its_line(tmp_path: Path) -> None:
    assert mistakes_of(tmp_path, ASK + "scoring_points:\n  - One.\n  - ' '\n") == ["4: score_point is empty"]


def test_the_messages_of_a_script_are_the_task_where_there_is_none(tmp_path: Path) -> None:
    script = "script:\n  - Hello.\n  - {if_agent_says: code, say: It is 7.}\n"
    task = case_of(tmp_path, POINTS + script).task_description
    assert "\n- Hello." in task
    assert task.endswith("(if the agent says 'code') It is 7.")
    assert mistakes_of(tmp_path, POINTS) == ["1: task_description is missing"]
    assert mistakes_of(tmp_path, "task_description: ''\n" + POINTS + script) == ["1: task_description is empty"]


def test_metadata_is_kept_as_json_holds_it(tmp_path: Path) -> None:
    text = "metadata: {source: {id: 7, tags: [a, null, 1.5]}, day: 2026-07-01}\n"
    point = "scoring_points:\n  - {score_point: It answers., metadata: {metric: tone}}\n"
    case = case_of(tmp_path, ASK + text + point)
    assert case.metadata == {"source": {"id": 7, "tags": ["a", None, 1.5]}, "day": "2026-07-01"}
    assert case.scoring_points[0].metadata == {"metric": "tone"}
    assert decode(Case, loads(encode(case))) == case


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("[1]", "metadata must be a mapping, not [1]"),
        ("{1: a}", "a key of metadata must be text, not 1; put it in quotes"),
        ("{a: {b: [.nan]}}", "metadata.a.b.0 is nan, which JSON cannot hold; put it in quotes"),
        ("{a: !!binary aGk=}", "metadata.a is b'hi', which JSON cannot hold; put it in quotes"),
    ],
)
def test_metadata_that_json_cannot_hold_is_a_mistake(tmp_path: Path, written: str, told: str) -> None:
    assert mistakes_of(tmp_path, f"{ASK}{POINTS}metadata: {written}\n") == [f"3: {told}"]


@pytest.mark.parametrize(("written", "value"), [("0", 0.0), ("1", 1.0), ("0.8", 0.8)])
def test_a_threshold_is_a_number_from_0_to_1(tmp_path: Path, written: str, value: float) -> None:
    assert case_of(tmp_path, f"{ASK}{POINTS}threshold: {written}\n").threshold == value


@pytest.mark.parametrize("written", ["80", "-0.1", "true", "'0.5'", ".nan", "[1]"])
def test_another_threshold_is_a_mistake(tmp_path: Path, written: str) -> None:
    (told,) = mistakes_of(tmp_path, f"{ASK}{POINTS}threshold: {written}\n")
    assert told.startswith("3: threshold must be a number from 0 to 1, not ")


def test_a_point_names_its_round(tmp_path: Path) -> None:
    points = "scoring_points:\n  - {score_point: It asks., round: 2}\n"
    assert case_of(tmp_path, ASK + points).scoring_points[0].round == 2
    for wrong in ("0", "1.5", "true", "last"):
        (told,) = mistakes_of(tmp_path, ASK + points.replace("2", wrong))
        assert told.startswith("3: round must be the number of a round, from 1, not ")
    coded = "scoring_points:\n  - score_point: It asks.\n    eval_code: assert rounds\n    round: 2\n"
    (told,) = mistakes_of(tmp_path, ASK + coded)
    assert "round does not bind eval_code, because eval_code sees all rounds: write rounds[1] in the code" in told
    assert mistakes_of(tmp_path, f"{ASK}{points}max_rounds: 1\n") == [
        "3: round 2 never takes place: max_rounds is 1",
    ]


def test_a_conversation_already_begun_has_its_turns(tmp_path: Path) -> None:
    turns = """\
conversation:
  - {role: system, content: You sell shoes.}
  - {role: user, content: Hi.}
  - {role: agent, content: Welcome!}
"""
    assert case_of(tmp_path, ASK + POINTS + turns).conversation == (
        GivenTurn("system", "You sell shoes."),
        GivenTurn("user", "Hi."),
        GivenTurn("agent", "Welcome!"),
    )


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        ("Hello", "3: conversation must be a list of turns"),
        ("[Hello]", "3: a turn has the keys role, content; this is 'Hello'"),
        ("[{role: agent}]", "3: content is missing"),
        ("[{content: a}]", "3: role is missing"),
        ("[{role: assistant, content: a}]", "3: role must be user, agent or system, not 'assistant'"),
        ("[{role: agent, content: ' '}]", "3: content is empty"),
        ("[{role: agent, content: 5}]", "3: content must be text, not 5; put it in quotes"),
        (
            "\n  - {role: agent, content: a}\n  - {role: system, content: b}",
            "5: a turn of the system stands before all others",
        ),
        (
            "\n  - {role: agent, content: a}\n  - {role: user, content: b}",
            (
                "5: the last turn is the user's, so the agent would have to answer it: "
                "make it the first line of script, or the opening"
            ),
        ),
    ],
)
def test_a_turn_that_is_wrong_is_told_with_its_line(tmp_path: Path, turns: str, told: str) -> None:
    assert mistakes_of(tmp_path, f"{ASK}{POINTS}conversation: {turns}\n") == [told]


@pytest.mark.parametrize(
    ("point", "told"),
    [
        ("contains: a", "contains is part of a check: write check: {contains: …}"),
        ("{contains: a, over: any_round, weight: 2}", "contains is part of a check: write check: {contains: …}"),
        ("{check: {contains: a, over: all}, round: 2}", "round and over both say in which round the check looks"),
        ("{check: {not: {contains: a, over: last}}, round: 2}", "round and over both say in which round"),
        ("{check: {file: a.txt}, round: 2}", "round has no effect on file"),
        ("{check: {rounds_at_most: 2}, round: 2}", "round has no effect on rounds_at_most"),
    ],
)
def test_what_a_point_says_of_its_check_in_the_wrong_place_is_one_mistake(
    tmp_path: Path, point: str, told: str
) -> None:
    (tmp_path / "case.yaml").write_text(f"script: [Hi.]\nscoring_points:\n  - {point}\n")
    with pytest.raises(CaseError) as caught:
        load_case(tmp_path)
    (mistake,) = caught.value.mistakes
    assert mistake.message.startswith(told)
    assert mistake.line == 3


def test_the_statement_of_a_check_names_the_round_of_its_point(tmp_path: Path) -> None:
    points = "  - {check: {contains: a}, round: 2}\n  - {check: {tool_called: book}, round: 1}\n"
    (tmp_path / "case.yaml").write_text(f"script: [Hi., Ho.]\nscoring_points:\n{points}")
    assert [point.score_point for point in load_case(tmp_path).scoring_points] == [
        "The reply of round 2 contains 'a'.",
        "The agent calls 'book' at least once in round 1.",
    ]
