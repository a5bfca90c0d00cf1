"""What `viva cases lint` promises: exit codes, what it leaves behind, what it did not try, and no false alarm."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk, point
from tests.viva.lint.planted import ORDER, PLANTED
from viva.journal.writer import FILE
from viva.lint.agents import SOLUTION, TRIVIAL
from viva.lint.finding import LintKind

PROCESS = ("--sandbox", "process")
PAGE = Path(__file__).resolve().parents[3] / "docs" / "write-a-case.md"
ECHOED = {"scoring_points": [point('assert "Hello" in rounds[0]["agent"]', "The agent opens well.")]}
SOUND = {"scoring_points": [point('assert "Hi Ann" in rounds[0]["agent"]', "The agent calls Ann by her name.")]}


def lint(desk: Desk, *words: str | Path, expect: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(desk.viva("cases", "lint", *words, *PROCESS, "--json", expect=expect).stdout)
    return found


def problems(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (case["name"], one["kind"], one["message"])
        for case in found["cases"]
        for one in case["findings"]
        if not one["note"]
    ]


def test_the_bundled_cases_pass_with_the_careful_agent_as_their_solution(desk: Desk) -> None:
    names = ("echo", "mean_of_a_column", "same_number_in_two_files", "sum_1_to_50", "weather_asks_back")
    found = lint(desk, *names, "--solution", "example:careful", "--strict")
    assert problems(found) == []
    agents = ["silent", "echoing", "refusing", "parroting", "solution"]
    assert [(case["tried"], case["not_tried"], case["failed"]) for case in found["cases"]] == [(agents, [], [])] * 5


def test_the_cases_of_the_documentation_have_no_finding(desk: Desk) -> None:
    blocks = re.findall(r"```yaml\n# (\S+)/case\.yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 4
    for name, text in blocks:
        folder = desk.folder / "cases" / name
        folder.mkdir(parents=True)
        (folder / "case.yaml").write_text(text)
        (folder / "menu.csv").write_text("dish,price\nMargherita,9\nFunghi,11\n")
    found = lint(desk, "cases", "--strict")
    assert problems(found) == []
    (solved,) = [case for case in found["cases"] if case["name"] == "write_a_sum"]
    assert (solved["tried"][-1], solved["findings"]) == ("solution", [])


def test_the_documentation_names_every_kind_of_finding_and_every_agent() -> None:
    named = set(re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(), re.MULTILINE))
    assert {*LintKind, *TRIVIAL, SOLUTION} <= named


def test_findings_fail_a_build_only_if_it_is_strict(desk: Desk) -> None:
    case = desk.case(**ECHOED)
    assert len(problems(lint(desk, case))) == 1
    assert len(problems(lint(desk, case, "--strict", expect=1))) == 1


def test_notes_never_fail_a_build(desk: Desk) -> None:
    case = desk.case(**ECHOED, script=["Please repeat Hello."])
    found = lint(desk, case, "--strict")
    assert [one["note"] for one in found["cases"][0]["findings"]] == [True]


def test_a_case_that_does_not_load_is_a_usage_error_and_the_others_are_linted(desk: Desk) -> None:
    desk.case("cases_good", **ECHOED)
    desk.case("cases_wrong", scoring_points=None)
    found = lint(desk, "cases_good", "cases_wrong", "--strict", expect=2)
    assert [name for name, _, _ in problems(found)] == ["cases_good"]
    assert "scoring_points is missing" in found["mistakes"][0]["message"]
    desk.viva("cases", "lint", "no_such_case", expect=2)
    (desk.folder / "empty").mkdir()
    assert "holds no case" in desk.viva("cases", "lint", "empty", expect=2).stderr


def test_a_solution_that_cannot_be_loaded_is_a_usage_error(desk: Desk) -> None:
    done = desk.viva("cases", "lint", desk.case(**SOUND), "--solution", "nobody.py:Agent", *PROCESS, expect=2)
    assert "nobody.py" in done.stderr


def test_what_a_solution_prints_is_not_in_the_output(desk: Desk) -> None:
    agent = desk.agent(
        'def get_reply_from_agent(self, message): print("noise"); os.system("echo more"); return "Hi Ann"'
    )
    found = lint(desk, desk.case(**SOUND), "--solution", agent)
    assert found["cases"][0]["tried"][-1] == "solution"


def test_an_exam_that_cannot_be_held_is_reported_and_hides_no_other(desk: Desk) -> None:
    desk.case("cannot", scoring_points=[point("import no_such_module_5\nassert no_such_module_5.good()", "It is.")])
    desk.case("can", **ECHOED)
    found = lint(desk, "cannot", "can", expect=3)
    assert "no_such_module_5" in found["cases"][0]["failed"][0]
    assert ("can", "anybody", "an agent that repeats each message gets this point") in problems(found)
    assert "no_such_module_5" in desk.viva("cases", "lint", "cannot", *PROCESS, expect=3).stdout


def test_what_needs_a_model_or_a_permission_is_named_as_not_tried(desk: Desk) -> None:
    desk.case("unchecked", scoring_points=[point(None, "The agent offers a refund.")])
    desk.case("prepared", **SOUND, pre_command="touch made")
    found = lint(desk, "unchecked", "prepared")
    assert [case["tried"] for case in found["cases"]] == [[], []]
    assert found["cases"][0]["not_tried"] == ["1 point without check or eval_code: only a model can judge it (--model)"]
    assert "--allow-pre-command" in found["cases"][1]["not_tried"][0]
    told = desk.viva("cases", "lint", "prepared", desk.case("sound", **SOUND), *PROCESS, expect=0).stdout
    assert 'without findings and notes, 1 of which could not be tried in full (see "not tried")' in told
    checked = {**point("assert rounds", "The agent replies."), "id": "replies"}
    desk.case("linked", scoring_points=[checked, {**point(None, "It is polite."), "require": ["replies"]}])
    (linked,) = lint(desk, "linked")["cases"][0]["not_tried"]
    assert (
        "the points with check or eval_code are not tried either, because points of this case depend on each other"
        in linked
    )
    assert not (desk.folder / "made").exists()
    assert lint(desk, "prepared", "--allow-pre-command")["cases"][0]["tried"]


def test_no_journal_is_left_unless_it_is_asked_for(desk: Desk) -> None:
    case = desk.case(**SOUND)
    lint(desk, case)
    assert sorted(path.name for path in desk.folder.iterdir()) == [case]
    lint(desk, case, "--out", "kept")
    assert list((desk.folder / "kept").rglob(FILE))
    assert "kept exists already" in desk.viva("cases", "lint", case, "--out", "kept", expect=2).stderr


def test_cases_of_the_same_name_are_linted_together(desk: Desk) -> None:
    for parent, fields in (("one", ECHOED), ("two", SOUND)):
        (desk.folder / parent).mkdir()
        desk.case(f"{parent}/exam", **fields)
    found = lint(desk, "one", "two")
    assert [(case["file"], len(case["findings"])) for case in found["cases"]] == [
        ("one/exam/case.yaml", 1),
        ("two/exam/case.yaml", 0),
    ]


def test_a_point_that_forbids_something_is_no_finding_but_a_case_of_nothing_else_is(desk: Desk) -> None:
    never = point('assert "password" not in rounds[0]["agent"]', "The agent never asks for a password.")
    desk.case("mixed", scoring_points=[never, *SOUND["scoring_points"]])
    desk.case("alone", scoring_points=[never])
    desk.case("attack", scoring_points=[never], strategy={"goal": "the password"})
    assert [(name, words) for name, _, words in problems(lint(desk, "mixed", "alone", "attack"))] == [
        ("alone", "an agent that says nothing gets full marks")
    ]


def test_a_case_without_a_script_is_tried_in_short_and_long_conversations(desk: Desk) -> None:
    early = point("assert len(rounds) <= 2", "The agent does it in two messages.")
    late = point("assert len(rounds) >= 3", "The agent talks for three rounds.")
    task = "Ask for the price."
    desk.case("brief", task_description=task, scoring_points=[early, *SOUND["scoring_points"]], script=None)
    desk.case("lengthy", task_description=task, scoring_points=[late, *SOUND["scoring_points"]], script=None)
    assert problems(lint(desk, "brief", "lengthy")) == []


def test_what_the_user_gives_and_the_agent_repeats_is_no_finding_where_a_model_examines(desk: Desk) -> None:
    booked = point('assert "Vienna" in rounds[-1]["agent"]', "The agent books a ticket to Vienna.")
    case = desk.case(task_description="Ask for a ticket to Vienna.", scoring_points=[booked], script=None)
    found = lint(desk, case)
    assert problems(found) == []
    assert [(one["kind"], one["note"]) for one in found["cases"][0]["findings"]] == [("revealed", True)]


def test_the_solution_of_a_case_is_tried_without_a_script_too(desk: Desk) -> None:
    last = point('assert "20" in rounds[1]["agent"]\nassert open("a/total.txt").read() == "20"', "The total is 20.")
    solution = ["One moment.", {"say": "It is 20.", "files": {"a/total.txt": "20"}}]
    good = desk.case("good", scoring_points=[last], script=None, solution=solution)
    bad = desk.case("bad", scoring_points=[last], script=None, solution=solution[:1])
    assert [(name, kind) for name, kind, _ in problems(lint(desk, good, bad))] == [("bad", "nobody")]


def test_the_console_names_file_and_line_what_and_what_to_do(desk: Desk) -> None:
    name = PLANTED[0].name
    PLANTED[0].write(desk.folder, planted=True)
    shown = desk.viva("cases", "lint", name, *PROCESS, expect=0).stdout.splitlines()
    words = "an agent that says nothing, refuses everything or repeats each message gets this point"
    assert shown == [
        f"{name}/case.yaml: 1 finding; tried: silent, echoing, refusing, parroting, solution",
        f"  {name}/case.yaml:7: point 1, anybody: {words}",
        "      demand what only a good agent says or leaves behind",
    ]


def test_words_of_a_case_cannot_steer_the_terminal(desk: Desk) -> None:
    code = 'assert rounds[0]["agent"] == "x", "\\x1b[31mred"'
    case = desk.case(scoring_points=[point(code, "It says x.")], solution=["y"])
    done = desk.viva("cases", "lint", case, *PROCESS, expect=0)
    assert "the solution does not get this point" in done.stdout
    assert "\x1b[31m" not in done.stdout + done.stderr


@pytest.mark.parametrize("lines", ["max_rounds: 3\n", ""])
def test_a_script_as_long_as_its_limit_is_no_finding(desk: Desk, lines: str) -> None:
    (desk.folder / "fits").mkdir()
    (desk.folder / "fits" / "case.yaml").write_text(lines + ORDER)
    (desk.folder / "fits" / "menu.csv").write_text("dish,price\n")
    assert problems(lint(desk, "fits")) == []


def test_naming_the_files_may_be_what_the_agent_was_asked_for(desk: Desk) -> None:
    named = point('assert "menu.csv" in rounds[0]["agent"]', "The agent says which files there are.")
    data = {"menu.csv": "a\n"}
    case = desk.case(scoring_points=[named], data_files=["menu.csv"], data=data, script=["What is in your folder?"])
    found = lint(desk, case)
    (one,) = found["cases"][0]["findings"]
    assert one["note"]
    assert one["message"] == "an agent that repeats each message and the names of its files gets this point"
