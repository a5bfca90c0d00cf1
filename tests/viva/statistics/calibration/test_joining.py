"""A label is about a conversation, not about the id of a run, which is the same in every suite."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from viva.journal.reader import StoredRun
from viva.judge.calibration.conversations import conversation_digest
from viva.judge.calibration.label_files import HumanLabel
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Round, Step, StopReason, Transcript, Usage
from viva.records.verdict import Insight, Verdict
from viva.statistics.calibration.joining import LabelJoin, is_sound_time, with_conversations

STEP = Step("r1s1", tool="search", tool_input={"b": 1, "a": [2]}, result="55")
ROUND = Round(1, "What is it?", "It is 55.", (STEP,), agent_seconds=1.0)
OTHER = Transcript((replace(ROUND, agent="It is 54."),))
TALK = Transcript((ROUND,))
BEGUN = 1_700_000_000.0
"""2023-11-14."""


def stored(transcript: Transcript = TALK, name: str = "sum-1", statement: str = "It says 55.") -> StoredRun:
    verdict = Verdict(name, "p", "hit", 1.0, statement=statement)
    insight = Insight("scoring_points", name, "hit", 1.0, verdicts=(verdict,))
    record = RunRecord(name, "sum", "a", Outcome.SCORED, 1.0, timing=Timing(BEGUN), insights=(insight,))
    return StoredRun(Path("j"), name, 1, Setting(), transcript, True, (insight,), record)


def label(conversation: str = "", **changed: str) -> HumanLabel:
    return replace(HumanLabel("ann", "sum-1", "p", "hit", conversation=conversation), **changed)


HERE, ELSEWHERE = conversation_digest(TALK), conversation_digest(OTHER)


def test_a_digest_is_of_what_was_said_and_done_and_of_nothing_else() -> None:
    again = replace(
        ROUND,
        agent_seconds=9.0,
        started=3.0,
        usage=Usage(5),
        steps=(replace(STEP, seconds=4.0, tool_input={"a": [2], "b": 1}),),
    )
    assert conversation_digest(Transcript((again,), stop=StopReason.FINISHED)) == HERE
    changed = [
        replace(ROUND, agent="It is 56."),
        replace(ROUND, examiner="What?"),
        replace(ROUND, error="no reply"),
        replace(ROUND, steps=()),
        *(
            replace(ROUND, steps=(replace(STEP, **{name: "x"}),))
            for name in ("tool", "tool_input", "result", "thought", "plan")
        ),
        *(replace(ROUND, steps=(replace(STEP, **{name: "x"}),)) for name in ("observation", "error", "agent")),
    ]
    found = {conversation_digest(Transcript((each,))) for each in changed}
    assert len(found | {HERE}) == len(changed) + 1
    assert conversation_digest(Transcript((ROUND, replace(ROUND, number=2)))) != HERE


def test_labels_of_another_conversation_with_the_same_run_id_are_not_used_and_counted() -> None:
    join = LabelJoin([label(ELSEWHERE), label(HERE, rater="bob"), label(HERE, run="sum-2")])
    assert [each.rater for each in join.labels_of(stored())] == ["bob"]
    assert [*join.notes()] == [
        "1 label is about another conversation with the same run id: not used",
        "1 label of runs that are not here: not used",
    ]


def test_a_label_that_is_about_one_of_two_conversations_with_one_id_is_used_for_it_alone() -> None:
    join = LabelJoin([label(HERE), label(ELSEWHERE, label="miss")])
    assert [each.label for each in join.labels_of(stored())] == ["hit"]
    assert [each.label for each in join.labels_of(stored(OTHER))] == ["miss"]
    assert [*join.notes()] == []


def test_a_label_of_a_point_in_other_words_is_not_used() -> None:
    join = LabelJoin([label(HERE, statement="It says 54."), label(HERE, statement="It says 55.", rater="bob")])
    assert [each.rater for each in join.labels_of(stored())] == ["bob"]
    assert [*join.notes()] == ["1 label of a point in other words: not used"]


@pytest.mark.parametrize(
    ("at", "used"), [("1970-01-01T00:00:00Z", False), ("2026-11-22T23:30:00Z", True), ("", True), ("soon", True)]
)
def test_a_label_without_a_digest_is_joined_by_time(at: str, used: bool) -> None:
    join = LabelJoin([label(at=at)])
    (note,) = [join.labels_of(stored()), *join.notes()][1:]
    assert ("joined by run id and time" in note) is used
    assert ("about another conversation" in note) is not used


def test_a_label_with_a_digest_comes_before_one_without_of_the_same_rater() -> None:
    for given in ([label(), label(HERE, label="miss")], [label(HERE, label="miss"), label()]):
        (found,) = LabelJoin(given).labels_of(stored())
        assert (found.label, found.conversation) == ("miss", HERE)


@pytest.mark.parametrize("at", ["", "soon", "0001-01-01T00:00:00+23:59", "2999-01-01", "1970-01-01T00:00:00Z"])
def test_a_time_that_no_clock_had_is_not_sound(at: str) -> None:
    assert not is_sound_time(at)
    assert is_sound_time("2026-11-22T23:30:00Z")


def test_without_a_journal_a_label_is_about_the_only_conversation_that_others_name() -> None:
    both = with_conversations([label(rater="bob"), label(HERE)])
    assert {each.conversation for each in both} == {HERE}
    three = with_conversations([label(rater="bob"), label(HERE), label(ELSEWHERE)])
    assert three[0].conversation == ""
