"""Runs that are repeated although they counted: one alone leaves a mark, and all together are all or nothing."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import viva
from tests.viva.conftest import Desk
from tests.viva.journal.test_write_errors import file_size_limit
from viva.cases import load_case
from viva.exam.stored_runs import REQUEUE, RunState, read_run_states
from viva.exam.subscribers import RunHeader
from viva.journal.reader import read_records
from viva.journal.run_index import index_runs
from viva.journal.writer import Journal, JournalError, run_id, scan
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.suites.at_work.requeueing import repeat_all
from viva.suites.at_work.status import State, StatusReader
from viva.suites.suite import _job_again, _Planned
from viva.viewer.watched import WatchedJournal

AGENT = "agent.py:Agent"
COMMON = ("--agent", AGENT, "--sandbox", "process", "--judge", "code")


@pytest.fixture
def desk(desk: Desk) -> Desk:
    """Two cases, which the agent passes only if there is a file."""
    check = {"score_point": "It is well.", "weight": 1, "eval_code": "assert rounds[0]['agent'] == 'well'"}
    for name in ("one", "two"):
        desk.case(name, scoring_points=[check])
    desk.agent(
        "async def get_reply_from_agent(self, message):\n"
        f"    return 'well' if Path({str(desk.folder)!r}, 'well').exists() else 'ill'"
    )
    (desk.folder / "well").touch()
    return desk


def heal(desk: Desk, *, well: bool = True) -> None:
    if well:
        (desk.folder / "well").touch()
    else:
        (desk.folder / "well").unlink()


def marks(desk: Desk, journal: str = "j") -> dict[str, list[str]]:
    report = json.loads(desk.viva("report", journal, "--format", "json").stdout)
    return {run["subject"]: run["setting"].get("requeued", []) for run in report["runs"]}


def one_of_two_repeated(desk: Desk) -> None:
    """Have the second of two runs repeated, because it failed."""
    desk.viva("run", "one", *COMMON, "--out", "j", expect=0)
    heal(desk, well=False)
    desk.viva("run", "two", *COMMON, "--out", "j", expect=0)
    heal(desk)
    desk.viva("report", "j", "--fail-under", "1", expect=1)
    desk.viva("run", "two", *COMMON, "--out", "j", expect=0)


def test_one_of_several_runs_that_is_repeated_after_it_was_scored_is_marked_and_passes_no_gate(desk: Desk) -> None:
    one_of_two_repeated(desk)
    assert marks(desk) == {"one": [], "two": ["scored"]}
    done = desk.viva("report", "j", "--fail-under", "1", expect=3)
    assert "1 run had been scored before the user repeated only some of the runs" in done.stderr
    shown = " ".join(desk.viva("report", "j", expect=0).stdout.split())
    assert "1 run first ended as scored and counted; the user had it repeated" in shown
    assert "it ended as scored before" in desk.viva("report", f"j#{run_id('two', AGENT)}", expect=0).stdout
    gated = desk.viva("run", "two", *COMMON, "--out", "j", "--fail-under", "1", expect=3)
    assert "no gate passes over that" in gated.stderr
    assert marks(desk)["two"] == ["scored", "scored"]


def test_judging_again_keeps_the_mark(desk: Desk) -> None:
    one_of_two_repeated(desk)
    desk.viva("judge", "j", "--sandbox", "process", "--out", "k", "--fail-under", "1", expect=3)
    assert marks(desk, "k") == {"one": [], "two": ["scored"]}


def test_every_format_says_how_many_runs_were_repeated(desk: Desk) -> None:
    one_of_two_repeated(desk)
    junit = desk.viva("report", "j", "--format", "junit", expect=0).stdout
    assert '<property name="requeued" value="1"/>' in junit
    assert junit.count("[[PROPERTY|requeued=scored]]") == 1
    rows = csv.DictReader(io.StringIO(desk.viva("report", "j", "--format", "csv", expect=0).stdout))
    assert sorted(row["requeued"] for row in rows) == ["", "scored"]


def test_a_repeated_run_that_was_cut_off_keeps_the_mark(desk: Desk) -> None:
    one_of_two_repeated(desk)
    name = run_id("two", AGENT)
    with Journal(desk.folder / "j") as journal:  # a third attempt that was killed
        journal.append("setting", name, 3, Setting(case="two", agent=AGENT, requeued=("scored", "scored")))
    assert read_run_states(desk.folder / "j")[name].requeued == ("scored", "scored")
    desk.viva("run", "two", *COMMON, "--out", "j", expect=0)
    assert marks(desk) == {"one": [], "two": ["scored", "scored"]}


@pytest.mark.parametrize("outcome", [Outcome.INFRA_ERROR, Outcome.JUDGE_ERROR, Outcome.EXAMINER_ERROR])
def test_a_run_that_did_not_count_is_repeated_without_a_mark(desk: Desk, outcome: Outcome) -> None:
    for name in ("one", "two"):
        desk.viva("run", name, *COMMON, "--out", "j", expect=0)
    (record,) = (each for each in read_records(desk.folder / "j") if each.subject == "two")
    with Journal(desk.folder / "j") as journal:
        journal.append("run", record.id, 1, RunRecord(record.id, "two", AGENT, outcome, None))
    desk.viva("run", "two", *COMMON, "--out", "j", expect=0)
    assert marks(desk) == {"one": [], "two": []}


def test_the_only_run_of_a_journal_is_repeated_without_a_mark(desk: Desk) -> None:
    for attempt in (1, 2):
        done = desk.viva("run", "one", *COMMON, "--out", "j", "--fail-under", "1", "--json", expect=0)
        assert json.loads(done.stdout)["run"]["attempt"] == attempt
    assert marks(desk) == {"one": []}
    assert REQUEUE not in desk.kinds("j")
    desk.viva("report", "j", "--fail-under", "1", expect=0)


def test_a_program_that_repeats_one_exam_of_several_leaves_the_mark_too(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.folder)

    def answer(message: str) -> str:
        return "well"

    for case in ("one", "two", "two"):
        viva.examine(case, answer, sandbox="process", out="j")
    assert marks(desk) == {"one": [], "two": ["scored"]}


def test_all_runs_repeated_to_the_end_are_not_marked(desk: Desk) -> None:
    heal(desk, well=False)
    desk.viva("suite", "one", "two", *COMMON, "--out", "j", expect=0)
    heal(desk)
    desk.viva("suite", "--resume", "j", "--fresh", "--fail-under", "1", expect=0)
    assert marks(desk) == {"one": [], "two": []}
    assert {record.attempt for record in read_records(desk.folder / "j")} == {2}
    desk.viva("report", "j", "--fail-under", "1", expect=0)
    before = (desk.folder / "j" / "journal.jsonl").read_bytes()
    desk.viva("suite", "--resume", "j", "--fail-under", "1", expect=0)
    assert (desk.folder / "j" / "journal.jsonl").read_bytes() == before


def test_a_limit_does_not_choose_which_runs_are_repeated(desk: Desk) -> None:
    desk.viva("suite", "one", "two", *COMMON, "--out", "j", expect=0)
    for _ in range(2):
        desk.viva("suite", "--resume", "j", "--fresh", "--max-runs", "1", expect=3)
    done = desk.viva("report", "j", "--fail-under", "1", expect=3)
    assert "1 run still to be repeated" in done.stderr
    assert "1 run to be repeated" in desk.viva("status", "j", expect=0).stdout
    heal(desk, well=False)
    desk.viva("suite", "--resume", "j", "--fail-under", "1", expect=1)
    assert {record.subject: (record.attempt, record.score) for record in read_records(desk.folder / "j")} == {
        "one": (3, 1.0),
        "two": (2, 0.0),
    }
    assert marks(desk) == {"one": [], "two": []}
    assert sum(event.kind == "run" for event in scan(desk.folder / "j")) == 5


def test_a_repetition_that_was_cut_off_in_a_run_goes_on_with_it(desk: Desk) -> None:
    desk.viva("suite", "one", "two", *COMMON, "--out", "j", expect=0)
    with Journal(desk.folder / "j") as journal:
        for name in ("one", "two"):
            journal.append(REQUEUE, run_id(name, AGENT), 1, {"outcome": "scored", "at": 1.0, "every": True})
        journal.append("setting", run_id("one", AGENT), 2, Setting(case="one", agent=AGENT))
    assert "2 runs still to be repeated" in desk.viva("report", "j", "--fail-under", "1", expect=3).stderr
    desk.viva("suite", "--resume", "j", expect=0)
    assert sorted(record.attempt for record in read_records(desk.folder / "j")) == [2, 3]
    desk.viva("report", "j", "--fail-under", "1", expect=0)


def test_a_repetition_whose_beginning_was_cut_off_anywhere_repeats_all_runs_or_none(desk: Desk) -> None:
    desk.viva("suite", "one", "two", *COMMON, "--trials", "2", "--out", "j", expect=0)
    folder = desk.folder / "j"
    file = folder / "journal.jsonl"
    before = file.read_bytes()
    repeat_all(folder, read_run_states(folder))
    after = file.read_bytes()
    assert after.startswith(before)
    seen = set()
    for length in range(len(before), len(after) + 1):
        file.write_bytes(after[:length])
        again = [state.again for state in read_run_states(folder).values()]
        number = sum(again)
        assert number in (0, 4), length
        assert len(list(index_runs(folder).waiting())) == number
        viewed = WatchedJournal(folder)
        viewed.follow()
        assert sum(map(viewed.places.runs.is_requeued_at, range(viewed.listed))) == (
            number if length == len(after) else 0
        )
        assert StatusReader(folder).read().requeued == (number if length == len(after) else 0)
        seen.add(number)
    assert seen == {0, 4}
    for state in read_run_states(folder, run_id("two", AGENT)).values():
        assert state.again
    assert viewed.state() is State.STOPPED
    desk.viva("suite", "--resume", "j", expect=0)
    assert [record.attempt for record in read_records(folder)] == [2] * 4
    viewed.follow()
    assert viewed.state() is State.ENDED


REQUESTS: dict[str, tuple[str, int]] = {
    "ended, repeat": ("1 run, repeat", 1),
    "ended again by the same attempt": ("1 run, repeat, 1 run", 1),
    "begun above and ended below": ("1 setting, repeat, 1 run", 1),
    "judged again after that": ("1 setting, 1 run, repeat, 1 setting, 1 run", 1),
    "ended by a further attempt": ("1 run, repeat, 2 setting, 2 run", 0),
    "by a further attempt that had no setting": ("1 run, repeat, 2 run", 0),
    "by both": ("1 run, repeat, 1 run, 2 setting, 2 run", 0),
    "repeated twice": ("1 run, repeat, 2 run, repeat, 2 run", 1),
    "repeated twice and ended": ("1 run, repeat, repeat, 2 run", 0),
    "begun below": ("repeat, 1 setting, 1 run", 0),
    "begun by a torn line above": ("torn, repeat, 1 setting, 1 run", 0),
    "requeued, and ended again by the same attempt": ("1 run, requeue, 1 run", 1),
    "requeued, and ended by a further attempt": ("1 run, requeue, 2 setting, 2 run", 0),
    "requeued with an attempt that was not the newest": ("1 run, 2 setting, requeue, 2 run", 0),
    "requeued, and all repeated": ("1 run, requeue, 2 run, repeat, 2 run", 1),
}
"""Attempts and kinds of a run's lines, those of requests included, and how many runs are to be repeated then."""


@pytest.mark.parametrize(("lines", "number"), REQUESTS.values(), ids=REQUESTS)
def test_every_reader_says_the_same_of_what_is_to_be_repeated(tmp_path: Path, lines: str, number: int) -> None:
    status, viewed = StatusReader(tmp_path), WatchedJournal(tmp_path)

    def write(kind: str, attempt: int, run: str = "one") -> None:
        if kind == "torn":
            with (tmp_path / "journal.jsonl").open("ab") as file:
                file.write(b'{"v":1,"event":"setting","run":"one","attempt":1,"data":{"case":"o\n')
            return
        record = RunRecord(run, run, "a", Outcome.INFRA_ERROR, None, attempt=attempt)
        data = {"setting": Setting(case=run, agent="a"), "run": record}
        with Journal(tmp_path) as journal:
            journal.append(kind, run, attempt, data.get(kind, {"at": 1.0}))

    write("setting", 1, "other")  # the run that a request for all names
    for line in lines.split(", "):
        attempt, _, kind = line.rpartition(" ")
        write(kind, int(attempt or 1), "other" if kind == "repeat" else "one")
        status.read()  # as the journal grows
        viewed.follow()
    again = [name for name, state in read_run_states(tmp_path).items() if state.again and name == "one"]
    runs = viewed.places.runs
    assert (
        len(again),
        list(index_runs(tmp_path).waiting()).count("one"),
        runs.is_requeued_at(runs.position("one") or 0),
        status.read().requeued,
    ) == (number,) * 4


def test_a_late_record_of_what_is_repeated_passes_no_gate_until_it_was_repeated(desk: Desk) -> None:
    desk.viva("suite", "one", "two", *COMMON, "--out", "j", expect=0)
    folder = desk.folder / "j"
    repeat_all(folder, read_run_states(folder))
    with Journal(folder) as journal:
        for record in read_records(folder):
            journal.append("run", record.id, 1, record)
    assert "2 runs still to be repeated" in desk.viva("report", "j", "--fail-under", "1", expect=3).stderr
    desk.viva("suite", "--resume", "j", expect=0)
    assert [record.attempt for record in read_records(folder)] == [2] * 2
    desk.viva("report", "j", "--fail-under", "1", expect=0)


def test_a_full_disk_leaves_a_suite_that_was_to_be_repeated_as_it_was(desk: Desk) -> None:
    desk.viva("suite", "one", "two", *COMMON, "--out", "j", expect=0)
    folder = desk.folder / "j"
    with file_size_limit((folder / "journal.jsonl").stat().st_size + 40), pytest.raises(JournalError):
        repeat_all(folder, read_run_states(folder))
    before = list(read_records(folder))
    desk.viva("suite", "--resume", "j", expect=0)
    assert list(read_records(folder)) == before


def test_a_suite_that_holds_more_runs_than_are_repeated_marks_them(desk: Desk) -> None:
    for name in ("one", "two"):
        desk.viva("run", name, *COMMON, "--out", "j", expect=0)
    desk.viva("suite", "--resume", "j", "--fresh", expect=0)  # it has only the case of the first command
    assert marks(desk) == {"one": ["scored"], "two": []}


def test_conversations_of_a_repetition_that_is_not_complete_pass_no_gate_when_they_are_judged_again(desk: Desk) -> None:
    desk.viva("suite", "one", "two", *COMMON, "--out", "j", expect=0)
    desk.viva("suite", "--resume", "j", "--fresh", "--max-runs", "1", expect=3)
    done = desk.viva("judge", "j", "--sandbox", "process", "--out", "k", "--fail-under", "1", expect=3)
    assert "1 run still to be repeated" in done.stderr


def test_a_run_in_hand_is_not_given_out_twice(desk: Desk) -> None:
    case = load_case(desk.folder / "one")
    header: Any = RunHeader(id="one-1", subject="one", agent=AGENT)
    planned = {"one-1": _Planned(header, case, 2)}
    waiting = RunState(1, outcome=Outcome.SCORED, again=True)
    assert _job_again(planned, "one-1", waiting) is None
    ended = RunState(2, outcome=Outcome.TARGET_ERROR, again=True, requeued=("target_error",))
    job = _job_again(planned, "one-1", ended)
    assert job is not None
    assert (job.header.attempt, job.header.requeued) == (3, ("target_error",))
    assert _job_again(planned, "one-1", ended) is None
    assert _job_again(planned, "another", ended) is None
