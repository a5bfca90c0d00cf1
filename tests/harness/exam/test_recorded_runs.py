"""A recorded conversation becomes a run whose score is the reward that the recording holds, or is scored not at all."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.readers.chat import Conversation, RecordingError
from adapters.readers.chat_rounds import read_messages
from harness.exam.recorded_runs import to_record, to_records
from harness.statistics.summary import summarize
from records.run_record import Outcome
from tests.recordings import tau_conversations

TALK = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


def recorded(**around: Any) -> Conversation:
    return Conversation(read_messages(TALK), "talk.jsonl, line 4", **around)


def test_a_known_reward_is_a_scored_run() -> None:
    record = to_record(recorded(task_id="7", trial=2, reward=0.5), "gpt")
    assert (record.subject, record.agent, record.trial, record.outcome) == ("7", "gpt", 2, Outcome.SCORED)
    assert (record.score, record.low, record.high, record.rounds) == (0.5, 0.5, 0.5, 1)
    assert record.insights[0].verdicts[0].by == "recording"


def test_without_a_reward_nothing_is_scored_and_never_a_pass_by_default() -> None:
    record = to_record(recorded())
    assert (record.subject, record.outcome, record.score) == ("talk.jsonl, line 4", Outcome.JUDGE_ERROR, None)
    assert summarize([record]).suite.runs == 0


def test_recordings_of_one_task_never_become_one_run() -> None:
    several = [recorded(task_id="7", trial=trial) for trial in (2, None, None, 0)]
    records = list(to_records(several))
    assert [record.trial for record in records] == [2, 3, 4, 0]
    assert len({record.id for record in records}) == 4
    with pytest.raises(RecordingError, match="line 4: task 7 has a trial 2 already"):
        list(to_records([*several, several[0]]))


@pytest.mark.parametrize("reward", [-0.1, 1.5])
def test_a_reward_that_is_no_score_is_refused_with_its_place(reward: float) -> None:
    with pytest.raises(RecordingError, match="line 4: the reward is"):
        to_record(recorded(reward=reward))


def test_the_shared_conversations_give_the_known_pass_hat_k() -> None:
    figures = summarize(to_records(tau_conversations(), "gpt-4o"))
    assert (figures.suite.runs, figures.suite.cases) == (100, 25)
    assert all(cell.runs == 4 for cell in figures.cells)
    assert {k: round(value, 3) for k, value in figures.suite.pass_hat_k.items()} == {
        1: 0.31,
        2: 0.193,
        3: 0.17,
        4: 0.16,
    }
