"""Runs the conversation between examiner and agent, and delivers each round before the next begins."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from viva.adapters.time_limits import running_time, time_limit
from viva.errors import AgentError, AgentTimeout, ModelError
from viva.examiner.examiner import AgentEndsExam, Examiner, ExaminerError, Instructed
from viva.examiner.repetition import (
    MOST_ANSWERS,
    SAME_ANSWER,
    SAME_MESSAGE,
    SAME_QUESTION,
    STUCK,
    Repetition,
    Repetitions,
)
from viva.records.copies import changed
from viva.records.fault import Fault
from viva.records.text import storable
from viva.records.transcript import NO_USAGE, Reply, Round, Step, StopReason, Transcript, Usage

DEFAULT_MAX_ROUNDS = 15
REPLY_SECONDS = 300.0
KICK_OFF = "I am ready. What can I do for you?"
"""The first message that the examiner sees, as if the agent had sent it."""

_OWN_SHARE = 0.25
"""The part of a conversation's time limit that is enough for one turn: who takes longer has no excuse."""
_NO_LIMIT = contextlib.nullcontext()
_NOTHING = Reply("")


class AgentUnderTest(Protocol):
    """The agent under test, as the conversation uses it; `viva.adapters.session.AgentSession` is one."""

    async def reply(self, message: str, seconds: float) -> Reply:
        """Return one reply, or raise AgentError, or AgentTimeout after `seconds`."""
        ...


@dataclass(frozen=True, slots=True)
class ConversationLimits:
    """Limits that end a conversation, whatever its examiner wants."""

    max_rounds: int = DEFAULT_MAX_ROUNDS
    """Maximum number of examiner messages; the reply to the last one and a closing stop message are still read."""
    reply_seconds: float = REPLY_SECONDS
    """Maximum wait for one reply, in seconds; a slower agent ends the conversation as `timeout`."""
    run_seconds: float | None = None
    """Maximum duration of the whole conversation, in seconds."""


@dataclass(slots=True)
class _ConversationState:
    """What has happened so far."""

    examiner: Examiner
    began: float
    rounds: list[Round] = field(default_factory=list)
    earlier: int = 0
    """How many of the rounds came before this conversation."""
    last_reply: str | None = None
    said: Repetitions = field(default_factory=Repetitions)
    longest_message: float = 0.0
    """The most seconds that the examiner took for one message."""
    longest_reply: float = 0.0
    """The most seconds that the agent took for one reply."""
    all_messages: float = 0.0
    """The seconds that the examiner took for all messages."""
    all_replies: float = 0.0
    """The seconds that the agent took for all replies."""

    def seconds_left(self, limits: ConversationLimits) -> float:
        """Return the seconds left for the whole conversation; infinite without a limit."""
        if limits.run_seconds is None:
            return math.inf
        return limits.run_seconds - (running_time() - self.began)

    def message_took(self, seconds: float) -> None:
        """Note how long the examiner took for one message."""
        self.longest_message = max(self.longest_message, seconds)
        self.all_messages += seconds

    def reply_took(self, seconds: float) -> None:
        """Note how long the agent took for one reply."""
        self.longest_reply = max(self.longest_reply, seconds)
        self.all_replies += seconds


async def converse(
    examiner: Examiner,
    agent: AgentUnderTest,
    limits: ConversationLimits,
    on_round: Callable[[Round], Awaitable[None]] | None = None,
    seen: Callable[[], Awaitable[tuple[Step, ...]]] | None = None,
    earlier: Sequence[Round] = (),
) -> Transcript:
    """Conduct one conversation.

    Args:
        examiner: Provides the messages.
        agent: Replies to them.
        limits: When to stop at the latest.
        on_round: Awaited with each round as soon as it is complete, before the next begins.
        seen: Returns the environment steps since its last call. They follow the agent's own steps of the round,
            also where the agent failed.
        earlier: The rounds that came before, if this continues a conversation.

    Returns:
        The transcript with its stop reason. Faults of examiner and agent are recorded in it, not raised.

    Raises:
        asyncio.CancelledError: the run was cancelled; the rounds so far have been delivered.
    """
    state = _ConversationState(examiner, running_time(), list(earlier), len(earlier))
    if earlier:
        state.last_reply = earlier[-1].agent
    while True:
        began, clock = time.monotonic(), running_time()
        before = examiner.usage
        limit: asyncio.Timeout | None = None
        try:
            left = state.seconds_left(limits)
            # Without a limit, which is the usual case, there is no overhead.
            async with _NO_LIMIT if left == math.inf else time_limit(max(0.0, left)) as limit:
                if not examiner.may_repeat:
                    _tell_of_same_question(state)
                message = _usable(await examiner.next_message(state.last_reply), state)
                if message is not None and not examiner.may_repeat and len(state.rounds) < limits.max_rounds:
                    message = await _not_repeated(state, message)
        except AgentEndsExam as ended:
            if len(state.rounds) >= limits.max_rounds:
                return _end(state, StopReason.MAX_ROUNDS)
            return _end(state, StopReason.FINISHED, str(ended))
        except (ExaminerError, ModelError, TimeoutError) as error:
            late = limit is not None and limit.expired()
            return _no_message(state, limits, error, running_time() - clock, late=late)
        if message is None:
            return _end(state, StopReason.FINISHED)
        if len(state.rounds) >= limits.max_rounds:
            return _end(state, StopReason.MAX_ROUNDS)
        took = time.monotonic() - began
        asked = running_time()
        state.message_took(asked - clock)
        left = state.seconds_left(limits)
        if left <= 0:
            return _out_of_time(state, limits, Fault.INFRA, asked - clock)
        spent = NO_USAGE if examiner.usage is before else examiner.usage - before
        round_, stop = await _round(state, agent, min(limits.reply_seconds, left), message, took, spent)
        waited = running_time() - asked
        state.reply_took(waited)
        if seen is not None and (steps := await seen()):
            round_ = changed(round_, steps=(*round_.steps, *steps))
        state.rounds.append(round_)
        state.last_reply = round_.agent
        if not examiner.may_repeat:
            state.said.add(message, round_.agent)
        if on_round is not None:
            await on_round(round_)
        # A reply that had all of its own time limit is late by that one, however little the conversation has left.
        if stop is StopReason.TIMEOUT and left < limits.reply_seconds and state.seconds_left(limits) <= 0:
            return _out_of_time(state, limits, Fault.TARGET, waited)
        if stop is not None:
            return _end(state, stop, round_.error, Fault.TARGET)


def _tell_of_same_question(state: _ConversationState) -> None:
    """Tell the examiner at intervals that the agent keeps asking the same question.

    It is not told each time, because "Done. Anything else?" may be the right reply to each of fifty requests.
    """
    times = state.said.times_asked
    if times and times % (MOST_ANSWERS + 1) == 0 and isinstance(state.examiner, Instructed):
        state.examiner.tell(SAME_QUESTION.format(times=times - 1))


async def _not_repeated(state: _ConversationState, message: str) -> str | None:
    """Return the examiner's message, or another one if it repeats itself: it is asked once more.

    Raises:
        ExaminerError: the other message breaks a rule of the exam, or repeats itself, too.
        AgentEndsExam: the agent repeats itself, and so does the examiner's answer.
    """
    examiner, said = state.examiner, state.said
    who = said.judge(message)
    if who is not Repetition.NONE and isinstance(examiner, Instructed):
        examiner.tell(SAME_ANSWER if who is Repetition.AGENT else SAME_MESSAGE)
        other = _usable(await examiner.next_message(state.last_reply), state)
        if other is None or said.judge(other) is Repetition.NONE:
            return other
    if who is Repetition.AGENT:
        raise AgentEndsExam(STUCK)
    if who is Repetition.EXAMINER:
        where = f"round {len(state.rounds) + 1}"
        raise ExaminerError(f"the examiner repeated its last message in {where}, although the agent's reply was new")
    return message


def _usable(message: str | None, state: _ConversationState) -> str | None:
    """Return the examiner's next message as it can be stored, or None at the end of the exam.

    Raises:
        ExaminerError: the message breaks a rule of the exam.
    """
    if message is None:
        if not state.rounds:
            raise ExaminerError("the examiner ended the exam before its first question")
        return None
    if not message.strip():
        raise ExaminerError(f"the examiner sent an empty message in round {len(state.rounds) + 1}")
    return storable(message)


async def _round(
    state: _ConversationState,
    agent: AgentUnderTest,
    seconds: float,
    message: str,
    examiner_seconds: float,
    examiner_usage: Usage,
) -> tuple[Round, StopReason | None]:
    number, started, began = len(state.rounds) + 1, time.time(), time.monotonic()
    stop, error, reply, known = None, None, None, _NOTHING
    try:
        reply = known = await agent.reply(message, seconds)
    except AgentError as raised:
        stop = StopReason.TIMEOUT if isinstance(raised, AgentTimeout) else StopReason.TARGET_ERROR
        error = str(raised)
        known = raised.so_far if isinstance(raised.so_far, Reply) else _NOTHING
    round_ = Round(
        number,
        message,
        # TaskWeaver makes the error the agent's last turn. Here it is none: a check would read it as the agent's words.
        # Nor are these what it had said so far.
        None if reply is None else reply.text,
        known.steps,
        images=() if reply is None else reply.images,
        error=error,
        usage=known.usage,
        examiner_usage=examiner_usage,
        started=started,
        examiner_seconds=examiner_seconds,
        agent_seconds=time.monotonic() - began,
    )
    return round_, stop


def _no_message(
    state: _ConversationState, limits: ConversationLimits, error: Exception, seconds: float, *, late: bool
) -> Transcript:
    """End a conversation for which the examiner has no further message.

    Args:
        state: What has happened so far.
        limits: The limits of the conversation.
        error: Why there is no message.
        seconds: How long the examiner took to fail.
        late: Whether the limit of the conversation cut it off.
    """
    if len(state.rounds) >= limits.max_rounds:
        # Only the closing stop message is missing: the exam is complete.
        return _end(state, StopReason.MAX_ROUNDS)
    if isinstance(error, TimeoutError):
        state.message_took(seconds)
        if late or state.seconds_left(limits) <= 0:
            return _out_of_time(state, limits, Fault.INFRA, seconds)
        # It was a time limit of the examiner's own.
        return _end(state, StopReason.EXAMINER_ERROR, f"the examiner gave up after {seconds:.2g} s", Fault.INFRA)
    fault = Fault.INFRA if isinstance(error, ModelError) else Fault.EXAMINER
    return _end(state, StopReason.EXAMINER_ERROR, str(error), fault)


def _out_of_time(
    state: _ConversationState, limits: ConversationLimits, waiting_for: Fault, waited: float
) -> Transcript:
    """End a conversation that reached its limit.

    At fault is who was waited for, if for at least a quarter of the limit; a shorter wait says only that little time
    was left. The examiner is then at fault if one of its turns took longer than each of the agent's, and either that
    turn took a quarter of the limit or its turns took more than the agent's in all.

    One slow turn is not enough: an agent that takes a little less for each of its own could use up the time. Nor are
    all of them: an agent that asks back lets the examiner's turns add up, and could then hang at no cost.

    Args:
        state: What has happened so far, this turn included.
        limits: The limits of the conversation.
        waiting_for: The party whose turn it was: INFRA stands for the examiner's model, TARGET for the agent.
        waited: How long this turn had lasted, in seconds.
    """
    assert limits.run_seconds is not None, "only a limit is reached"
    words = f"the conversation reached its limit of {limits.run_seconds:g} s"
    fault = waiting_for
    share = _OWN_SHARE * limits.run_seconds
    if waited < share:
        slow = state.longest_message >= share or state.all_messages > state.all_replies
        fault = Fault.INFRA if slow and state.longest_message > state.longest_reply else Fault.TARGET
    if fault is Fault.INFRA:
        words += f" ({state.longest_message:.2g} s of it spent by the examiner on one message)"
    return _end(state, StopReason.TIMEOUT, words, fault)


def _end(
    state: _ConversationState, stop: StopReason, detail: str | None = None, fault: Fault | None = None
) -> Transcript:
    held = state.rounds[state.earlier :]
    target = sum((round_.usage for round_ in held if round_.usage is not NO_USAGE), NO_USAGE)
    return Transcript(
        rounds=tuple(state.rounds),
        kick_off=KICK_OFF,
        participants={"examiner": state.examiner.name},
        stop=stop,
        stop_detail=detail,
        notes=tuple(getattr(state.examiner, "notes", ())),
        fault=fault,
        usage={"target": target, "examiner": state.examiner.usage},
    )
