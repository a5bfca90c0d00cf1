"""`viva.judge` and `viva.read_journal`: what is judged again, by whom, into which journal."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import viva
from tests.viva.api.conftest import CaseMaker, Length, Parrot
from viva.journal.writer import Journal
from viva.suites.request import JournalsRequest
from viva.suites.resuming.stored_request import load_request


def test_a_journal_is_judged_by_an_object(write_case: CaseMaker) -> None:
    suite = viva.run_suite(write_case(), Parrot, trials=2, sandbox="process")
    judged = viva.judge(suite, evaluators=Length(6))
    assert (judged.ended, judged.left_out, judged.figures.suite.mean) == (2, 0, 0.5)
    assert judged.folder != suite.folder
    assert {run.setting.evaluators for run in judged.runs()} == {("length",)}
    assert [run.transcript for run in judged.runs()] == [run.transcript for run in suite.runs()]


async def test_one_run_is_judged_in_async_code(write_case: CaseMaker) -> None:
    suite = await viva.run_suite_async(write_case(), Parrot, trials=2, sandbox="process")
    run = next(viva.read_journal(suite.folder))
    for place in (run, f"{suite.folder}#{run.id}", [run]):
        judged = await viva.judge_async(place, sandbox="process")
        assert [each.id for each in judged.runs()] == [run.id]
        assert judged.figures.suite.mean == 1.0


def test_a_changed_case_judges_and_is_kept(write_case: CaseMaker) -> None:
    case = viva.load_case(write_case())
    run = viva.examine(case, Parrot, sandbox="process")
    point = viva.ScoringPoint("new", "It says good night.", 1.0, 'assert "night" in rounds[-1]["agent"]')
    judged = viva.judge(run, case=dataclasses.replace(case, scoring_points=(point,)), sandbox="process")
    (again,) = judged.runs()
    assert again.score == 0.0
    assert again.setting.case_hash != case.hash
    assert viva.judge(judged, sandbox="process").figures.suite.mean == 0.0


def test_a_judging_goes_on_and_is_not_mixed_with_another(write_case: CaseMaker) -> None:
    run = viva.examine(write_case(), Parrot, sandbox="process")
    assert viva.judge(run, evaluators=Length, out="out", resume=True).ended == 1
    assert viva.judge(run, evaluators=Length, out="out", resume=True).ended == 0
    with pytest.raises(viva.SetupError, match="it differs in options"):
        viva.judge(run, evaluators=Length(3), out="out", resume=True)
    with pytest.raises(viva.SetupError, match="already holds a journal"):
        viva.judge(run, evaluators=Length, out="out")


def test_a_conversation_that_did_not_end_is_left_out(write_case: CaseMaker) -> None:
    run = viva.examine(write_case(), Parrot, sandbox="process", out="out")
    with Journal(run.folder) as journal:
        journal.append("setting", "other", 1, run.setting)
        journal.append("round", "other", 1, viva.Round(1, "Hello?"))
    judged = viva.judge("out", sandbox="process")
    assert (judged.ended, judged.left_out, judged.reason) == (1, 1, "1 conversation did not end")
    unfinished = [each for each in viva.read_journal("out") if each.record is None]
    assert [(each.id, each.score, each.outcome) for each in unfinished] == [("other", None, None)]


def without_round(journal: Path, run: str) -> None:
    """Remove the first round of a run from a journal, as if its line had been lost."""
    file = journal / "journal.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    kept = [each for each in lines if run.encode() not in each[:120] or b'"data":{"number":1,' not in each]
    assert len(kept) == len(lines) - 1
    file.write_bytes(b"".join(kept))


def test_a_conversation_with_missing_rounds_is_left_out(write_case: CaseMaker) -> None:
    suite = viva.run_suite(write_case(), Parrot, trials=2, sandbox="process", out="out")
    without_round(suite.folder, next(suite.runs()).id)
    judged = viva.judge("out", sandbox="process")
    assert (judged.ended, judged.left_out, judged.reason) == (1, 1, "1 conversation had missing rounds")
    with Journal(suite.folder) as journal:
        journal.append("setting", "other", 1, viva.Setting(case="exam", agent="other"))
    both = viva.judge("out", sandbox="process")
    assert both.left_out == 2
    assert both.reason == "1 conversation did not end, 1 conversation had missing rounds"
    # Later gates on the new journal say the same.
    request = load_request(both.folder)
    assert isinstance(request, JournalsRequest)
    assert request.incomplete == both.reason


def test_options_that_judging_has_no_use_for_are_refused(write_case: CaseMaker) -> None:
    run = viva.examine(write_case(), Parrot, sandbox="process")
    with pytest.raises(viva.SetupError, match=r"viva\.judge\(\) has no option 'max_rounds'"):
        viva.judge(run, max_rounds=3)
    with pytest.raises(viva.SetupError, match="Did you mean 'judge_model'"):
        viva.judge(run, judge_modl="openai:m")


def test_a_journal_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    for call in (viva.read_journal, viva.judge):
        with pytest.raises(viva.JournalError):
            call(tmp_path / "none")
    with pytest.raises(viva.SetupError, match="name a journal"):
        viva.judge([])
