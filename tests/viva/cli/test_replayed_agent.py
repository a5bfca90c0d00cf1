"""`--agent replay:JOURNAL`: a stored conversation is examined again by the real command."""

from __future__ import annotations

from tests.viva.conftest import Desk


def test_a_replayed_agent_scores_what_the_agent_scored(desk: Desk) -> None:
    before = desk.run("sum_1_to_50", "--agent", "example:forgetful")
    again = desk.run("sum_1_to_50", "--agent", "replay:journal", out="again")
    assert 0 < before["score"] < 1
    for name in ("score", "points", "rounds", "outcome"):
        assert again[name] == before[name]
    assert again["agent"] == "replay:journal"


def test_more_questions_than_stored_replies_break_the_exam_off_and_count_against_the_replay(desk: Desk) -> None:
    desk.run("echo")
    record = desk.run("sum_1_to_50", "--agent", "replay:journal", out="again")
    assert record["outcome"] == "target_error"
    assert "no reply after number" in record["error"]


def test_a_journal_of_several_runs_is_refused_with_their_ids(desk: Desk) -> None:
    desk.viva("suite", "echo", "--trials", "2", "--sandbox", "process", "--out", "journal", "--quiet", expect=0)
    done = desk.viva("run", "echo", "--agent", "replay:journal", expect=2)
    assert "journal holds several runs; name one: 'journal#echo" in done.stderr
