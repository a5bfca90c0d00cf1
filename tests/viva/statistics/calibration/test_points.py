"""What each judge said about a point: the code, a model beside it, and the majority of several votes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from viva.journal.reader import StoredRun
from viva.records.run_record import Setting
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Verdict, Vote, error_insight
from viva.statistics.calibration.points import judged_points, unjudged_points

SETTING = Setting(case="sum", judge="both", judge_model="m", judge_votes=3)


def said(verdict: Verdict, setting: Setting) -> dict[str, tuple[str, str, int]]:
    insight = Insight("scoring_points", "r", "hit", 1.0, verdicts=(verdict,))
    stored = StoredRun(Path("j"), "r", 1, setting, Transcript(), True, (insight,), None)
    return {each.judge.name: (each.label, each.reason, each.judge.votes) for each in judged_points(stored)}


@pytest.mark.parametrize(
    ("votes", "label", "reason"),
    [
        (("hit", "miss", "hit"), "hit", "1"),
        (("miss", "hit", "hit"), "hit", "2"),
        (("hit", "miss", "unsure"), "unsure", "3"),
        (("hit", "error", "error"), "error", "2"),
        (("hit", "hit"), "hit", "1"),
    ],
)
def test_votes_beside_the_code_count_by_their_majority_also_where_they_differ(
    votes: tuple[str, ...], label: str, reason: str
) -> None:
    cast = tuple(Vote("m", each, str(number)) for number, each in enumerate(votes, 1))
    verdict = Verdict("r", "p", "hit", 1.0, by="code", reason="checked", votes=(Vote("code", "hit", "checked"), *cast))
    assert said(verdict, SETTING) == {"code": ("hit", "checked", 1), "m": (label, reason, 3)}


def test_a_single_vote_of_an_older_journal_is_that_of_its_model() -> None:
    verdict = Verdict("r", "p", "hit", 1.0, by="code", votes=(Vote("m", "miss", "no"),))
    assert said(verdict, replace(SETTING, judge_votes=1))["m"] == ("miss", "no", 1)


@pytest.mark.parametrize(
    ("setting", "judge"),
    [(SETTING, "m"), (replace(SETTING, judge="code"), "m"), (replace(SETTING, judge_model=None), "code")],
)
def test_a_judge_that_failed_for_a_whole_run_gave_no_verdict_on_each_labelled_point(
    setting: Setting, judge: str
) -> None:
    failed = error_insight("scoring_points", "r", "it took too long")
    stored = StoredRun(Path("j"), "r", 1, setting, Transcript(), True, (failed,), None)
    found = list(unjudged_points(stored, {"p": "It is good.", "q": "It is kind."}, None))
    assert [(each.judge.name, each.criterion, each.label) for each in found] == [
        (judge, "p", "error"),
        (judge, "q", "error"),
    ]
    assert {each.reason for each in found} == {"it took too long"}


@pytest.mark.parametrize(
    "insights",
    [
        (),
        (Insight("scoring_points", "r", "error", None, verdicts=(Verdict("r", "p", "error", None),)),),
        (Insight("scoring_points", "r", "no-reply", 0.0),),
        (Insight("scoring_points", "r", "skipped", None, verdicts=(Verdict("r", "scoring_points", "skipped", None),)),),
    ],
)
def test_points_that_were_judged_or_that_nobody_was_asked_about_are_not_missing(insights: tuple[Insight, ...]) -> None:
    stored = StoredRun(Path("j"), "r", 1, SETTING, Transcript(), True, insights, None)
    assert not list(unjudged_points(stored, {"p": "It is good."}, None))
