"""A gate takes no part of a suite for all of it: what did not end, or did not begin, is missed by whoever asks."""

from __future__ import annotations

import html
import json

import pytest

from tests.viva.conftest import Desk
from viva.journal.reader import read_records
from viva.journal.writer import Journal, run_id
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.suites.at_work.status import State
from viva.viewer.watched import WatchedJournal

AGENT = "agent.py:Agent"
COMMON = ("--sandbox", "process", "--judge", "code")


@pytest.fixture
def desk(desk: Desk) -> Desk:
    """Three cases, which the agent passes."""
    for name in ("one", "two", "three"):
        desk.case(name, tags=[name])
    desk.agent("async def get_reply_from_agent(self, message): return 'Hi.'")
    return desk


def begin(desk: Desk, out: str, *words: str, expect: int) -> None:
    desk.viva("suite", "one", "two", "three", "--agent", AGENT, *COMMON, "--out", out, *words, expect=expect)


def cut_off(desk: Desk, out: str, case: str) -> None:
    """Have a run begin that never ends."""
    with Journal(desk.folder / out) as journal:
        journal.append("setting", run_id(case, AGENT), 1, Setting(case=case, agent=AGENT))


def test_no_gate_of_a_report_passes_over_runs_that_did_not_end_or_begin(desk: Desk) -> None:
    begin(desk, "j", "--max-runs", "1", expect=3)
    cut_off(desk, "j", "two")
    for gate in (("--fail-under", "0.9"), ("--fail-under", "scoring_points=0.9")):
        done = desk.viva("report", "j", *gate, "--format", "junit", expect=3)
        words = "some runs could not be completed: 1 run did not end, 1 planned run did not begin"
        assert done.stderr.splitlines()[-1] == words
    desk.viva("report", "j", expect=0)
    desk.viva("suite", "--resume", "j", expect=0)
    desk.viva("report", "j", "--fail-under", "0.9", expect=0)


def test_a_score_below_the_gate_is_told_first(desk: Desk) -> None:
    desk.agent("async def get_reply_from_agent(self, message): raise RuntimeError('no')")
    begin(desk, "j", "--max-runs", "1", expect=3)
    done = desk.viva("report", "j", "--fail-under", "0.9", expect=1)
    assert "below 0.9; some runs could not be completed: 2 planned runs did not begin" in done.stderr


def test_the_gate_on_the_examiner_misses_them_too(desk: Desk) -> None:
    begin(desk, "j", "--max-runs", "2", expect=3)
    done = desk.viva("report", "j", "--max-examiner-faults", "1", expect=3)
    assert "1 planned run did not begin" in done.stderr


def test_what_filters_leave_out_is_not_missed(desk: Desk) -> None:
    begin(desk, "j", "--max-runs", "1", expect=3)
    cut_off(desk, "j", "two")
    cut_off(desk, "j", "three")
    desk.viva("report", "j", "--where", "case=one", "--fail-under", "0.9", expect=0)
    done = desk.viva("report", "j", "--where", "case=one or case=two", "--fail-under", "0.9", expect=3)
    assert "1 run did not end" in done.stderr


def test_a_run_that_did_not_end_has_the_tags_of_its_case(desk: Desk) -> None:
    begin(desk, "j", expect=0)
    journal = desk.folder / "j" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    name = run_id("two", AGENT).encode()
    kept = [line for line in lines if name not in line[:120] or b'"event":"run"' not in line]
    assert len(kept) == len(lines) - 1
    journal.write_bytes(b"".join(kept))
    desk.viva("report", "j", "--where", "tag=one", "--fail-under", "0", expect=0)
    done = desk.viva("report", "j", "--where", "tag=one or tag=two", "--fail-under", "0", expect=3)
    assert "1 run did not end" in done.stderr


def test_runs_that_did_not_begin_may_be_what_the_filters_keep(desk: Desk) -> None:
    begin(desk, "j", "--max-runs", "1", expect=3)
    done = desk.viva("report", "j", "--where", "case=one", "--fail-under", "0.9", expect=3)
    assert "2 planned runs did not begin, some of which the filters may keep" in done.stderr


def test_a_part_that_filters_chose_before_it_began_is_whole(desk: Desk) -> None:
    begin(desk, "j", "--where", "case=one", expect=0)
    desk.viva("report", "j", "--fail-under", "0.9", expect=0)


def test_of_several_journals_the_one_that_is_not_complete_is_named(desk: Desk) -> None:
    begin(desk, "whole", expect=0)
    begin(desk, "part", "--max-runs", "2", expect=3)
    done = desk.viva("report", "whole", "part", "--fail-under", "0.9", expect=3)
    assert done.stderr.splitlines()[-1] == "some runs could not be completed: part: 1 planned run did not begin"
    desk.viva("report", "whole", "--fail-under", "0.9", expect=0)


def test_a_run_that_is_to_be_repeated_is_missed(desk: Desk) -> None:
    begin(desk, "whole", expect=0)
    desk.agent("async def get_reply_from_agent(self, message): raise RuntimeError('no')")
    begin(desk, "j", expect=0)
    desk.viva("requeue", "j", "--outcome", "target_error", "--run", run_id("one", AGENT), expect=0)
    done = desk.viva("report", "j", "--fail-under", "0", expect=3)
    assert "1 run still to be repeated" in done.stderr


def test_named_runs_are_called_a_part_and_only_they_are_missed(desk: Desk) -> None:
    begin(desk, "j", "--max-runs", "2", expect=3)
    cut_off(desk, "j", "three")
    done = desk.viva("report", f"j#{run_id('one', AGENT)}", f"j#{run_id('two', AGENT)}", "--fail-under", "1", expect=0)
    assert "named one by one: 2 of 3 runs of j; the other 1 are in no figure" in done.stdout
    for kind in ("json", "markdown", "junit"):
        shown = desk.viva("report", f"j#{run_id('one', AGENT)}", "--format", kind, expect=0).stdout
        assert "named one by one: 1 of 3 runs of j" in html.unescape(shown)
    desk.viva("report", f"j#{run_id('three', AGENT)}", "--fail-under", "0", expect=3)
    desk.viva("run", "one", "--agent", AGENT, *COMMON, "--out", "single", expect=0)
    whole = desk.viva("report", f"single#{run_id('one', AGENT)}", "--fail-under", "1", expect=0)
    assert "named one by one" not in whole.stdout + whole.stderr


def test_judging_a_part_of_a_suite_passes_no_gate_then_or_later(desk: Desk) -> None:
    begin(desk, "j", "--max-runs", "2", expect=3)
    desk.viva("judge", "j", "--sandbox", "process", "--out", "ungated", expect=0)
    done = desk.viva("judge", "j", "--sandbox", "process", "--out", "k", "--fail-under", "0.9", expect=3)
    assert "some runs are missing: 1 planned run did not begin" in done.stderr
    for journal in ("ungated", "k"):
        assert "1 planned run did not begin" in desk.viva("report", journal, "--fail-under", "0.9", expect=3).stderr
    desk.viva("judge", "k", "--sandbox", "process", "--out", "l", expect=0)
    assert "1 planned run did not begin" in desk.viva("report", "l", "--fail-under", "0.9", expect=3).stderr
    named = desk.viva("judge", f"j#{run_id('one', AGENT)}", "--sandbox", "process", "--out", "m", expect=0)
    assert "note: named one by one: 1 of 2 runs of " in named.stderr
    report = desk.viva("report", "m", "--fail-under", "0.9", "--format", "json", expect=0)
    assert "named one by one: 1 of 2 runs of " in json.loads(report.stdout)["notes"][0]


def test_no_gate_on_flips_passes_over_a_part_of_a_suite(desk: Desk) -> None:
    begin(desk, "j", "--max-runs", "2", expect=3)
    words = ("--sandbox", "process", "--baseline-judging", "j")
    for number, limit in enumerate(("0", "2%", "chance")):
        done = desk.viva("judge", "j", *words, "--max-flips", limit, "--out", f"k{number}", expect=3)
        assert done.stderr.splitlines()[-1] == "some runs are missing: 1 planned run did not begin"
    desk.viva("judge", "j", *words, "--out", "ungated", expect=0)
    named = f"j#{run_id('one', AGENT)}"
    desk.viva("judge", named, *words, "--max-flips", "0", "--out", "named", expect=0)


def test_conversations_that_were_not_judged_are_missed_by_later_gates(desk: Desk) -> None:
    begin(desk, "j", "--max-runs", "2", expect=3)
    cut_off(desk, "j", "three")
    desk.viva("judge", "j", "--sandbox", "process", "--out", "k", expect=3)
    done = desk.viva("report", "k", "--fail-under", "0.9", expect=3)
    assert "1 conversation did not end" in done.stderr


def test_a_judging_that_was_cut_off_is_not_complete(desk: Desk) -> None:
    begin(desk, "j", expect=0)
    desk.viva("judge", "j", "--sandbox", "process", "--out", "k", expect=0)
    desk.viva("report", "k", "--fail-under", "0.9", expect=0)
    journal = desk.folder / "k" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line for line in lines if run_id("three", AGENT).encode() not in line[:120]))
    assert "1 planned run did not begin" in desk.viva("report", "k", "--fail-under", "0.9", expect=3).stderr


def began_with_two(desk: Desk) -> None:
    """Begin a suite of a folder with two cases, of which one is run, and add a case that comes between them."""
    (desk.folder / "cases").mkdir()
    for name in ("a", "b"):
        desk.case(f"cases/{name}")
    desk.viva("suite", "cases", "--agent", AGENT, *COMMON, "--max-runs", "1", "--out", "j", expect=3)
    desk.case("cases/aa")


def subjects(desk: Desk, journal: str) -> list[str]:
    return sorted(record.subject for record in read_records(desk.folder / journal))


def test_a_resumed_suite_keeps_its_cases_and_names_those_that_were_added(desk: Desk) -> None:
    began_with_two(desk)
    done = desk.viva("suite", "--resume", "j", "--max-runs", "2", "--fail-under", "1", "--quiet", expect=0)
    assert "not run: 1 case added since the suite started. A resumed suite keeps its cases" in done.stderr
    assert "start a new suite to run it: aa" in done.stderr
    assert subjects(desk, "j") == ["a", "b"]
    desk.viva("report", "j", "--fail-under", "1", expect=0)
    assert json.loads(desk.viva("status", "j", "--json", expect=0).stdout)["state"] == "ended"


def test_an_adaptive_suite_keeps_its_cases_too(desk: Desk) -> None:
    (desk.folder / "cases").mkdir()
    for name in ("a", "b"):
        desk.case(f"cases/{name}")
    started = desk.viva(
        "suite", "cases", "--agent", AGENT, *COMMON, "--until", "gate=0.5", "--max-runs", "4", "--out", "j"
    )
    assert started.returncode in (0, 3), started.stderr
    desk.case("cases/aa")
    desk.viva("suite", "--resume", "j", "--max-runs", "12", "--quiet")
    assert set(subjects(desk, "j")) == {"a", "b"}


def test_other_runs_in_a_journal_do_not_make_up_for_those_that_never_began(desk: Desk) -> None:
    begin(desk, "j", "--max-runs", "1", expect=3)
    with Journal(desk.folder / "j") as journal:  # as a resumed suite with more cases wrote them
        for name in ("easy", "easier"):
            run = run_id(name, AGENT)
            journal.append("run", run, 1, RunRecord(run, name, AGENT, Outcome.SCORED, 1.0, low=1.0, high=1.0))
    words = "2 planned runs did not begin"
    assert words in desk.viva("report", "j", "--fail-under", "1", expect=3).stderr
    status = json.loads(desk.viva("status", "j", "--json", expect=0).stdout)
    assert (status["state"], status["planned"], status["ended"]) == ("stopped", 5, 3)
    viewed = WatchedJournal(desk.folder / "j")
    viewed.follow()
    assert viewed.state() is State.STOPPED


def test_a_run_that_was_added_to_a_journal_does_not_make_up_for_its_first_one(desk: Desk) -> None:
    desk.viva("run", "one", "--agent", AGENT, *COMMON, "--out", "j", expect=0)
    (desk.folder / "j" / "journal.jsonl").write_bytes(b"")  # it was killed before it began
    desk.viva("run", "two", "--agent", AGENT, *COMMON, "--out", "j", expect=0)
    assert "1 planned run did not begin" in desk.viva("report", "j", "--fail-under", "1", expect=3).stderr
    desk.viva("suite", "--resume", "j", expect=0)
    desk.viva("report", "j", "--fail-under", "1", expect=0)


def test_runs_of_every_combination_are_known_by_their_ids(desk: Desk) -> None:
    words = ("--trials", "2", "--agent", AGENT, "--agent", "agent.py:Other", "--vary", "tone=dry,warm")
    desk.agent(
        "def __init__(self, task_description, tone=''): pass\ndef get_reply_from_agent(self, message): return 'Hi.'"
    )
    with (desk.folder / "agent.py").open("a") as file:
        file.write("\n\nclass Other(Agent):\n    pass\n")
    desk.viva("suite", "one", "two", *words, *COMMON, "--out", "j", expect=0)
    desk.viva("report", "j", "--fail-under", "1", expect=0)
    desk.viva("suite", "one", "two", *words, *COMMON, "--out", "k", "--max-runs", "3", expect=3)
    assert "13 planned runs did not begin" in desk.viva("report", "k", "--fail-under", "1", expect=3).stderr


@pytest.mark.parametrize("damage", ["{", '{"command": "dance"}', None])
def test_no_gate_passes_if_what_was_planned_cannot_be_read(desk: Desk, damage: str | None) -> None:
    begin(desk, "j", "--max-runs", "2", expect=3)
    request = desk.folder / "j" / "request.json"
    request.unlink()
    if damage is None:
        request.mkdir()
    else:
        request.write_text(damage)
    words = "what was planned is not known, because "
    for gate in (("--fail-under", "0.9"), ("--max-examiner-faults", "1")):
        done = desk.viva("report", "j", *gate, expect=3)
        assert f"some runs could not be completed: {words}" in done.stderr
        assert "j/request.json cannot be read" in done.stderr
    assert words in desk.viva("report", "j", expect=0).stdout
    assert words in desk.viva("status", "j", expect=0).stdout
    done = desk.viva("judge", "j", "--sandbox", "process", "--out", "k", "--fail-under", "0.9", expect=3)
    assert f"some runs are missing: {words}" in done.stderr
    assert words in desk.viva("report", "k", "--fail-under", "0.9", expect=3).stderr
    begin(desk, "whole", expect=0)
    assert words in desk.viva("compare", "whole", "j").stdout
    desk.viva("report", f"j#{run_id('one', AGENT)}", "--fail-under", "0.9", expect=0)  # a run that was named is there


def test_a_replay_that_is_resumed_misses_nothing_that_its_journal_has_now(desk: Desk) -> None:
    begin(desk, "j", expect=0)
    request = desk.folder / "j" / "request.json"
    whole = request.read_bytes()
    request.write_text("{")
    desk.viva("replay", "j", "--against", AGENT, *COMMON, "--out", "k", expect=0)
    gated = ("report", "k", "--fail-under", "0.9")
    assert "what was planned is not known" in desk.viva(*gated, expect=3).stderr
    desk.viva("replay", "--resume", "k", expect=0)
    desk.viva(*gated, expect=3)
    request.write_bytes(whole)
    desk.viva(*gated, expect=3)  # it was not resumed yet
    desk.viva("replay", "--resume", "k", expect=0)
    desk.viva(*gated, expect=0)
