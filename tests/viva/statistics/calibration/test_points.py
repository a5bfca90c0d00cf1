"""What each judge said about a point: the code, a model beside it, and the majority of several votes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from viva.journal.reader import StoredRun
from viva.records.run_record import Setting
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Verdict, Vote
from viva.statistics.calibration.points import judged_points

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
