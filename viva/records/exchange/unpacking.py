"""Reads the exchanges that an event holds. A journal may come from a stranger: there is a limit to everything."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from viva.records.exchange.dictionaries import decompress
from viva.records.exchange.exchanges import (
    FORM,
    Exchange,
    KeptExchanges,
    PictureName,
    ReadExchanges,
    RequestMessage,
)
from viva.records.exchange.packing import MOST_SHARED, digest_of
from viva.records.exchange.spoken_lines import restored

MOST_UNPACKED = 64 * 1024 * 1024
"""Maximum number of characters of one run's texts."""
MOST_TOGETHER = 64 * 1024 * 1024
"""Maximum number of characters of all its requests and answers, which may repeat each text many times."""
MOST_PIECES = 100_000
"""Maximum number of messages and parts of all its requests."""
MOST_JSON = 48 * 1024 * 1024
"""Maximum number of bytes of the JSON from which they are made."""
MOST_PARTS = 1_000_000
"""Maximum number of brackets in it, because each empty list of two bytes would take fifty bytes of memory."""
MOST_NUMBERS = 16 * 1024 * 1024
"""Maximum number of commas in it, for the same reason."""


def unpack(kept: KeptExchanges, spoken: Sequence[str], read: Callable[[str], bytes | None]) -> ReadExchanges:
    """Return the exchanges that an event holds, as far as they are not too long together.

    Args:
        kept: The event's data.
        spoken: The lines of the run's conversation.
        read: Returns the content of a file of the journal, or None.

    Raises:
        ValueError: they cannot be read, or are not what was stored; says why.
    """
    if kept.form > FORM:
        raise ValueError(f"they are in a newer form ({kept.form})")
    plain = decompress(kept.dictionary, kept.content, MOST_JSON)
    if plain.count(b"[") + plain.count(b"{") > MOST_PARTS or plain.count(b",") > MOST_NUMBERS:
        raise ValueError("they are too long")
    try:
        data = json.loads(plain)
        texts = _Texts(spoken, [_read(name, read) for name in kept.shared[:MOST_SHARED]]).restored(data["texts"])
        calls = _Calls(texts)
        found = tuple(each for call in data["calls"] if (each := calls.exchange(call)) is not None)
    except (LookupError, TypeError, RecursionError) as error:
        raise ValueError("they are damaged") from error
    # What is not put together cannot be compared with the digest either.
    if not calls.left_out and digest_of(found) != kept.digest:
        raise ValueError("the conversation is not the one that was judged")
    return ReadExchanges(found, kept.left_out, calls.left_out)


def _read(name: str, read: Callable[[str], bytes | None]) -> str:
    content = read(name)
    if content is None:
        raise ValueError(f"the file {name} is missing")
    return content.decode(errors="replace")


class _Texts:
    """Makes the texts of requests of JSON data."""

    def __init__(self, spoken: Sequence[str], shared: Sequence[str]) -> None:
        self._spoken = spoken
        self._shared = shared
        self._left = MOST_UNPACKED
        self._rules = 0

    def restored(self, held: Sequence[Any]) -> list[str]:
        """Return the texts.

        Raises:
            ValueError: they are not of the form, or stand for too much.
        """
        texts: list[str] = []
        for each in held:
            text = self._text(each, texts)
            self._left -= len(text)
            if self._left < 0:
                raise ValueError("they are too long")
            texts.append(text)
        return texts

    def _text(self, each: Any, before: Sequence[str]) -> str:
        if type(each) is int:
            return self._shared[each]
        if not isinstance(each, Mapping):
            return restored(each, self._spoken, self._left)
        if "dictionary" in each:
            self._rules += 1
            if self._rules > MOST_SHARED:  # each takes more time than its few characters say
                raise ValueError("they are too long")
            return decompress(each["dictionary"], each["content"], self._left).decode(errors="replace")
        base, head, tail = before[each["like"]], each["head"], each["tail"]
        if not (0 <= head <= len(base) and 0 <= tail <= len(base)):
            raise ValueError("they are damaged")
        if head + tail > self._left:
            raise ValueError("they are too long")
        return f"{base[:head]}{restored(each['new'], self._spoken, self._left)}{base[len(base) - tail :]}"


class _Calls:
    """Puts exchanges together from texts, as far as that is not too much."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._characters = MOST_TOGETHER
        self._pieces = MOST_PIECES
        self.left_out = 0
        """Number of exchanges that were left out, because all would be too long together."""

    def exchange(self, call: Sequence[Any]) -> Exchange | None:
        """Return an exchange; None if it is too long together with those before it.

        Raises:
            ValueError: it is not of the form.
        """
        evaluator, subject, criterion, judge, vote, messages, answer, error = call
        words = (evaluator, subject, criterion, judge, error)
        if not all(isinstance(each, str) for each in words) or type(vote) is not int:
            raise ValueError("they are damaged")
        pieces = sum(map(len, messages))
        if pieces > self._pieces:
            self.left_out += 1
            return None
        request = tuple(self._message(message) for message in messages)
        answered = "" if answer is None else self._texts[answer]
        length = sum(map(len, words)) + len(answered) + sum(len(_words(p)) for each in request for p in each.parts)
        if length > self._characters:
            self.left_out += 1
            return None
        self._pieces -= pieces
        self._characters -= length
        return Exchange(evaluator, subject, criterion, judge, request, answer=answered, error=error, vote=vote)

    def _message(self, message: Sequence[Any]) -> RequestMessage:
        role, *parts = message
        if not isinstance(role, str):
            raise ValueError("they are damaged")
        return RequestMessage(role, tuple(map(self._part, parts)))

    def _part(self, part: object) -> str | PictureName:
        if isinstance(part, str):
            return PictureName(part)
        if type(part) is not int:
            raise ValueError("they are damaged")
        return self._texts[part]


def _words(part: str | PictureName) -> str:
    return part if isinstance(part, str) else part.name
