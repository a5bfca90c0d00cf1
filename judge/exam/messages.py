"""What the examiner said, message by message, beside what the agent had said before."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from viva.judge.exam.words import Words, words_of
from viva.judge.steps import to_text
from viva.records.transcript import StopReason, Transcript

STOP_WORDS = re.compile(r"#*\b(?:EXAM_FINISHED|STOP|TERMINATE)\b#*")
"""What ends a conversation in Viva and in other systems; not part of what a user says."""
SHORTEST_QUOTE = 3


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the examiner."""

    round: int
    text: str
    """As the agent got it."""
    words: Words
    asked: bool
    """Whether it holds a question mark of any script."""


@dataclass(slots=True)
class Talk:
    """A conversation, as the checks read it."""

    transcript: Transcript
    messages: tuple[Message, ...]
    _replies: list[str] | None = field(default=None)
    _inner: list[str] | None = field(default=None)

    def said_before(self, round_: int, words: str, *, inner: bool = False) -> bool:
        """Return whether the agent had said some words before a round.

        Args:
            round_: The number of the round.
            words: In lower case.
            inner: Whether its steps count, too.
        """
        spellings = (words, words.replace(".", ",")) if words.replace(".", "", 1).isdigit() else (words,)
        texts = self._said(round_)
        if inner:
            texts = [*texts, *self._done(round_)]
        return any(each in text for text in texts for each in spellings)

    def reply(self, round_: int) -> str:
        """Return the agent's reply in a round, in lower case; empty if there is none."""
        self._said(0)
        assert self._replies is not None
        return self._replies[round_ - 1] if 0 < round_ <= len(self._replies) else ""

    def _said(self, round_: int) -> list[str]:
        if self._replies is None:
            self._replies = [_plain(each.agent or "") for each in self.transcript.rounds]
        return self._replies[: max(0, round_ - 1)]

    def _done(self, round_: int) -> list[str]:
        if self._inner is None:
            self._inner = [
                _plain(" ".join(f"{to_text(step.tool_input)} {step.result or ''}" for step in each.steps))
                for each in self.transcript.rounds
            ]
        return self._inner[: max(0, round_ - 1)]

    @property
    def by_choice(self) -> bool:
        """Return whether the examiner ended the conversation, as far as is known."""
        return self.transcript.stop in (None, StopReason.FINISHED)


def talk_of(transcript: Transcript) -> Talk:
    """Return a conversation as the checks read it."""
    messages = []
    for round_ in transcript.rounds:
        said = round_.examiner
        if not said:
            continue
        text = STOP_WORDS.sub("", said) if "#" in said or "_" in said else said
        asked = "?" in text or "\uff1f" in text or "\u061f" in text
        messages.append(Message(round_.number, text.strip(), words_of(text), asked))
    return Talk(transcript, tuple(messages))


_COMMA = re.compile(r"(?<=\d),(?=\d{3})")


def _plain(text: str) -> str:
    """Return a text in lower case, with numbers written without separators of thousands as well."""
    lower = text.casefold()
    return f"{lower} {_COMMA.sub('', lower)}" if _COMMA.search(lower) else lower


def sentence_with(text: str, words: str) -> str:
    """Return the sentence of a message that holds some words, or its beginning, copied exactly and at most 200 long."""
    at = text.casefold().find(words) if words else 0
    if at < 0 or at >= len(text):  # lower case can be longer than the text
        at = 0
    begin = max((text.rfind(sign, 0, at) for sign in ".!?\n\u3002\uff01\uff1f"), default=-1) + 1
    ends = [end for sign in ".!?\n\u3002\uff01\uff1f" if (end := text.find(sign, at + max(1, len(words)))) >= 0]
    quote = text[begin : min(ends) + 1 if ends else len(text)].strip()
    if len(quote) > 200:
        start = max(begin, at - 60)
        quote = text[start : start + 200].strip()
    return quote
