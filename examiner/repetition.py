"""Decides who repeated first when a conversation goes in circles.

An agent that says the same thing again is stuck, which is its own fault. Its repeated question is answered once more,
and not a third time. An examiner that repeats itself although the agent said something new is at fault itself.

Only messages in a row are refused. A lamp that is switched on and off again and again gets the same two messages and
replies each time, and nothing is wrong with that.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from enum import Enum

MOST_ANSWERS = 2
"""Maximum number of times that the same message is sent in answer to the same reply."""
LONGEST_COMPARED = 2_000
"""Longer texts count as the same only if every character is: normalizing them would take longer than a round."""
QUESTION_MARKS = frozenset("?\u061f\u037e\u055e\uff1f\u2e2e\u1367\ua60f")
"""The question marks of the scripts in use; the Greek one only as a character of its own."""

SAME_QUESTION = (
    "the agent said exactly the same {times} times before. If it asks for something that you have answered twice, do "
    "not answer it again: this step has failed. Go on with the next step, or end the exam."
)
SAME_ANSWER = (
    "your last message was not sent, because the agent got the same answer twice and still says the same. This step "
    "has failed: go on with the next step, in other words, or end the exam."
)
SAME_MESSAGE = (
    "your last message was not sent, because it repeats the one before it. Use other words, go on with the next step, "
    "or end the exam."
)
STUCK = "the agent repeated itself: it got the same answer twice, and said the same again"


class Repetition(Enum):
    """Who is responsible for a message that was sent before."""

    NONE = "none"
    AGENT = "agent"
    """The agent keeps saying what was answered with this message often enough."""
    EXAMINER = "examiner"
    """The message is the examiner's last one, although the agent did not repeat itself."""


class Repetitions:
    """Remembers what was said so far. Case and white space do not matter."""

    def __init__(self) -> None:
        self._message: str | None = None
        self._reply: str | None = None
        self._repeats = False
        """Whether the agent's last two replies are the same."""
        self._sent = 0
        """How often the last message was sent in a row in answer to the same reply."""
        self._questions: Counter[str] = Counter()
        self._is_question = False

    @property
    def times_asked(self) -> int:
        """Return how many times the agent has asked the question of its last reply; 0 if that is no question."""
        return self._questions[_squeezed(self._reply)] if self._is_question and self._reply is not None else 0

    def add(self, message: str, reply: str | None) -> None:
        """Add a round."""
        heard = reply or ""
        self._sent = self._sent + 1 if self._repeats and _are_same(message, self._message) else 1
        self._repeats = _are_same(heard, self._reply)
        self._message, self._reply = message, heard
        self._is_question = "?" in heard or not (heard.isascii() or QUESTION_MARKS.isdisjoint(heard))
        if self._is_question:
            self._questions[_squeezed(heard)] += 1

    def judge(self, message: str) -> Repetition:
        """Return who is responsible if the next message was sent before."""
        if not _are_same(message, self._message):
            return Repetition.NONE
        if not self._repeats:
            return Repetition.EXAMINER
        return Repetition.AGENT if self._sent >= MOST_ANSWERS else Repetition.NONE


def _are_same(text: str, other: str | None) -> bool:
    """Return whether two texts are the same but for case and white space; nothing is the same as None."""
    if other is None:
        return False
    if text == other:
        return True
    # Most texts differ in their first or last word, which is found without splitting the rest.
    if text.isascii() and other.isascii() and (_first(text) != _first(other) or _last(text) != _last(other)):
        return False
    return _squeezed(text) == _squeezed(other)


def _first(text: str) -> str:
    return "".join(text.split(None, 1)[:1]).lower()


def _last(text: str) -> str:
    return "".join(text.rsplit(None, 1)[-1:]).lower()


def _squeezed(text: str) -> str:
    """Return a text in the form in which texts are compared."""
    if len(text) > LONGEST_COMPARED:
        return text
    whole = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return " ".join(whole.split())
