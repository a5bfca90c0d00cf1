"""Checks of an agent with the conformance commands: order, mixing, and texts of any kind and size."""

from __future__ import annotations

import asyncio
from pathlib import Path

from viva.errors import AgentError
from viva.pytest_plugin.conformance.expectation import Differs, DoesNotApply, expect, quoted
from viva.pytest_plugin.conformance.subject import CheckedAgent

AT_ONCE = 50
ROUNDS = 50
LARGE = 50_000_000
TEXTS = {
    "astral": "\U0001f600 \U00020bb7 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "right to left": "\u05e9\u05dc\u05d5\u05dd, \u202eabc\u202c \u0645\u0631\u062d\u0628\u0627",
    "combining": "e\u0301 ≠ é, ﬁ, \u200b\ufeff",
    "control": "NUL \x00, ESC \x1b[31m, BEL \x07, DEL \x7f, U+0085 \x85",
    "line breaks": "one\ntwo\r\nthree\rfour\u2028five\n\n",
    "syntax": '{"a": "\\u0041"} data: [DONE] </s> %s ${HOME} `id` \\',
    "spaces": "  two at each end  ",
}
"""Texts that come back as they were sent."""


async def keeps_the_order_of_messages(subject: CheckedAgent) -> None:
    """The agent receives each message once, in order."""
    await subject.needs("note", "recall")
    words = [f"w{number}" for number in range(ROUNDS)]
    async with subject.talk() as talk:
        for word in words:
            reply = await talk.ask(f"note {word}")
            expect(reply.strip() == "noted", "'noted'", quoted(reply), after=f"note {word}")
        reply = await talk.ask("recall")
    expect(reply.split() == words, " ".join(words), quoted(reply), after=f"{ROUNDS} notes, and recall")


async def does_not_mix_fifty_at_once(subject: CheckedAgent) -> None:
    """Fifty sessions at once each get their own replies, and each remembers its own messages."""
    await subject.needs("echo")
    played = await subject.words()
    at_once = AT_ONCE

    async def one(number: int) -> None:
        async with subject.talk() as talk:
            for turn in range(3):
                words = f"session {number}, turn {turn}"
                reply = await talk.ask(f"echo {words}")
                expect(reply.strip() == words, words, quoted(reply), after=f"echo {words}")
                if "note" in played:
                    await talk.ask(f"note n{number}-{turn}")
            if "recall" in played:
                noted = [f"n{number}-{turn}" for turn in range(3)]
                reply = await talk.ask("recall")
                expect(reply.split() == noted, " ".join(noted), quoted(reply), after=f"recall in session {number}")

    await asyncio.gather(*(one(number) for number in range(at_once)))


async def keeps_every_character(subject: CheckedAgent) -> None:
    """Text arrives as it was sent, in both directions."""
    await subject.needs("echo", "unicode")
    async with subject.talk() as talk:
        for name, text in TEXTS.items():
            reply = await talk.ask(f"echo {text}")
            expect(reply == text, f"{name}: {text!r}", quoted(reply), after=f"echo {text!r}")


async def survives_a_lone_surrogate(subject: CheckedAgent) -> None:
    """Half a character becomes an escape or a replacement, or a fault of the agent that is named."""
    await subject.needs("surrogate")
    async with subject.talk(quiet=False) as talk:
        try:
            reply = (await talk.session.reply("conformance: surrogate", await subject.seconds())).text
        except AgentError:
            reply = "ab"
        whole = not any("\ud800" <= letter <= "\udfff" for letter in reply)
        expect(
            whole and reply.startswith("a") and reply.endswith("b"),
            "'a', an escape or a replacement of U+D800, and 'b'; or a fault",
            quoted(reply),
            after="surrogate",
        )
    await subject.answers_still()


async def takes_an_empty_reply(subject: CheckedAgent) -> None:
    """An empty reply is one, or a fault of the agent that says so."""
    await subject.needs("empty")
    async with subject.talk(quiet=False) as talk:
        try:
            reply = (await talk.session.reply("conformance: empty", await subject.seconds())).text
        except AgentError as error:
            if "empty" not in str(error):
                raise Differs("an empty reply, or a fault that says it is empty", str(error), after="empty") from error
            return
        expect(not reply.strip(), "an empty reply", quoted(reply), after="empty")
        if "echo" in await subject.words():
            reply = await talk.ask("echo after")
            expect(reply.strip() == "after", "'after'", quoted(reply), after="empty, echo after")


async def takes_a_reply_of_50_mb(subject: CheckedAgent) -> None:
    """A reply of 50 million characters arrives whole."""
    await subject.needs("size")
    # How long that takes is no promise: frameworks and their programs copy it several times.
    async with subject.talk(seconds=subject.demands.reply_seconds) as talk:
        reply = await talk.ask(f"size {LARGE}")
        whole = len(reply) == LARGE and reply.count("x") == LARGE
        expect(whole, f"{LARGE:,} times 'x'", f"{len(reply):,} characters, {quoted(reply[:50])}", after="size")
        if "echo" in await subject.words():
            reply = await talk.ask("echo after")
            expect(reply.strip() == "after", "'after'", quoted(reply), after="size, echo after")


async def writes_in_its_workspace(subject: CheckedAgent) -> None:
    """A file that the agent writes lies in the session's workspace."""
    await subject.needs("write")
    async with subject.talk() as talk:
        reply = await talk.ask("write report.txt")
        workspace = talk.session.workspace
        if workspace is None:
            raise DoesNotApply("it has no workspace")
        file = Path(workspace, "report.txt")
        came = repr(file.read_text(errors="replace")) if file.is_file() else f"no file; the reply was {quoted(reply)}"
        expect(came == "'written'", f"{file.name} in the workspace holds 'written'", came, after="write report.txt")
