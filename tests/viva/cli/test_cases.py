"""`viva cases check`: everything that is wrong below a path is named, and nothing vanishes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.viva.conftest import Desk

CASE = (
    "task_description: x\nscoring_points:\n- score_point: y\n  weight: 1\n  eval_code: assert {code}\nscript: [{say}]\n"
)


def write(desk: Desk, name: str, text: str) -> Path:
    (desk.folder / "exams" / name).mkdir(parents=True)
    file = desk.folder / "exams" / name / "case.yaml"
    file.write_text(text)
    return file


def test_a_case_with_both_required_keys_misspelt_is_reported(desk: Desk) -> None:
    write(desk, "good", CASE.format(code="rounds", say="Hello"))
    write(desk, "misspelt", "task_descripton: x\nscoring_point: []\n")
    done = desk.viva("cases", "check", "exams", expect=2)
    assert "exams/good/case.yaml: valid" in done.stdout
    assert "exams/misspelt/case.yaml:1: unknown key 'task_descripton'; did you mean 'task_description'?" in done.stderr
    assert "did you mean 'scoring_points'?" in desk.viva("suite", "exams", expect=2).stderr


def test_a_folder_that_is_passed_over_is_named_with_the_reason(desk: Desk) -> None:
    write(desk, "good", CASE.format(code="rounds", say="Hello"))
    write(desk, "strange", "task: x\npoints: []\n")
    reason = "exams/strange: skipped: case.yaml has neither task_description nor scoring_points"
    assert reason in desk.viva("cases", "check", "exams", expect=0).stderr
    found = json.loads(desk.viva("cases", "check", "exams", "--json", expect=0).stdout)
    assert [each["folder"] for each in found["skipped"]] == ["exams/strange"]
    assert reason in desk.viva("suite", "exams", "--sandbox", "process", "--out", "out", expect=0).stderr
    alone = desk.viva("suite", "exams/strange", expect=2).stderr
    assert "there is no case in exams/strange" in alone
    assert reason in alone


def test_names_and_placeholders_that_mean_nothing_are_mistakes_with_file_and_line(desk: Desk) -> None:
    write(desk, "name", CASE.format(code="chat_histroy", say="Hello"))
    write(desk, "counter", CASE.format(code="rounds", say="'Say {n}'"))
    write(desk, "braces", CASE.format(code="rounds", say="'Fill in {first_name}'"))
    done = desk.viva("cases", "check", "exams", expect=2)
    assert "exams/name/case.yaml:5: eval_code uses 'chat_histroy', which is not defined; did you mean" in done.stderr
    assert "exams/counter/case.yaml:6: {n} is not replaced" in done.stderr
    assert "exams/braces/case.yaml:6: warning: {first_name} is not replaced" in done.stderr
    assert "exams/braces/case.yaml: valid" in done.stdout
    found = json.loads(desk.viva("cases", "check", "exams", "--json", expect=2).stdout)
    assert [(each["file"], each["line"]) for each in found["mistakes"]] == [
        ("exams/counter/case.yaml", 6),
        ("exams/name/case.yaml", 5),
    ]
    assert [each["line"] for each in found["warnings"]] == [6]


def test_names_of_strangers_cannot_steer_the_terminal(desk: Desk) -> None:
    write(desk, "red\x1b[31m", '"\\e[31mtask": x\n')
    done = desk.viva("cases", "check", "exams", expect=2)
    assert "skipped" in done.stderr
    assert "\x1b" not in done.stderr + done.stdout


def test_a_family_is_explained_by_a_row_that_is_named_and_with_what_all_rows_require(desk: Desk) -> None:
    rows = [
        {"id": "a", "point": {"check": {"contains": "x"}}, "more": ["It is short.", "It is kind."]},
        {"id": "b", "point": "It is right.", "more": []},
        {"id": "c", "point": "It is good.", "more": []},
    ]
    family = {"for_each": rows, "script": ["Hi."], "scoring_points": ["{{ point }}"]}
    write(desk, "same", json.dumps(family))
    write(desk, "other", json.dumps({**family, "scoring_points": "{{ more }}", "for_each": rows[:1]}))
    told = desk.viva("cases", "check", "exams", expect=0).stdout
    model = "Requires a model to judge 1 point without check or eval_code."
    assert f"same/case.yaml: valid, 3 rows of 1 scoring point. 2 rows: {model} 1 row: Runs without a model." in told
    assert "  The first of the rows, a:\n  100.0% The last reply contains 'x'.\n" in told
    assert "other/case.yaml: valid, 1 row of 2 scoring points. Requires a model to judge 2 points" in told
