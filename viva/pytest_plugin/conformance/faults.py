"""Checks of faults of an agent with the conformance commands: each ends its own run, with the agent's own words."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

from viva.errors import AgentError, AgentTimeout
from viva.processes import process_is_alive
from viva.pytest_plugin.conformance.directives import LAST_WORDS, PREFIX, START
from viva.pytest_plugin.conformance.expectation import Differs, expect, quoted
from viva.pytest_plugin.conformance.footprint import agent_processes, can_measure
from viva.pytest_plugin.conformance.subject import GONE_SECONDS, CheckedAgent
from viva.records.transcript import StopReason, Transcript

HANG_SECONDS = 1.0
START_SECONDS = 2
LEAVE_SECONDS = 0.5
LEFT_SECONDS = 10.0
"""Maximum wait for the end of an agent that leaves; a framework may take a while to pass its last reply on."""


async def waits_for_a_slow_reply(subject: CheckedAgent) -> None:
    """A reply that takes its time arrives."""
    await subject.needs("wait")
    async with subject.talk() as talk:
        reply = await talk.ask("wait 1")
        expect(reply.strip() == "waited", "'waited'", quoted(reply), after="wait 1")


async def waits_for_a_slow_start(subject: CheckedAgent) -> None:
    """An agent that takes two seconds to start is waited for."""
    await subject.needs("start")
    with _start(str(START_SECONDS)):
        await subject.answers_still()


async def reports_a_crash_at_the_start(subject: CheckedAgent) -> None:
    """An agent that ends before its first reply is a fault with its last words."""
    await subject.needs("start")
    with _start("crash"):
        try:
            async with subject.talk(quiet=False) as talk:
                await talk.session.reply(await subject.question(), await subject.seconds())
                came = "a reply"
        except (AgentError, Differs) as error:
            told = error.came if isinstance(error, Differs) else str(error)
            came = "" if LAST_WORDS in told else told
    expect(not came, f"a fault of the agent with its last words ({LAST_WORDS!r})", came, after=f"{START}=crash")
    await subject.answers_still()


async def ends_a_hang_as_timeout(subject: CheckedAgent) -> None:
    """An agent that never replies is a timeout."""
    await subject.needs("hang")
    transcript, known = await subject.converse(f"{PREFIX}hang", seconds=HANG_SECONDS)
    _stopped(transcript, StopReason.TIMEOUT, known, "hang")
    await subject.answers_still()


async def cancels_a_hang(subject: CheckedAgent) -> None:
    """A run that is cancelled while the agent hangs ends."""
    await subject.needs("hang")
    run = asyncio.ensure_future(subject.converse(f"{PREFIX}hang", seconds=600))
    await asyncio.sleep(0.5)
    run.cancel()
    await asyncio.wait((run,))
    expect(run.cancelled(), "the run is cancelled", "it ended otherwise", after="hang, and cancel")
    await subject.answers_still()


async def keeps_the_words_of_an_exception(subject: CheckedAgent) -> None:
    """An error that the agent raises or reports ends the run as `target_error`, with its words."""
    await subject.needs("exception")
    words = "the kettle is empty"
    transcript, known = await subject.converse(f"{PREFIX}exception {words}")
    _stopped(transcript, StopReason.TARGET_ERROR, known, f"exception {words}")
    expect(words in known, f"the agent's own words: {words!r}", known, after=f"exception {words}")
    await subject.answers_still()


async def keeps_the_last_words_of_a_crash(subject: CheckedAgent) -> None:
    """An agent that crashes in the middle of a reply ends the run as `target_error`, with its last words."""
    await subject.needs("crash")
    transcript, known = await subject.converse(f"{PREFIX}crash")
    _stopped(transcript, StopReason.TARGET_ERROR, known, "crash")
    expect(LAST_WORDS in known, f"the agent's last words: {LAST_WORDS!r}", known or "no words", after="crash")
    await subject.answers_still()


async def ends_a_cut_connection_as_target_error(subject: CheckedAgent) -> None:
    """A connection that the agent closes in the middle of a reply ends the run as `target_error`."""
    await subject.needs("cut")
    transcript, known = await subject.converse(f"{PREFIX}cut")
    _stopped(transcript, StopReason.TARGET_ERROR, known, "cut")
    expect(bool(known), "words that say what was wrong", "no words", after="cut")
    await subject.answers_still()


async def survives_the_crash_of_another(subject: CheckedAgent) -> None:
    """A crash affects no other session."""
    await subject.needs("crash", "echo")
    async with subject.talk() as other:
        await other.ask("echo before")
        await subject.converse(f"{PREFIX}crash")
        reply = await other.ask("echo after")
        expect(reply.strip() == "after", "'after'", quoted(reply), after="the crash of another session, echo after")


async def notices_an_agent_that_leaves(subject: CheckedAgent) -> None:
    """An agent that ends between two messages is a fault at the second one, not a hang."""
    await subject.needs("leave")
    async with subject.talk(quiet=False) as talk:
        there = frozenset(agent_processes(subject.mark)) if can_measure() else frozenset()
        reply = await talk.ask("leave")
        expect(reply.strip() == "left", "'left'", quoted(reply), after="leave")
        await _one_ends(subject, there)
        try:
            reply = (await talk.session.reply(f"{PREFIX}hello", await subject.seconds())).text
        except AgentTimeout as error:
            raise Differs("a fault at once", f"a time-out: {error}", after="leave, hello") from error
        except AgentError:
            pass
        else:
            raise Differs("a fault of the agent", quoted(reply), after="leave, hello")
    await subject.answers_still()


async def survives_invalid_encoding(subject: CheckedAgent) -> None:
    """Bytes that are not UTF-8 are replaced, or are a fault of the agent; nothing hangs."""
    await subject.needs("garbage")
    transcript, known = await subject.converse(f"{PREFIX}garbage")
    fine = transcript.stop in (StopReason.TARGET_ERROR, StopReason.FINISHED, StopReason.MAX_ROUNDS)
    expect(fine, "a reply, or target_error", _ending(transcript, known), after="garbage")
    if transcript.stop is StopReason.TARGET_ERROR:
        expect(bool(known), "words that say what was wrong", "no words", after="garbage")
    await subject.answers_still()


async def survives_a_flood_on_stderr(subject: CheckedAgent) -> None:
    """20 MB on stderr do not stop the agent, and are not kept whole."""
    await subject.needs("flood")
    transcript, known = await subject.converse(f"{PREFIX}flood")
    replies = [round_.agent for round_ in transcript.rounds]
    expect(replies[-1:] == ["flooded"], "'flooded'", _ending(transcript, known), after="flood")
    expect(len(known) < 1_000_000, "less than 1 MB of it kept", f"{len(known):,} characters", after="flood")


async def ends_its_offspring(subject: CheckedAgent) -> None:
    """A process that the agent has started is gone when its session is closed."""
    await subject.needs("offspring")
    async with subject.talk() as talk:
        reply = await talk.ask("offspring")
        expect(reply.strip().isdigit(), "the id of a process", quoted(reply), after="offspring")
        process = int(reply)
        expect(process_is_alive(process), f"it runs while the session is open, as process {process}", "it does not")
    for _ in range(int(GONE_SECONDS / 0.05)):
        if not process_is_alive(process):
            return
        await asyncio.sleep(0.05)
    raise Differs(f"it is gone after closing (process {process})", "it runs", after="offspring")


async def _one_ends(subject: CheckedAgent, there: frozenset[int]) -> None:
    """Wait until one of the agent's processes has ended, or for a while where that cannot be seen."""
    await asyncio.sleep(LEAVE_SECONDS)
    for _ in range(int(LEFT_SECONDS / 0.1)):
        if not there or not there <= frozenset(agent_processes(subject.mark)):
            break
        await asyncio.sleep(0.1)


@contextmanager
def _start(value: str) -> Iterator[None]:
    os.environ[START] = value
    try:
        yield
    finally:
        del os.environ[START]


def _stopped(transcript: Transcript, expected: StopReason, known: str, after: str) -> None:
    expect(transcript.stop is expected, f"the run ends as {expected.value}", _ending(transcript, known), after=after)


def _ending(transcript: Transcript, known: str) -> str:
    stop = "nothing" if transcript.stop is None else transcript.stop.value
    last = transcript.rounds[-1].agent if transcript.rounds else None
    reply = "" if last is None else f" after the reply {quoted(last)}"
    return f"{stop}{reply}{f': {known}' if known else ''}"
