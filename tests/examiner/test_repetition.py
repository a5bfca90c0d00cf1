"""A conversation that goes in circles: who repeated first decides whose fault that is, whoever examines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import ModelAt
from tests.examiner.test_conversation import Answers, Says, conversation, said
from tests.model_server import ModelServer, Request
from viva.cases import ScriptLine
from viva.examiner import ReplayedExaminer, ScriptedExaminer
from viva.examiner.model import ModelExaminer
from viva.records.transcript import Round, StopReason, Transcript

STUCK = "the agent repeated itself"


class Told(Says):
    """An examiner that can be told something, as the model can."""

    def __init__(self, *messages: str | None) -> None:
        super().__init__(*messages)
        self.notices: list[str] = []

    def tell(self, notice: str) -> None:
        self.notices.append(notice)


def by_turn(*replies: str) -> Callable[[str], str]:
    """An agent that gives these replies in order, and the last one ever after."""
    rest: Iterator[str] = iter(replies)
    return lambda _: next(rest, replies[-1])


@dataclass(frozen=True)
class Circle:
    """What examiner and agent would say, and what comes of it."""

    messages: tuple[str | None, ...]
    """The examiner's messages, those included that are not sent."""
    replies: tuple[str, ...]
    sent: tuple[str, ...]
    stop: StopReason = StopReason.FINISHED
    detail: str = ""
    notices: tuple[str, ...] = ()
    """Words of what the examiner is told."""


WHICH = "Which file?"
CIRCLES = {
    "the agent asks the same twice, and gets the same answer": Circle(
        ("Add up the file.", "sum.csv", "sum.csv", "Thanks."),
        (WHICH, WHICH, "It is 5.", "Bye."),
        ("Add up the file.", "sum.csv", "sum.csv", "Thanks."),
    ),
    "the agent asks a third time, and the examiner goes on": Circle(
        ("Add up the file.", "sum.csv", "sum.csv", "sum.csv", "Then list the folder."),
        (WHICH, WHICH, WHICH, "It is empty."),
        ("Add up the file.", "sum.csv", "sum.csv", "Then list the folder."),
        notices=("the same 2 times before", "got the same answer twice"),
    ),
    "the agent asks a third time, and the examiner stops": Circle(
        ("Add up the file.", "sum.csv", "sum.csv", "sum.csv", None),
        (WHICH,),
        ("Add up the file.", "sum.csv", "sum.csv"),
        notices=("the same 2 times before", "got the same answer twice"),
    ),
    "the agent asks without end, and the examiner answers without end": Circle(
        ("Add up the file.", *["sum.csv"] * 9),
        (WHICH,),
        ("Add up the file.", "sum.csv", "sum.csv"),
        detail=STUCK,
        notices=("the same 2 times before", "got the same answer twice"),
    ),
    "case and white space make no difference": Circle(
        ("Add up the file.", "sum.csv", " SUM.csv", "Sum.CSV\n", "sum.csv"),
        (WHICH, "which  file?", "WHICH FILE?\n"),
        ("Add up the file.", "sum.csv", " SUM.csv"),
        detail=STUCK,
        notices=("the same 2 times before", "got the same answer twice"),
    ),
    "the agent is silent": Circle(
        ("Add up the file.", "Please add it up.", "Please add it up.", "Please add it up.", "Please add it up."),
        ("",),
        ("Add up the file.", "Please add it up.", "Please add it up."),
        detail=STUCK,
        notices=("got the same answer twice",),
    ),
    "the agent refuses in the same words, and the examiner goes on": Circle(
        ("Step 1.", "Step 1, please.", "Step 2.", None),
        ("I cannot do that.",),
        ("Step 1.", "Step 1, please.", "Step 2."),
    ),
    "the same right reply to each step is no circle": Circle(
        (*[f"Add {number}." for number in range(9)], None),
        ("Done. Anything else?",),
        tuple(f"Add {number}." for number in range(9)),
        notices=("2 times", "5 times", "8 times"),
    ),
    "on and off is no circle": Circle(
        (*["Switch it on.", "Switch it off."] * 4, None),
        (*["It is on.", "It is off."] * 4,),
        (*["Switch it on.", "Switch it off."] * 4,),
    ),
    "the agent alternates between two questions, and the examiner stops once it is told": Circle(
        ("Add up.", "sum.csv", "amount", "sum.csv", "amount", None),
        (*[WHICH, "Which column?"] * 4,),
        ("Add up.", "sum.csv", "amount", "sum.csv", "amount"),
        notices=("the same 2 times before",),
    ),
    "on and off is no circle even where the agent asks what is next": Circle(
        (*["Switch it on.", "Switch it off."] * 3, None),
        (*["It is on. What next?", "It is off. What next?"] * 3,),
        (*["Switch it on.", "Switch it off."] * 3,),
        notices=("the same 2 times before", "the same 2 times before"),
    ),
    "a question in another script is a question": Circle(
        ("Add up.", "sum.csv", "amount", "sum.csv", "amount", None),
        (*["哪个文件\uff1f", "哪一列\uff1f"] * 4,),
        ("Add up.", "sum.csv", "amount", "sum.csv", "amount"),
        notices=("the same 2 times before",),
    ),
    "the examiner repeats itself, and finds other words": Circle(
        ("Add 1.", "Add 1.", "Add 2.", None),
        ("1", "3"),
        ("Add 1.", "Add 2."),
        notices=("it repeats the one before it",),
    ),
    "the examiner repeats itself, told or not": Circle(
        ("Add 1.", "add 1. ", "Add 1."),
        ("1", "3"),
        ("Add 1.",),
        StopReason.EXAMINER_ERROR,
        "the examiner repeated its last message",
        ("it repeats the one before it",),
    ),
    "the examiner repeats itself first, then both": Circle(
        ("Add 1.", "Add 1.", "Add 1."),
        ("1",),
        ("Add 1.",),
        StopReason.EXAMINER_ERROR,
        "the examiner repeated its last message",
        ("it repeats the one before it",),
    ),
    "a repetition in place of the closing message spoils nothing": Circle(
        ("Add 1.", "Add 2.", "Add 2."), ("1", "3"), ("Add 1.", "Add 2."), StopReason.MAX_ROUNDS
    ),
}


@pytest.mark.parametrize("name", CIRCLES)
async def test_who_repeated_first_decides(name: str) -> None:
    circle = CIRCLES[name]
    examiner = Told(*circle.messages)
    most = len(circle.sent) if circle.stop is StopReason.MAX_ROUNDS else 15
    transcript = await conversation(examiner, Answers(by_turn(*circle.replies)), max_rounds=most)
    assert tuple(message for message, _ in said(transcript)) == circle.sent
    assert transcript.stop is circle.stop
    assert circle.detail in (transcript.stop_detail or "")
    assert len(examiner.notices) == len(circle.notices)
    assert all(words in told for words, told in zip(circle.notices, examiner.notices, strict=True))
    assert transcript.failed is False, "the agent is scored for what it said"


@pytest.mark.parametrize("name", [name for name in CIRCLES if None not in CIRCLES[name].messages])
async def test_an_examiner_that_cannot_be_told_is_judged_by_its_first_words(name: str) -> None:
    circle = CIRCLES[name]
    transcript = await conversation(Says(*circle.messages, may_repeat=False), Answers(by_turn(*circle.replies)))
    blamed = transcript.stop is StopReason.EXAMINER_ERROR
    assert blamed is (name.startswith("the examiner") or "closing" in name)


QUESTIONS = ["Add up the file.", *["sum.csv"] * 5]


async def test_a_script_and_a_replay_send_what_they_hold_whatever_is_said_twice() -> None:
    script = ScriptedExaminer([ScriptLine(say=line) for line in QUESTIONS])
    stored = Transcript(rounds=tuple(Round(number, text) for number, text in enumerate(QUESTIONS, 1)))
    for examiner in (script, ReplayedExaminer(stored)):
        transcript = await conversation(examiner, Answers(by_turn(WHICH)))
        assert [message for message, _ in said(transcript)] == QUESTIONS
        assert (transcript.stop, transcript.stop_detail) == (StopReason.FINISHED, None)


async def test_the_model_is_told_what_the_rules_are_and_the_agent_is_scored(model_at: ModelAt) -> None:
    heard: list[str] = []

    def answers_without_end(request: Request) -> str:
        heard.append(request["messages"][-1]["content"])
        return "Add up the file." if len(heard) == 1 else "sum.csv"

    with ModelServer({"m": answers_without_end}) as server:
        examiner = ModelExaminer(model_at(server.url), "Have the file added up.")
        transcript = await conversation(examiner, Answers(by_turn(WHICH)))
    assert [message for message, _ in said(transcript)] == ["Add up the file.", "sum.csv", "sum.csv"]
    assert (transcript.stop, transcript.fault) == (StopReason.FINISHED, None)
    assert STUCK in (transcript.stop_detail or "")
    notices: list[Any] = [words.count("[notice ") for words in heard]
    assert notices == [0, 0, 0, 1, 1], "after the third question, and after the message that was not sent"
    assert all(words.startswith(WHICH) for words in heard[1:]), "the agent's words come first"
