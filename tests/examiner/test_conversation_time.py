"""The time limit of a conversation: who is at fault when it is reached. The clock is the test's own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from viva.errors import AgentTimeout
from viva.examiner import ConversationLimits, converse
from viva.records.fault import Fault
from viva.records.transcript import NO_USAGE, Reply, StopReason, Transcript

LIMIT = 120.0
HANGS = 1e9


class Clock:
    """Stands still, except while an examiner or an agent takes its time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.ends = self.now + LIMIT

    def pass_(self, seconds: float, at_most: float) -> bool:
        """Let time pass, and return whether it was all that was asked for."""
        self.now += min(seconds, at_most)
        return seconds <= at_most


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("viva.examiner.conversation.running_time", lambda: clock.now)
    return clock


class TimedExaminer:
    name = "timed"
    usage = NO_USAGE
    may_repeat = False

    def __init__(self, clock: Clock, seconds: Sequence[float]) -> None:
        self.clock, self.seconds, self.asked = clock, list(seconds), 0

    async def next_message(self, reply: str | None) -> str | None:
        if not self.seconds:
            return None
        if not self.clock.pass_(self.seconds.pop(0), self.clock.ends - self.clock.now):
            raise TimeoutError
        self.asked += 1
        return f"message {self.asked}"


class TimedAgent:
    def __init__(self, clock: Clock, seconds: Sequence[float]) -> None:
        self.clock, self.seconds = clock, list(seconds)

    async def reply(self, message: str, seconds: float) -> Reply:
        if not self.clock.pass_(self.seconds.pop(0) if self.seconds else 0.0, seconds):
            raise AgentTimeout(f"no reply within {seconds:g} s")
        return Reply(f"reply to {message}")


async def timed(
    clock: Clock, messages: Sequence[float], replies: Sequence[float], reply_seconds: float = 300.0
) -> Transcript:
    limits = ConversationLimits(15, reply_seconds, LIMIT)
    return await converse(TimedExaminer(clock, messages), TimedAgent(clock, replies), limits)


@pytest.mark.parametrize(
    ("messages", "replies"),
    [
        ([10] * 15, [0] * 6 + [HANGS]),  # the examiner took 70 s in all
        ([10] * 15, [0] * 8 + [HANGS]),  # 90 s
        ([10] * 15, [0] * 9 + [HANGS]),  # 100 s: the last reply has less than a quarter of the limit
        ([2] * 15, [HANGS]),
        ([61, 5], [HANGS]),  # a slow message, but the agent had half of the time
    ],
)
async def test_an_agent_cannot_hang_at_no_cost_by_first_letting_the_examiner_take_its_time(
    clock: Clock, messages: list[float], replies: list[float]
) -> None:
    transcript = await timed(clock, messages, replies)
    assert (transcript.stop, transcript.fault) == (StopReason.TIMEOUT, Fault.TARGET)
    assert transcript.stop_detail == "the conversation reached its limit of 120 s"


@pytest.mark.parametrize(
    ("messages", "replies"),
    [
        ([3, 3], [116.5]),
        ([3, 3, 3], [55, 57]),
        ([10] * 15, [0, 0, 0, 0, 0, 57]),  # it replies so late that the examiner is the one who is cut off
    ],
)
async def test_an_agent_cannot_leave_the_examiner_too_little_time_at_no_cost(
    clock: Clock, messages: list[float], replies: list[float]
) -> None:
    transcript = await timed(clock, messages, replies)
    assert (transcript.stop, transcript.fault) == (StopReason.TIMEOUT, Fault.TARGET)
    assert transcript.rounds[-1].agent is not None


@pytest.mark.parametrize(
    ("messages", "replies"),
    [
        ([1, 26, 1, 1, 1, 1], [0, 0, 24, 24, 24, HANGS]),  # its last reply has less than a quarter of the limit
        ([1, 26, 1, 1, 1, HANGS], [0, 0, 24, 24, 24, 18]),  # it is the examiner who is cut off
        ([29] + [0] * 14, [9] * 15),
    ],
)
async def test_an_agent_cannot_use_up_the_time_at_no_cost_in_turns_shorter_than_the_examiners_slowest(
    clock: Clock, messages: list[float], replies: list[float]
) -> None:
    transcript = await timed(clock, messages, replies)
    assert (transcript.stop, transcript.fault) == (StopReason.TIMEOUT, Fault.TARGET)


@pytest.mark.parametrize(
    ("messages", "replies"),
    [
        ([0, HANGS], [61]),
        ([0, 0, 0, HANGS], [20, 20, 21]),
        ([1, HANGS], [89]),
        ([HANGS], []),
    ],
)
async def test_a_provider_that_hangs_is_not_held_against_an_agent_that_took_its_time(
    clock: Clock, messages: list[float], replies: list[float]
) -> None:
    transcript = await timed(clock, messages, replies)
    assert (transcript.stop, transcript.fault) == (StopReason.TIMEOUT, Fault.INFRA)
    assert "spent by the examiner" in (transcript.stop_detail or "")


@pytest.mark.parametrize(
    ("messages", "replies"),
    [
        ([118], [HANGS]),
        ([59, 59], [0.5, HANGS]),
        ([9.8] * 15, [0.1] * 11 + [HANGS]),
        ([100], [HANGS]),
    ],
)
async def test_a_reply_that_had_no_time_left_is_not_held_against_the_agent(
    clock: Clock, messages: list[float], replies: list[float]
) -> None:
    transcript = await timed(clock, messages, replies)
    assert (transcript.stop, transcript.fault) == (StopReason.TIMEOUT, Fault.INFRA)
    assert transcript.rounds[-1].error is not None


@pytest.mark.parametrize("messages", [[0, 40] + [0] * 13, [0] * 8 + [40] + [0] * 6])
async def test_a_provider_that_hangs_once_is_not_held_against_an_agent_that_is_steady(
    clock: Clock, messages: list[float]
) -> None:
    transcript = await timed(clock, messages, [6] * 15)
    assert (transcript.stop, transcript.fault) == (StopReason.TIMEOUT, Fault.INFRA)


async def test_an_examiner_that_is_slow_throughout_is_not_held_against_a_fast_agent(clock: Clock) -> None:
    transcript = await timed(clock, [11] * 15, [0.5] * 15)
    assert (transcript.stop, transcript.fault) == (StopReason.TIMEOUT, Fault.INFRA)


async def test_an_agent_that_is_slow_throughout_is_at_fault_under_a_script(clock: Clock) -> None:
    transcript = await timed(clock, [0] * 15, [11] * 15)
    assert (transcript.stop, transcript.fault) == (StopReason.TIMEOUT, Fault.TARGET)


async def test_a_reply_that_had_all_of_its_own_time_is_late_by_that_limit(clock: Clock) -> None:
    transcript = await timed(clock, [110], [HANGS], reply_seconds=10)
    assert (transcript.stop, transcript.fault) == (StopReason.TIMEOUT, Fault.TARGET)
    assert transcript.stop_detail == "no reply within 10 s"
