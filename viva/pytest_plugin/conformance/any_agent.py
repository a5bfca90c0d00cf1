"""Checks of any agent: they only need an agent that answers."""

from __future__ import annotations

import asyncio

from viva.adapters.contract import ConnectedAgent
from viva.errors import AgentError, AgentTimeout
from viva.pytest_plugin.conformance.expectation import Differs, expect, quoted
from viva.pytest_plugin.conformance.subject import CheckedAgent

SEVERAL = 4
"""Sessions at once of an agent that may be slow, or cost something."""


async def opens_and_closes(subject: CheckedAgent) -> None:
    """The agent is constructed and closed without a message."""
    async with subject.talk():
        pass


async def answers(subject: CheckedAgent) -> None:
    """The agent answers messages, one after the other."""
    async with subject.talk() as talk:
        for _ in range(2):
            await talk.say(await subject.question())


async def has_a_workspace_of_its_own(subject: CheckedAgent) -> None:
    """Two sessions at once do not share their files."""
    async with subject.talk() as one, subject.talk() as other:
        folders = [talk.session.workspace for talk in (one, other)]
    expect(
        None in folders or folders[0] != folders[1],
        "two sessions at once have different workspaces",
        f"both have {folders[0]}",
    )


async def closes_twice(subject: CheckedAgent) -> None:
    """A second close does nothing."""
    async with subject.talk() as talk:
        await talk.say(await subject.question())
        expect((trouble := await talk.session.close()) is None, "close() ends without an error", trouble)
        if isinstance(agent := talk.session.agent, ConnectedAgent):
            closing = agent.close  # type: ignore[attr-defined]
            try:
                await closing()
            except Exception as error:
                raise Differs("closing twice does nothing", f"{type(error).__name__}: {error}") from error


async def can_be_cancelled(subject: CheckedAgent) -> None:
    """A reply that is cancelled leaves nothing behind, and the next session answers."""
    question = await subject.question()
    async with subject.talk(quiet=False) as talk:
        reply = asyncio.ensure_future(talk.session.reply(question, await subject.seconds()))
        await asyncio.sleep(0.05)
        reply.cancel()
        await asyncio.wait((reply,))
        if not reply.cancelled() and (error := reply.exception()) is not None:
            raise Differs("the reply is cancelled, or arrives", f"{type(error).__name__}: {error}", after=question)
    await subject.answers_still()


async def keeps_to_a_time_limit(subject: CheckedAgent) -> None:
    """A reply that takes longer than its time limit is a timeout, and the next session answers."""
    question = await subject.question()
    async with subject.talk(quiet=False) as talk:
        try:
            await talk.session.reply(question, 0.0005)
        except AgentTimeout:
            pass
        except AgentError as error:
            came = f"{type(error).__name__}: {error}"
            raise Differs("a timeout, or a reply", came, after=f"{quoted(question)} with a limit of 0.5 ms") from error
    await subject.answers_still()


async def serves_several_at_once(subject: CheckedAgent) -> None:
    """Concurrent sessions each get their own answer."""
    played = await subject.words()

    async def one(number: int) -> None:
        async with subject.talk() as talk:
            if "echo" not in played:
                await talk.say(subject.demands.message)
                return
            words = f"session {number}"
            reply = await talk.ask(f"echo {words}")
            expect(reply == words, words, quoted(reply), after=f"echo {words}")

    await asyncio.gather(*(one(number) for number in range(SEVERAL)))
