"""What is wrong with the checks of a case is told before its exams, so that it need not be guessed when they end."""

from __future__ import annotations

import shutil

import pytest

from tests.viva.conftest import Desk, point
from viva.journal.reader import read_records

HELLO = "def get_reply_from_agent(self, message): return 'OK.'"
WRITES = """
def get_reply_from_agent(self, message):
    Path(self.workspace, "mypkg").mkdir(exist_ok=True)
    Path(self.workspace, "mypkg", "core.py").write_text("solve = lambda: 42")
    return "Done."
"""
SOLVES = "from mypkg.core import solve\nassert solve() == 42"


@pytest.mark.parametrize("command", ["run", "suite"])
def test_an_import_that_nobody_provides_is_a_usage_error_before_the_first_question(desk: Desk, command: str) -> None:
    case = desk.case(scoring_points=[point("assert rounds"), point("import nowhere_to_be\nassert nowhere_to_be")])
    agent = desk.agent("def __init__(self, *a): open('asked', 'w').close()\n" + HELLO)
    shown = desk.viva(command, case, "--agent", agent, "--sandbox", "process", "--out", "journal", expect=2).stderr
    words = " ".join(shown.split())
    assert "imports 'nowhere_to_be' (line 1 of the eval_code of point 2), which is not installed" in words
    assert "add 'nowhere_to_be' to dependencies" in words
    assert not (desk.folder / "journal").exists()
    assert not (desk.folder / "asked").exists()


@pytest.mark.parametrize(("methods", "score"), [(HELLO, 0.0), (WRITES, 1.0)])
def test_a_module_that_the_agent_was_asked_to_write_is_its_own_to_miss(desk: Desk, methods: str, score: float) -> None:
    case = desk.case(task_description="Write a package mypkg with a function.", scoring_points=[point(SOLVES)])
    record = desk.run(case, "--agent", desk.agent(methods))
    assert (record["outcome"], record["score"]) == ("scored", score)


def test_an_import_in_a_branch_is_a_note(desk: Desk) -> None:
    case = desk.case(scoring_points=[point("assert rounds\nif not rounds:\n    import nowhere_to_be")])
    done = desk.viva("run", case, "--agent", desk.agent(HELLO), "--sandbox", "process", expect=0)
    assert "imports 'nowhere_to_be'" in " ".join(done.stderr.split())


def test_a_stored_run_is_judged_in_spite_of_its_import_and_that_is_the_checks_fault(desk: Desk) -> None:
    agent = desk.agent(HELLO)
    desk.run(desk.case(), "--agent", agent)
    shutil.rmtree(desk.folder / "exam")
    case = desk.case(scoring_points=[point("assert rounds"), point("import nowhere_to_be")])
    done = desk.viva("judge", "journal", "--case", case, "--sandbox", "process", "--out", "again", expect=3)
    assert "imports 'nowhere_to_be'" in " ".join(done.stderr.split())
    (record,) = read_records(desk.folder / "again")
    assert (record.outcome.value, record.low, record.high) == ("judge_error", 0.5, 1.0)


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ('"4" in chat_history[-1].content', "line 1 of the eval_code of point 1: eval_code discards the result"),
        ("print(rounds)", "eval_code cannot fail"),
        ("try:\n    assert '4' in chat_history[-1].content\nexcept: pass", "eval_code cannot fail"),
    ],
)
def test_a_check_that_cannot_fail_is_noted_and_its_hit_is_flagged(desk: Desk, check: str, words: str) -> None:
    case = desk.case(scoring_points=[point(check)])
    agent = desk.agent(HELLO)
    done = desk.viva("run", case, "--agent", agent, "--sandbox", "process", "--out", "journal", expect=0)
    assert words in " ".join(done.stderr.split())
    (record,) = read_records(desk.folder / "journal")
    (verdict,) = record.insights[0].verdicts
    assert (verdict.label, verdict.flags) == ("hit", ("cannot-fail",))
    assert "whatever the agent does" in verdict.reason
    assert desk.viva("cases", "check", case, expect=2)


def test_a_sound_check_brings_no_note_and_no_flag(desk: Desk) -> None:
    case = desk.case(scoring_points=[point('assert "OK" in chat_history[-1].content')])
    agent = desk.agent(HELLO)
    done = desk.viva("run", case, "--agent", agent, "--sandbox", "process", "--out", "journal", expect=0)
    assert "eval_code" not in done.stderr
    (record,) = read_records(desk.folder / "journal")
    assert record.insights[0].verdicts[0].flags == ()
