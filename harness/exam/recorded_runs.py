"""Turns recorded conversations into run records, whose score is the reward that the recording holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from adapters.readers.chat import Conversation, RecordingError
from records.journal import run_id
from records.run_record import Outcome, RunRecord, Setting
from records.transcript import Usage
from records.verdict import Insight, Verdict

RECORDED = "recorded"


def to_records(conversations: Iterable[Conversation], agent: str = RECORDED) -> Iterator[RunRecord]:
    """`to_record` of each; those of one task that tell no trial are numbered as they come, from 1.

    Two of the same task, agent and trial would be one run in a journal, and only the later would be read back.

    Raises:
        RecordingError: a reward is not within 0 and 1, or a trial of a task comes twice.
    """
    taken: dict[str, set[int]] = {}
    for conversation in conversations:
        trials = taken.setdefault(conversation.task_id or conversation.place, set())
        trial = conversation.trial
        if trial is None:
            trial = next(number for number in itertools.count(len(trials) + 1) if number not in trials)
        if trial in trials:
            raise RecordingError(f"{conversation.place}: task {conversation.task_id} has a trial {trial} already")
        trials.add(trial)
        yield to_record(replace(conversation, trial=trial), agent)


def to_record(conversation: Conversation, agent: str = RECORDED) -> RunRecord:
    """A run whose score is the recorded reward; without one it is a `judge_error`, which no average takes in.

    Subject is the task's id (the place in the file where there is none), trial as recorded (else 1).

    Args:
        conversation: Read from a file.
        agent: Who was recorded.

    Raises:
        RecordingError: the reward is not within 0 and 1.
    """
    subject = conversation.task_id if conversation.task_id is not None else conversation.place
    trial = conversation.trial if conversation.trial is not None else 1
    name = run_id(subject, agent, trial)
    record = RunRecord(
        name,
        subject,
        agent,
        Outcome.JUDGE_ERROR,
        None,
        error="the recording holds no reward",
        trial=trial,
        rounds=len(conversation.transcript.rounds),
        # What it cost was not recorded, which is not the same as nothing.
        usage={"target": Usage(cost=None)},
        trace_id=conversation.transcript.trace_id,
        setting=Setting(case=subject, agent=agent, examiner=RECORDED, judge=RECORDED),
    )
    reward = conversation.reward
    if reward is None:
        return record
    if not 0 <= reward <= 1:
        raise RecordingError(f"{conversation.place}: the reward is {reward:g}; a score lies between 0 and 1")
    verdict = Verdict(name, "reward", RECORDED, reward, "the reward that the recording holds", by="recording")
    insight = Insight("reward", name, RECORDED, reward, reward, reward, verdicts=(verdict,))
    return replace(
        record,
        outcome=Outcome.SCORED,
        score=reward,
        low=reward,
        high=reward,
        points=reward,
        max_points=1.0,
        error=None,
        insights=(insight,),
    )
