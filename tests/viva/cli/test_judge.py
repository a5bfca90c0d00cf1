"""What judging a stored conversation again promises: the same score, a journal of its own, an untouched source."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.viva.conftest import AGENTS, Desk, point
from viva.journal.reader import read_runs
from viva.journal.writer import scan

AGAIN = ("--sandbox", "process", "--out", "again")
HELLO = "def get_reply_from_agent(self, message): return 'Hello.'"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("agent", ["careful.py:CarefulAgent", "forgetful.py:ForgetfulAgent", "failing.py:FailingAgent"])
def test_judging_again_gives_the_same_score_and_touches_nothing(desk: Desk, agent: str) -> None:
    first = desk.run("sum_1_to_50", "--agent", AGENTS / agent)
    before = contents(desk.folder / "journal")
    again = json.loads(desk.viva("judge", "journal", *AGAIN, "--json", expect=0).stdout)
    assert contents(desk.folder / "journal") == before
    assert again["journal"] == "again"
    (record,) = again["runs"]
    for name in ("id", "outcome", "score", "low", "high", "points", "max_points", "stop", "rounds"):
        assert record[name] == first[name], name
    labels = [[verdict["label"] for verdict in each["insights"][0]["verdicts"]] for each in (first, record)]
    assert labels[0] == labels[1]


def test_the_new_journal_stands_on_its_own(desk: Desk) -> None:
    desk.run("same_number_in_two_files")
    desk.viva("judge", "journal", *AGAIN, expect=0)
    kinds = [event.kind for event in scan(desk.folder / "again")]
    assert [kind for kind in kinds if kind in ("round", "transcript", "insight", "run")] == [
        *("round", "round", "round"),
        *("transcript", "insight", "run"),
    ]
    old, new = (next(read_runs(desk.folder / name)) for name in ("journal", "again"))
    assert new.transcript == old.transcript
    replays = [desk.viva("replay", name, expect=0).stdout for name in ("journal", "again")]
    assert replays[0] == replays[1]
    desk.viva("judge", "again", "--sandbox", "process", "--fail-under", "1", expect=0)


def test_neither_the_case_folder_nor_the_agent_is_needed(desk: Desk) -> None:
    case = desk.case(data={"a.csv": "1\n"}, data_files=["a.csv"], scoring_points=[point("assert open('a.csv').read()")])
    desk.run(case, "--agent", desk.agent(HELLO))
    shutil.rmtree(desk.folder / case)
    (desk.folder / "agent.py").unlink()
    assert "1/1 = 1.00" in desk.viva("judge", "journal", *AGAIN, "--quiet", expect=0).stdout


def test_a_case_that_changed_since_does_not_change_what_was_asked(desk: Desk) -> None:
    case = desk.case()
    desk.run(case, "--agent", desk.agent(HELLO))
    shutil.rmtree(desk.folder / case)
    desk.case(scoring_points=[point("assert not rounds")])
    assert "1/1 = 1.00" in desk.viva("judge", "journal", *AGAIN, "--quiet", expect=0).stdout


def test_the_agents_files_are_judged_again_even_where_the_journal_was_moved(desk: Desk) -> None:
    desk.run("same_number_in_two_files")
    (desk.folder / "elsewhere").mkdir()
    (desk.folder / "journal").rename(desk.folder / "elsewhere" / "moved")
    desk.viva("judge", "elsewhere/moved", *AGAIN, "--fail-under", "1", expect=0)
    desk.viva("judge", "again", "--sandbox", "process", "--fail-under", "1", expect=0)


def test_a_score_that_changed_is_told(desk: Desk) -> None:
    record = desk.run("same_number_in_two_files")
    (desk.folder / "journal" / record["setting"]["workspace"] / "b.txt").write_text("-1")
    shown = desk.viva("judge", "journal", *AGAIN, "--fail-under", "1", expect=1).stdout
    assert "0/1 = 0.00" in shown
    assert "the score was 1/1 = 1.00" in shown


def test_a_reply_too_long_for_a_line_is_judged_whole_however_often(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'x' * 1_000_000 + 'needle'")
    case = desk.case(scoring_points=[point("assert rounds[0]['agent'].endswith('xneedle')")])
    assert desk.run(case, "--agent", agent)["score"] == 1
    for source, out in (("journal", "one"), ("one", "two")):
        desk.viva("judge", source, "--sandbox", "process", "--out", out, "--fail-under", "1", expect=0)
        shutil.rmtree(desk.folder / source)


def test_several_journals_and_single_runs_of_them_can_be_judged(desk: Desk) -> None:
    one = desk.run("echo", out="one")
    two = desk.run("weather_asks_back", out="two")
    lines = desk.viva("judge", "one", "two", *AGAIN, "--quiet", expect=0).stdout.splitlines()
    assert lines == [f"{one['id']} scored 2/2 = 1.00", f"{two['id']} scored 3/3 = 1.00"]
    single = desk.viva("judge", f"again#{two['id']}", "--sandbox", "process", "--quiet", expect=0).stdout
    assert single.splitlines() == [lines[1]]


def test_torn_lines_are_told_and_cost_only_themselves(desk: Desk) -> None:
    desk.run("echo")
    with (desk.folder / "journal" / "journal.jsonl").open("a") as file:
        file.write('\n{"v":1,"event":"round","run":"ec')
    done = desk.viva("judge", "journal", *AGAIN, "--quiet", expect=0)
    assert "2/2 = 1.00" in done.stdout
    assert "torn" in done.stderr


def test_the_new_record_says_who_judged_now(desk: Desk) -> None:
    desk.run("echo")
    desk.viva("judge", "journal", *AGAIN, expect=0)
    stored = next(read_runs(desk.folder / "again"))
    assert stored.record is not None
    assert stored.record.setting == stored.setting
    assert (stored.setting.judge, stored.setting.sandbox, stored.setting.examiner) == ("code", "process", "script")


def test_a_mended_case_judges_the_conversation_that_its_broken_check_could_not(desk: Desk) -> None:
    text = """\
task_description: Say hello.
scoring_points:
  - score_point: The agent says done.
    weight: 1
    eval_code: assert chat_histroy[-1].content
script: [Hello]
"""
    case = desk.folder / "mended"
    case.mkdir()
    (case / "case.yaml").write_text(text)
    desk.viva(
        "run", "mended", "--agent", AGENTS / "careful.py:CarefulAgent", "--sandbox", "process", "--out", "j", expect=3
    )
    (case / "case.yaml").write_text(text.replace("histroy", "history"))
    desk.viva("judge", "j", *AGAIN, expect=3)
    done = desk.viva("judge", "j", "--case", "mended", "--sandbox", "process", "--out", "third", "--json", expect=0)
    (record,) = json.loads(done.stdout)["runs"]
    assert record["score"] == 1.0
    desk.viva("judge", "third", "--sandbox", "process", "--out", "fourth", expect=0)
