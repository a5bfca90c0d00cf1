"""Recordings are judged against plain statements: by a rubric, or by the points of a case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import viva
from tests.conftest import KEY
from tests.model_server import ModelServer, Request, text_of, verdict
from tests.viva.conftest import Desk
from viva.journal.reader import read_records
from viva.records.run_record import RunRecord

PAGE = Path(__file__).parents[2] / "docs/recordings.md"
POLITE = {
    "score_point": "The agent is polite.",
    "weight": 1,
    "eval_code": 'assert "Go away" not in rounds[-1]["agent"]',
}
NAMES_IT = {
    "score_point": "The agent names the amount.",
    "weight": 2,
    "eval_code": 'assert "20 euros" in rounds[-1]["agent"]',
}


def talk(question: str, answer: str, **fields: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return {"messages": said, **fields}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A folder with three conversations, of which two have a label."""
    talks = [
        talk("I want a refund", "Your refund of 20 euros is on its way.", task_id="refund"),
        talk("Hello", "Go away.", task_id="hello"),
        talk("What is\n2 + 2?", "4"),
    ]
    (tmp_path / "talks.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in talks))
    return Desk(tmp_path)


def write_rubric(desk: Desk, **fields: Any) -> None:
    (desk.folder / "rubric.yaml").write_text(json.dumps(fields))


def scores(folder: Path) -> dict[str, float | None]:
    return {record.subject: record.score for record in read_records(folder)}


def points(record: RunRecord) -> list[str]:
    return sorted(verdict.statement for insight in record.insights for verdict in insight.verdicts if verdict.statement)


BY_LINE = "talks.jsonl, line 3"
"""The subject of the conversation without a label."""


def test_the_points_of_a_rubric_apply_to_all_recordings_and_those_of_a_subject_are_added(desk: Desk) -> None:
    write_rubric(desk, scoring_points=[POLITE], for_each=[{"subject": "refund", "scoring_points": [NAMES_IT]}])
    desk.viva("trace", "chat:talks.jsonl", "--rubric", "rubric.yaml", "--sandbox", "process", "--out", "j", expect=0)
    assert scores(desk.folder / "j") == {"refund": 1.0, "hello": 0.0, BY_LINE: 1.0}
    by_subject = {record.subject: record for record in read_records(desk.folder / "j")}
    assert points(by_subject["refund"]) == ["The agent is polite.", "The agent names the amount."]
    assert (by_subject["refund"].points, by_subject["refund"].max_points) == (3, 3)
    assert points(by_subject["hello"]) == ["The agent is polite."]


def test_a_journal_of_recordings_is_judged_by_a_rubric_and_again_by_what_it_stores(desk: Desk) -> None:
    desk.viva("trace", "chat:talks.jsonl", "--out", "plain", expect=0)
    write_rubric(desk, scoring_points=[POLITE])
    desk.viva("judge", "plain", "--rubric", "rubric.yaml", "--sandbox", "process", "--out", "j", expect=0)
    (desk.folder / "rubric.yaml").unlink()
    desk.viva("judge", "j", "--sandbox", "process", "--out", "again", expect=0)
    expected = {"refund": 1.0, "hello": 0.0, BY_LINE: 1.0}
    assert scores(desk.folder / "j") == scores(desk.folder / "again") == expected


def test_a_rubric_may_name_the_question_however_its_spaces_are_written(desk: Desk) -> None:
    write_rubric(desk, subject=["What is 2 + 2?"], scoring_points=[POLITE])
    done = desk.viva(
        "trace", "chat:talks.jsonl", "--rubric", "rubric.yaml", "--sandbox", "process", "--out", "j", expect=0
    )
    assert scores(desk.folder / "j") == {"refund": None, "hello": None, BY_LINE: 1.0}
    assert "the rubric has no points for 2 subjects, whose runs are not scored: 'hello', 'refund'" in done.stderr


def test_a_subject_that_no_recording_has_is_told(desk: Desk) -> None:
    write_rubric(desk, scoring_points=[POLITE], for_each=[{"subject": "refnd", "scoring_points": [NAMES_IT]}])
    done = desk.viva("trace", "chat:talks.jsonl", "--rubric", "rubric.yaml", "--sandbox", "process", expect=0)
    assert "no recording has a subject that the rubric names: 'refnd'" in done.stderr


def test_a_stopped_import_is_resumed_with_its_rubric(desk: Desk) -> None:
    write_rubric(desk, scoring_points=[POLITE])
    (desk.folder / "talks.jsonl").write_text((desk.folder / "talks.jsonl").read_text() + "{torn")
    arguments = ("chat:talks.jsonl", "--rubric", "rubric.yaml", "--sandbox", "process", "--out", "j")
    desk.viva("trace", *arguments, expect=2)
    assert scores(desk.folder / "j") == {}
    text = (desk.folder / "talks.jsonl").read_text()
    (desk.folder / "talks.jsonl").write_text(text.removesuffix("{torn"))
    (desk.folder / "rubric.yaml").unlink()
    desk.viva("trace", "--resume", "j", expect=0)
    assert scores(desk.folder / "j") == {"refund": 1.0, "hello": 0.0, BY_LINE: 1.0}


@pytest.mark.parametrize(("name", "judged"), [("hello", {"hello"}), ("manners", {"refund", "hello", BY_LINE})])
def test_a_case_judges_the_recordings_of_its_name_or_else_all(desk: Desk, name: str, judged: set[str]) -> None:
    (desk.folder / name).mkdir()
    case = {"task_description": "Talk.", "scoring_points": [POLITE]}
    (desk.folder / name / "case.yaml").write_text(json.dumps(case))
    desk.viva("trace", "chat:talks.jsonl", "--out", "plain", expect=0)
    done = desk.viva("judge", "plain", "--case", name, "--sandbox", "process", "--out", "j", expect=0)
    assert ("all recordings are judged by its points" in " ".join(done.stderr.split())) == (name == "manners")
    assert "no score" not in done.stdout, "a first score is not a changed one"
    found = scores(desk.folder / "j")
    assert {subject for subject, score in found.items() if score is not None} == judged
    assert found["hello"] == 0.0


def test_a_case_of_exams_is_not_applied_to_recordings_beside_them(desk: Desk) -> None:
    desk.viva("trace", "chat:talks.jsonl", "--evaluators", "loops", "--out", "plain", expect=0)
    desk.viva("run", "echo", "--sandbox", "process", "--out", "exam", expect=0)
    both = ("judge", "plain", "exam", "--case", "echo", "--sandbox", "process")
    done = desk.viva(*both, "--out", "j", expect=2)
    assert "requires a case, and recorded runs have none: give scoring points with --rubric FILE" in done.stderr
    desk.viva(*both, "--evaluators", "loops", "--out", "k", expect=0)
    assert {record.score for record in read_records(desk.folder / "k") if record.subject != "echo"} == {1.0}


def test_python_takes_a_rubric_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.folder)
    write_rubric(desk, scoring_points=[POLITE])
    traced = viva.trace("chat:talks.jsonl", rubric="rubric.yaml", sandbox="process", out="j")
    assert traced.figures.suite.mean == pytest.approx(2 / 3)
    plain = viva.trace("chat:talks.jsonl", evaluators="loops", out="plain")
    judged = viva.judge(plain, rubric=desk.folder / "rubric.yaml", sandbox="process", out="k")
    assert judged.figures.suite.mean == pytest.approx(2 / 3)


def test_statements_without_code_ask_for_a_model_before_anything_is_imported(desk: Desk) -> None:
    write_rubric(desk, scoring_points=[{"score_point": "The agent is polite.", "weight": 1}])
    done = desk.viva("trace", "chat:talks.jsonl", "--rubric", "rubric.yaml", "--out", "j", expect=2)
    assert "the rubric rubric.yaml requires a model to judge 1 scoring point" in done.stderr
    assert not (desk.folder / "j").exists()


def test_a_mistake_in_a_rubric_is_told_with_its_line_once(desk: Desk) -> None:
    (desk.folder / "rubric.yaml").write_text(
        "scoring_points:\n  - score_point: polite\n    weight:\n    wait: 1\n"
        "for_each:\n  - subject: a\n    scoring_points:\n"
        "      - score_point: exact\n        weight: -1\n  - subjekt: b\n"
    )
    done = desk.viva("trace", "chat:talks.jsonl", "--rubric", "rubric.yaml", expect=2)
    told = re.findall(r"rubric\.yaml:(\d+): ([^;\n]+)", done.stderr)
    assert sorted(told) == [
        ("10", "scoring_points is missing"),
        ("10", "subject is missing: name the task or the question of the recordings"),
        ("10", "unknown key 'subjekt'"),
        ("3", "weight must be a number above 0, not None"),
        ("4", "unknown key 'wait'"),
        ("9", "weight must be a number above 0, not -1"),
    ]


def test_a_rubric_without_its_evaluator_and_for_exams_is_refused(desk: Desk) -> None:
    write_rubric(desk, scoring_points=[POLITE])
    rubric = ("--rubric", "rubric.yaml")
    done = desk.viva("trace", "chat:talks.jsonl", *rubric, "--evaluators", "reward", expect=2)
    assert "--rubric has no effect: --evaluators does not name scoring_points" in done.stderr
    desk.viva("run", "echo", "--sandbox", "process", "--out", "exam", expect=0)
    assert "--rubric is for recordings" in desk.viva("judge", "exam", *rubric, expect=2).stderr


def test_the_reward_is_another_opinion_beside_a_rubric(desk: Desk) -> None:
    write_rubric(desk, scoring_points=[POLITE])
    (desk.folder / "one.json").write_text(json.dumps(talk("Hello", "Hi.", reward=0.5)))
    named = ("--evaluators", "scoring_points,reward")
    desk.viva("trace", "chat:one.json", "--rubric", "rubric.yaml", *named, "--sandbox", "process", "--out", "j")
    (record,) = read_records(desk.folder / "j")
    assert record.score == 1.0
    assert {insight.evaluator: insight.score for insight in record.insights} == {"scoring_points": 1.0, "reward": 0.5}


def test_the_rubric_of_the_page_judges_a_recording(desk: Desk) -> None:
    (text,) = re.findall(r"```yaml\n(# rubric\.yaml\n.*?)```", PAGE.read_text(), re.DOTALL)
    without_model = text.replace("  - score_point: The agent is polite in every reply.\n    weight: 1\n", "")
    assert without_model != text, "the page's rubric has a point for a model"
    (desk.folder / "rubric.yaml").write_text(without_model)
    desk.viva("trace", "chat:talks.jsonl", "--rubric", "rubric.yaml", "--sandbox", "process", "--out", "j", expect=0)
    assert scores(desk.folder / "j") == {"refund": 1.0, "hello": 1.0, BY_LINE: 1.0}


def test_ordinary_logs_without_a_reward_are_a_success_that_says_what_to_do_next(desk: Desk) -> None:
    done = desk.viva("trace", "chat:talks.jsonl", "--out", "j", expect=0)
    assert "No recording has a reward" in done.stderr
    assert "viva judge j --rubric FILE" in done.stderr
    assert {record.outcome.value for record in read_records(desk.folder / "j")} == {"scored"}
    assert scores(desk.folder / "j") == {"refund": None, "hello": None, BY_LINE: None}


def test_a_gate_over_logs_without_a_reward_is_not_passed(desk: Desk) -> None:
    done = desk.viva("trace", "chat:talks.jsonl", "--fail-under", "0", expect=3)
    assert "nothing was scored: 3 unscored" in done.stderr
    desk.viva("trace", "chat:talks.jsonl", "--evaluators", "reward", expect=3)


def test_a_single_reward_that_is_missing_is_not_passed_over(desk: Desk) -> None:
    talks = [talk("a", "b", reward=1), talk("c", "d")]
    (desk.folder / "two.json").write_text(json.dumps(talks))
    done = desk.viva("trace", "chat:two.json", expect=3)
    assert "some runs could not be scored: 1 unscored" in done.stderr


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"role": "user", "text": "Hello"}, "message 1 has no `content`, but `text`"),
        ({"role": "user", "parts": ["Hello"]}, "message 1 has no `content`, but `parts`"),
        ({"role": "human", "content": "Hello"}, "message 1 has the role 'human', and none is of the user"),
    ],
)
def test_a_message_with_other_names_is_told(desk: Desk, message: dict[str, Any], told: str) -> None:
    (desk.folder / "odd.json").write_text(json.dumps([message, {"role": "assistant", "content": "Hi."}]))
    assert told in desk.viva("trace", "chat:odd.json", expect=2).stderr


def test_a_model_judges_the_statements_without_code_by_what_the_recording_says(desk: Desk) -> None:
    asked: list[str] = []

    def judge(request: Request) -> str:
        prompt = "\n".join(text_of(message) for message in request["messages"])
        asked.append(prompt)
        rude = "Go away." in prompt
        said = "Go away." if rude else "on its way" if "on its way" in prompt else "4"
        return verdict("miss" if rude else "hit", "It says so.", {"round": 1, "quote": said})

    write_rubric(
        desk, scoring_points=[{"score_point": "The agent is polite.", "weight": 1}], background="It is Monday."
    )
    with ModelServer({"m": judge}) as server:
        environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
        options = ("--rubric", "rubric.yaml", "--model", "openai:m", "--out", "j")
        desk.viva("trace", "chat:talks.jsonl", *options, environment=environment, expect=0)
    assert scores(desk.folder / "j") == {"refund": 1.0, "hello": 0.0, BY_LINE: 1.0}
    assert all("The agent is polite." in each and "It is Monday." in each for each in asked)


def test_a_followed_source_is_judged_by_the_rubric_poll_after_poll(desk: Desk) -> None:
    write_rubric(desk, scoring_points=[POLITE])
    options = ("--rubric", "rubric.yaml", "--sandbox", "process", "--follow", "--looks", 1, "--interval", 0.01)
    desk.viva("trace", "chat:talks.jsonl", *options, "--out", "j", expect=0)
    with (desk.folder / "talks.jsonl").open("a") as file:
        file.write(json.dumps(talk("Bye", "Go away.", task_id="bye")) + "\n")
    (desk.folder / "rubric.yaml").unlink()
    desk.viva("trace", "--resume", "j", "--follow", "--looks", 1, "--interval", 0.01, expect=0)
    assert scores(desk.folder / "j") == {"refund": 1.0, "hello": 0.0, BY_LINE: 1.0, "bye": 0.0}


def test_reports_name_the_rubric_and_its_statements(desk: Desk) -> None:
    write_rubric(desk, scoring_points=[POLITE])
    desk.viva("trace", "chat:talks.jsonl", "--rubric", "rubric.yaml", "--sandbox", "process", "--out", "j", expect=0)
    assert {record.setting.case_file for record in read_records(desk.folder / "j")} == {"rubric.yaml"}
    desk.viva("report", "j", "--format", "html", "--out", "page.html", expect=0)
    assert "The agent is polite." in (desk.folder / "page.html").read_text()
    assert "1 of 1 point" in desk.viva("report", "j", "--format", "csv", expect=0).stdout
