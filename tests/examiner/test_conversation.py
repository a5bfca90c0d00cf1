"""The conversation: who speaks when, where it ends, whose fault that is, and that each round is handed out in time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields
from typing import Any

import pytest

from viva.cases import ScriptLine
from viva.errors import AgentError, AgentTimeout, ModelError
from viva.examiner import ConversationLimits, ExaminerError, ReplayedExaminer, ScriptedExaminer, converse
from viva.examiner.model import ModelExaminer
from viva.examiner.role import Role
from viva.records.transcript import NO_USAGE, Reply, Round, Step, StopReason, Transcript, Usage


class Says:
    """An examiner that says what it is given, then ends the exam; an exception in the list is raised."""

    name = "says"
    usage = NO_USAGE

    def __init__(self, *messages: str | Exception | None, may_repeat: bool = False) -> None:
        self.messages = list(messages)
        self.heard: list[str | None] = []
        self.may_repeat = may_repeat

    async def next_message(self, reply: str | None) -> str | None:
        self.heard.append(reply)
        message = self.messages.pop(0) if self.messages else None
        if isinstance(message, Exception):
            raise message
        return message


class Answers:
    """An agent that answers by a function of the message."""

    def __init__(self, answer: Callable[[str], Any] = str.upper) -> None:
        self.answer = answer
        self.heard: list[str] = []
        self.seconds: list[float] = []

    async def reply(self, message: str, seconds: float) -> Reply:
        self.heard.append(message)
        self.seconds.append(seconds)
        answer = self.answer(message)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Reply) else Reply(answer)


async def conversation(examiner: Any, agent: Any | None = None, **limits: Any) -> Transcript:
    return await converse(examiner, agent or Answers(), ConversationLimits(**limits))


def into(rounds: list[Round]) -> Callable[[Round], Awaitable[None]]:
    """Keeps the rounds that are handed out."""

    async def keep(round_: Round) -> None:
        rounds.append(round_)

    return keep


def said(transcript: Transcript) -> list[tuple[str | None, str | None]]:
    return [(round_.examiner, round_.agent) for round_ in transcript.rounds]


async def test_examiner_and_agent_take_turns_until_the_examiner_stops() -> None:
    examiner = Says("one", "two")
    transcript = await conversation(examiner)
    assert said(transcript) == [("one", "ONE"), ("two", "TWO")]
    assert [round_.number for round_ in transcript.rounds] == [1, 2]
    assert examiner.heard == [None, "ONE", "TWO"]
    assert (transcript.stop, transcript.fault) == (StopReason.FINISHED, None)
    assert transcript.kick_off


async def test_each_round_is_handed_out_before_the_next_begins() -> None:
    events: list[str] = []

    class Notes(Says):
        async def next_message(self, reply: str | None) -> str | None:
            events.append("ask")
            return await super().next_message(reply)

    def answer(message: str) -> str:
        events.append(f"reply {message}")
        return message

    async def handed(round_: Round) -> None:
        events.append(f"round {round_.number}")

    await converse(Notes("1", "2"), Answers(answer), ConversationLimits(), handed)
    assert events == ["ask", "reply 1", "round 1", "ask", "reply 2", "round 2", "ask"]


async def test_a_round_keeps_steps_images_and_usage_of_the_reply() -> None:
    step = Step("1", tool="look")
    reply = Reply("ok", (step,), Usage(3, 4, calls=1), ("shot.png",))
    transcript = await conversation(Says("one", "two"), Answers(lambda _: reply))
    assert (transcript.rounds[0].steps, transcript.rounds[0].images) == ((step,), ("shot.png",))
    assert transcript.usage["target"].input_tokens == 6


# max_rounds


async def test_the_closing_stop_message_is_not_a_round() -> None:
    """Exactly max_rounds messages and then the stop keyword: finished, not cut off."""
    transcript = await conversation(Says("1", "2", "3"), max_rounds=3)
    assert (len(transcript.rounds), transcript.stop) == (3, StopReason.FINISHED)


async def test_at_max_rounds_the_last_reply_is_read_and_no_further_message_is_sent() -> None:
    agent = Answers()
    transcript = await conversation(Says("1", "2", "3", "4"), agent, max_rounds=2)
    assert agent.heard == ["1", "2"]
    assert transcript.rounds[-1].agent == "2"
    assert (transcript.stop, transcript.fault) == (StopReason.MAX_ROUNDS, None)


@pytest.mark.parametrize("late", [ExaminerError("stuck"), ModelError("gone"), "", "2"])
async def test_an_examiner_that_fails_after_the_last_round_spoils_nothing(late: Any) -> None:
    transcript = await conversation(Says("1", "2", late), max_rounds=2)
    assert (len(transcript.rounds), transcript.stop, transcript.fault) == (2, StopReason.MAX_ROUNDS, None)


# The examiner's mistakes


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "before its first question"),
        (["one", "one"], "repeated its last message in round 2"),
        ([""], "empty message in round 1"),
        (["one", " \n\t "], "empty message in round 2"),
        (["one", ExaminerError("in the middle of a sentence")], "middle of a sentence"),
    ],
)
async def test_an_examiner_that_breaks_a_rule_is_an_examiner_error(messages: Sequence[Any], words: str) -> None:
    agent = Answers()
    transcript = await conversation(Says(*messages), agent)
    assert (transcript.stop, transcript.fault) == (StopReason.EXAMINER_ERROR, "examiner")
    assert words in (transcript.stop_detail or "")
    assert agent.heard == [message for message in messages[:1] if isinstance(message, str) and message.strip()]


async def test_the_same_words_again_later_are_no_repetition() -> None:
    transcript = await conversation(Says("yes", "no", "yes"))
    assert transcript.stop is StopReason.FINISHED


async def test_a_script_may_repeat_itself() -> None:
    transcript = await conversation(Says("one", "one", may_repeat=True))
    assert (len(transcript.rounds), transcript.stop) == (2, StopReason.FINISHED)


async def test_a_provider_that_fails_is_nobodys_exam_and_keeps_the_rounds_so_far() -> None:
    transcript = await conversation(Says("one", ModelError("429 for ever")))
    assert (transcript.stop, transcript.fault) == (StopReason.EXAMINER_ERROR, "infra")
    assert transcript.stop_detail == "429 for ever"
    assert said(transcript) == [("one", "ONE")]


# The agent's failures


async def test_an_exception_of_the_agent_is_its_last_round_but_not_its_words() -> None:
    examiner = Says("one", "two", "three")
    transcript = await conversation(
        examiner, Answers(lambda m: AgentError("ValueError: boom") if m == "two" else "fine")
    )
    last = transcript.rounds[-1]
    assert (len(transcript.rounds), last.examiner) == (2, "two")
    assert last.agent is None
    assert last.error == "ValueError: boom"
    assert (transcript.stop, transcript.fault) == (StopReason.TARGET_ERROR, "target")
    assert examiner.messages == ["three"]


async def test_a_time_out_of_the_agent_is_its_last_round_but_not_its_words() -> None:
    transcript = await conversation(Says("one", "two"), Answers(lambda _: AgentTimeout("no reply within 3 s")))
    assert (transcript.stop, transcript.fault, len(transcript.rounds)) == (StopReason.TIMEOUT, "target", 1)
    assert (transcript.rounds[0].agent, transcript.rounds[0].error) == (None, "no reply within 3 s")


async def test_the_failed_round_is_handed_out_too() -> None:
    handed: list[Round] = []
    await converse(Says("one"), Answers(lambda _: AgentError("boom")), ConversationLimits(), into(handed))
    assert [round_.error for round_ in handed] == ["boom"]


# Time for the whole conversation


class Slow(Answers):
    async def reply(self, message: str, seconds: float) -> Reply:
        self.seconds.append(seconds)
        try:
            async with asyncio.timeout(seconds):
                await asyncio.sleep(60)
        except TimeoutError:
            raise AgentTimeout(f"no reply within {seconds:g} s") from None
        raise AssertionError


class SlowToAsk(Says):
    async def next_message(self, reply: str | None) -> str | None:
        await asyncio.sleep(60)
        return "late"


async def test_a_reply_may_take_no_longer_than_the_conversation_has_left() -> None:
    agent = Slow()
    transcript = await conversation(Says("one"), agent, reply_seconds=50, run_seconds=0.5)
    assert agent.seconds[0] <= 0.5
    assert (transcript.stop, transcript.fault, len(transcript.rounds)) == (StopReason.TIMEOUT, "target", 1)
    assert transcript.stop_detail == "the conversation reached its limit of 0.5 s"


async def test_time_that_the_examiner_took_is_not_held_against_the_agent() -> None:
    transcript = await conversation(SlowToAsk(), run_seconds=0.05)
    assert (transcript.stop, transcript.fault, transcript.rounds) == (StopReason.TIMEOUT, "infra", ())
    assert "spent by the examiner" in (transcript.stop_detail or "")


@pytest.mark.parametrize("run_seconds", [None, 600.0])
@pytest.mark.parametrize("said", [(), ("one",)])
async def test_an_examiner_with_a_time_limit_of_its_own_is_at_fault_if_it_gives_up(
    run_seconds: float | None, said: tuple[str, ...]
) -> None:
    """However long the agent took, as long as the conversation has time left."""

    class TakesItsTime(Answers):
        async def reply(self, message: str, seconds: float) -> Reply:
            await asyncio.sleep(0.05)
            return await super().reply(message, seconds)

    transcript = await conversation(Says(*said, TimeoutError()), TakesItsTime(), run_seconds=run_seconds)
    assert (transcript.stop, transcript.fault) == (StopReason.EXAMINER_ERROR, "infra")
    assert len(transcript.rounds) == len(said)
    assert "the examiner gave up after" in (transcript.stop_detail or "")


async def test_without_a_limit_for_the_conversation_only_the_reply_limit_holds() -> None:
    agent = Answers()
    await conversation(Says("one"), agent, reply_seconds=7)
    assert agent.seconds == [7]


async def test_a_cancelled_conversation_has_handed_out_its_rounds() -> None:
    handed: list[Round] = []
    hanging = asyncio.Event()

    class Hangs(Answers):
        async def reply(self, message: str, seconds: float) -> Reply:
            if message == "two":
                hanging.set()
                await asyncio.sleep(60)
            return Reply("ok")

    task = asyncio.create_task(converse(Says("one", "two"), Hangs(), ConversationLimits(), into(handed)))
    await hanging.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [round_.examiner for round_ in handed] == ["one"]


# Scripts and replays


async def test_a_script_counts_and_branches_on_what_the_agent_said() -> None:
    script = [
        ScriptLine("What is the weather?"),
        ScriptLine("In New York.", if_agent_says=r"which (city|place)"),
        ScriptLine("In Paris, I said.", if_agent_says=r"no such words"),
        ScriptLine("Add {k}.", 2, 4, "k"),
    ]
    asks_back = Answers(lambda m: "WHICH CITY?" if "weather" in m else "ok")
    await conversation(ScriptedExaminer(script), asks_back)
    assert asks_back.heard == ["What is the weather?", "In New York.", "Add 2.", "Add 3.", "Add 4."]
    answers = Answers(lambda _: "Sunny.")
    await conversation(ScriptedExaminer(script), answers)
    assert answers.heard == ["What is the weather?", "Add 2.", "Add 3.", "Add 4."]


async def test_a_script_that_has_nothing_to_say_is_an_examiner_error() -> None:
    transcript = await conversation(ScriptedExaminer([ScriptLine("x", if_agent_says="never")]))
    assert (transcript.stop, transcript.fault) == (StopReason.EXAMINER_ERROR, "examiner")


async def test_two_conversations_of_one_script_do_not_share_their_place() -> None:
    script = [ScriptLine("a"), ScriptLine("b")]
    first, second = Answers(), Answers()
    await asyncio.gather(conversation(ScriptedExaminer(script), first), conversation(ScriptedExaminer(script), second))
    assert first.heard == second.heard == ["a", "b"]


async def test_a_replay_asks_the_stored_questions_whatever_the_answers_are() -> None:
    stored = Transcript((Round(1, "one", "1"), Round(2, None, "spoke unasked"), Round(3, "one", "3"), Round(4, "two")))
    agent = Answers(lambda _: "different")
    transcript = await conversation(ReplayedExaminer(stored), agent)
    assert agent.heard == ["one", "one", "two"]
    assert (transcript.stop, transcript.participants["examiner"]) == (StopReason.FINISHED, "replay")


# What an examiner may know


@pytest.mark.parametrize("kind", [ModelExaminer, ScriptedExaminer, ReplayedExaminer])
def test_no_examiner_can_be_given_the_scoring_points(kind: type) -> None:
    """Whoever adds a parameter has to say here what it carries; a Case would carry the scoring points."""
    allowed = {"self", "model", "role", "script", "transcript"}
    parameters = inspect.signature(kind.__init__).parameters  # type: ignore[misc]
    assert set(parameters) <= allowed
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    annotations = " ".join(str(parameter.annotation) for parameter in parameters.values())
    assert "Case" not in annotations
    assert "Scoring" not in annotations


def test_a_role_has_no_part_for_what_the_examiner_must_not_know() -> None:
    """It is made from a case: whoever adds a field has to say here what it carries."""
    known = {"task_description", "user", "facts", "opening", "insist", "done_when", "adversary", "conversation"}
    assert {field.name for field in fields(Role)} == known
