"""Packs the exchanges of one judgement into the data of one event; `viva.records.exchange.unpacking` reads them.

The requests of one run are nearly alike: each is held as its difference from an earlier one. What remains is mostly the
conversation, whose lines are referred to by number, and the judges' rules: Viva's own are compressed to almost nothing
by a dictionary, and those of others are kept once for all runs, in a file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from viva.records.exchange.dictionaries import compress
from viva.records.exchange.exchanges import FORM, Exchange, KeptExchanges, PictureName, RequestMessage
from viva.records.exchange.spoken_lines import SpokenNumbers
from viva.records.redact import redact
from viva.records.text import storable

SHARED = 1_000
"""Minimum number of characters of a system prompt that is kept apart from other texts."""
MOST_SHARED = 20
"""Maximum number of such prompts of one run."""
IN_LINE = 300
"""Maximum number of compressed characters of one that is kept in the event; for a longer one, there is a file, whose
name takes 77."""
WORTH = 64
"""Minimum number of characters that a difference must save."""


def pack(
    exchanges: Sequence[Exchange], spoken: Sequence[str], *, left_out: int = 0
) -> tuple[KeptExchanges, dict[str, bytes]]:
    """Return the data of the event, and the files that it names.

    Secrets are removed from all texts.

    Args:
        exchanges: All of one judgement, in order.
        spoken: The lines of the conversation, from `spoken_lines`.
        left_out: Number of further exchanges, which are not kept.
    """
    clean = [_clean(each) for each in exchanges]
    packer = _Packer(spoken)
    calls = [packer.call(each) for each in clean]
    plain = json.dumps({"texts": packer.texts, "calls": calls}, ensure_ascii=False, separators=(",", ":"))
    dictionary, content = compress(plain.encode())
    kept = KeptExchanges(
        form=FORM,
        calls=len(calls),
        digest=digest_of(clean),
        content=content,
        dictionary=dictionary,
        shared=tuple(packer.shared),
        left_out=left_out,
    )
    return kept, packer.shared


def _clean(exchange: Exchange) -> Exchange:
    messages = tuple(
        RequestMessage(
            each.role,
            tuple(redact(storable(part)) if isinstance(part, str) else part for part in each.parts),
        )
        for each in exchange.messages
    )
    return Exchange(
        exchange.evaluator,
        exchange.subject,
        exchange.criterion,
        exchange.judge,
        messages,
        answer=redact(storable(exchange.answer)),
        error=redact(storable(exchange.error)),
        vote=exchange.vote,
    )


def digest_of(exchanges: Iterable[Exchange]) -> str:
    """Return the first 16 hex digits of the SHA-256 of everything that was asked and answered."""
    digest = hashlib.sha256()
    for each in exchanges:
        for text in (*each.texts(), each.answer, each.error):
            digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:16]


class _Packer:
    """Numbers the texts of requests, each of which is held once."""

    def __init__(self, spoken: Sequence[str]) -> None:
        self.texts: list[Any] = []
        self.shared: dict[str, bytes] = {}
        self._apart = 0
        self._lines = SpokenNumbers(spoken)
        self._numbers: dict[str, int] = {}
        self._bases: dict[str, list[tuple[int, str]]] = {}
        """The first and the latest text that each evaluator sent, with their numbers."""

    def call(self, each: Exchange) -> list[Any]:
        """Return an exchange as JSON data."""
        messages = [
            [message.role, *(self._part(part, message.role, each.evaluator) for part in message.parts)]
            for message in each.messages
        ]
        answer = self._number(each.answer, f"{each.evaluator}: answer") if each.answer else None
        return [each.evaluator, each.subject, each.criterion, each.judge, each.vote, messages, answer, each.error]

    def _part(self, part: str | PictureName, role: str, evaluator: str) -> int | str:
        if isinstance(part, PictureName):
            return part.name
        return self._number(part, f"{evaluator}: {role}", share=role == "system")

    def _number(self, text: str, place: str, *, share: bool = False) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(self._held(text, place, share=share))
            first, *_ = self._bases.setdefault(place, [(number, text)])
            self._bases[place] = list(dict.fromkeys((first, (number, text))))
        return number

    def _held(self, text: str, place: str, *, share: bool) -> Any:
        if share and len(text) >= SHARED and self._apart < MOST_SHARED:
            self._apart += 1
            return self._rules(text.encode())
        best: tuple[int, int, int] | None = None
        for number, base in self._bases.get(place, ()):
            head, tail = _alike(text, base)
            if head + tail >= WORTH and (best is None or head + tail > best[1] + best[2]):
                best = number, head, tail
        if best is None:
            return self._lines.pieces(text)
        number, head, tail = best
        return {"like": number, "head": head, "tail": tail, "new": self._lines.pieces(text[head : len(text) - tail])}

    def _rules(self, content: bytes) -> Any:
        """Return a system prompt in few characters, or the number of the file in which it is kept for all runs."""
        number, short = compress(content)
        if len(short) <= IN_LINE:
            return {"dictionary": number, "content": short}
        name = f"texts/{hashlib.sha256(content).hexdigest()}.txt"
        self.shared[name] = content
        return list(self.shared).index(name)


def _alike(text: str, base: str) -> tuple[int, int]:
    """Return how many characters two texts share at their beginnings, and after these at their ends."""
    head = _common(text, base, lambda words, length: words[:length])
    most = min(len(text), len(base)) - head
    return head, min(most, _common(text, base, lambda words, length: words[len(words) - length :]))


def _common(one: str, two: str, part: Callable[[str, int], str]) -> int:
    """Return the greatest length for which parts are equal, by halves: comparing slices is done by native code."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if part(one, middle) == part(two, middle):
            low = middle
        else:
            high = middle - 1
    return low
