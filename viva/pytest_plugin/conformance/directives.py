"""The conformance commands: messages that ask an agent for something that can be checked."""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "conformance: "
PROBE = f"{PREFIX}hello"
"""Asks an agent which conformance commands it supports."""
READY = f"{PREFIX}ready"
"""The beginning of the answer of an agent that supports some; their names follow."""
LAST_WORDS = "conformance: last words"
"""What an agent writes on stderr before it crashes."""
START = "VIVA_CONFORMANCE_START"
"""Environment variable: `crash`, or the seconds that the agent takes to start."""


@dataclass(frozen=True, slots=True)
class Directive:
    """One conformance command."""

    word: str
    message: str
    """What Viva sends; empty if this is a promise and not a message."""
    does: str


DIRECTIVES = (
    Directive("echo", "echo TEXT", "replies TEXT, everything after `echo` and one space"),
    Directive("unicode", "", "`echo` keeps every character: line breaks, NUL, right-to-left, emoji"),
    Directive("note", "note WORD", "remembers WORD in this conversation, and replies `noted`"),
    Directive("recall", "recall", "replies the words noted in this conversation, in order, with a space between"),
    Directive("empty", "empty", "replies the empty text"),
    Directive("size", "size N", "replies N times the letter `x`"),
    Directive("surrogate", "surrogate", "replies `a`, the lone surrogate U+D800 as the wire can have it, and `b`"),
    Directive("wait", "wait SECONDS", "replies `waited` after so many seconds"),
    Directive("hang", "hang", "never replies"),
    Directive("exception", "exception WORDS", "raises an error, or reports one, that says WORDS"),
    Directive("crash", "crash", f"writes `{LAST_WORDS}` on stderr, begins its reply, and ends its process with code 3"),
    Directive(
        "cut", "cut", "begins its reply, and closes the connection; for servers, which do not end with one session"
    ),
    Directive("leave", "leave", "replies `left`, and then ends its process with code 0"),
    Directive("garbage", "garbage", "sends bytes that are not UTF-8: as its reply, or else on stderr before `done`"),
    Directive("flood", "flood", "writes 20 MB on stderr, and then replies `flooded`"),
    Directive("write", "write NAME", "writes `written` into the file NAME of its workspace, and replies `written`"),
    Directive("offspring", "offspring", "starts a process that sleeps for 10 minutes, and replies its id"),
    Directive("start", "", f"`{START}=SECONDS` delays its start; with `crash` it says its last words and ends"),
)
WORDS = frozenset(directive.word for directive in DIRECTIVES)


def words_played(reply: str) -> frozenset[str]:
    """Return the commands that an agent supports, from its reply to the probe; none if it knows none of them."""
    if not reply.strip().startswith(READY):
        return frozenset()
    return frozenset(reply.strip().removeprefix(READY).split()) & WORDS
