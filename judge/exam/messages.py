"""What the examiner said, message by message, beside what the agent had said before."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from viva.judge.exam.words import Words, specifics_of, words_of
from viva.judge.steps import to_text
from viva.records.transcript import Round, StopReason, Transcript

STOP_WORDS = re.compile(r"#*\b(?:EXAM_FINISHED|STOP|TERMINATE)\b#*")
"""What ends a conversation in Viva and in other systems; not part of what a user says."""
SHORTEST_QUOTE = 3
_GROUPED = re.compile(r"\d(?:[\d.,'\u2019_{}\s]*\d)?")
"""Digits with what may group them: points, commas, apostrophes, and spaces of all kinds."""
_MARKUP = str.maketrans("", "", "*_`~")


def squeezed(text: str) -> str:
    """Return a text without the signs of Markdown, and with one space for all white space between words."""
    return " ".join(text.translate(_MARKUP).split())


@dataclass(slots=True)  # made for each message, and a frozen one takes three times as long
class SentMessage:
    """One message of the examiner."""

    round: int
    text: str
    """The words as the agent got them."""
    words: Words
    asked: bool
    """Whether it has a question mark of any script."""


@dataclass(slots=True)
class Talk:
    """A conversation, as the checks read it."""

    transcript: Transcript
    messages: tuple[SentMessage, ...]
    _replies: list[str] | None = None
    _replied: dict[str, int] | None = None
    """The specifics of the agent's replies, with the first round of each."""
    _done: dict[str, int] | None = None
    """The specifics of the agent's steps, with the first round of each."""

    def said_before(self, round_: int, words: str) -> bool:
        """Return whether the agent had said some words, in lower case, before a round."""
        self.reply(0)
        assert self._replies is not None
        before = self._replies[: max(0, round_ - 1)]
        if any(words in reply for reply in before):
            return True
        plain = squeezed(words)
        return bool(plain) and any(plain in squeezed(reply) for reply in before)

    def gave_before(self, round_: int, specific: str, *, in_steps: bool = False) -> bool:
        """Return whether the agent had given a number or an identifier before a round.

        Args:
            round_: The number of the round.
            specific: As `viva.judge.exam.words` writes it.
            in_steps: Whether its steps count, too.
        """
        if self._replied is None:
            self._replied = _first_rounds(each.agent or "" for each in self.transcript.rounds)
        if self._replied.get(specific, round_) < round_ or self._wrote_before(round_, specific):
            return True
        if in_steps and self._done is None:
            self._done = _first_rounds(map(_done_in, self.transcript.rounds))
        return in_steps and self._done is not None and self._done.get(specific, round_) < round_

    def _wrote_before(self, round_: int, number: str) -> bool:
        """Return whether the agent wrote a number in another way: `1.275,00`, `1 275`, `1275EUR`."""
        self.reply(0)
        if not number.isdecimal() or self._replies is None:
            return False
        for reply in self._replies[: max(0, round_ - 1)]:
            for match in _GROUPED.finditer(reply):
                digits = "".join(sign for sign in match[0] if sign.isdecimal())
                if digits == number or (digits.startswith(number) and not digits[len(number) :].strip("0")):
                    return True
        return False

    def reply(self, round_: int) -> str:
        """Return the agent's reply in a round, in lower case; empty if there is none."""
        if self._replies is None:
            self._replies = [(each.agent or "").casefold() for each in self.transcript.rounds]
        return self._replies[round_ - 1] if 0 < round_ <= len(self._replies) else ""

    @property
    def by_choice(self) -> bool:
        """Return whether the examiner ended the conversation, as far as is known.

        A recording with a detail but without a reason to stop ended as the agent says, such as with a failed step.
        """
        return self.transcript.stop in (None, StopReason.FINISHED) and not self.transcript.stop_detail

    @property
    def ended_by_agent(self) -> bool:
        """Return whether Viva ended the conversation for what the agent said, such as the same again and again."""
        return self.transcript.stop is StopReason.FINISHED and bool(self.transcript.stop_detail)

    @property
    def goes_in_circles(self) -> bool:
        """Return whether the agent's last three replies are the same."""
        last = self.transcript.rounds[-3:]
        return len(last) == 3 and len({squeezed(self.reply(each.number)) for each in last}) == 1


def talk_of(transcript: Transcript) -> Talk:
    """Return a conversation as the checks read it."""
    messages = []
    for round_ in transcript.rounds:
        said = round_.examiner
        if not said:
            continue
        text = STOP_WORDS.sub("", said) if "#" in said or "_" in said else said
        asked = "?" in text or "\uff1f" in text or "\u061f" in text
        messages.append(SentMessage(round_.number, text.strip(), words_of(text), asked))
    return Talk(transcript, tuple(messages))


def _first_rounds(texts: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, text in enumerate(texts, 1):
        for specific in specifics_of(text.casefold()):
            found.setdefault(specific, number)
    return found


def _done_in(round_: Round) -> str:
    texts = (f"{to_text(step.tool_input)} {step.result or ''}" for step in round_.steps)
    return _SEPARATORS.sub(" ", " ".join(texts))


_SEPARATORS = re.compile(r"[\"'{}\[\]():;]|(?<!\d),|,(?!\d)")
"""Signs of JSON between values."""


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
