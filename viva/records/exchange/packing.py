"""Packs the exchanges of one judgement into the data of one event, and reads them again.

The requests of one run are nearly alike: each is held as its difference from an earlier one. What remains is mostly the
conversation, whose lines are referred to by number, and the judges' rules, which all runs share in a file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from viva.records.exchange.exchanges import FORM, Exchange, KeptExchanges, PictureName, RequestMessage
from viva.records.exchange.spoken_lines import SpokenNumbers, restored
from viva.records.redact import redact
from viva.records.text import storable

SHARED = 1_000
"""Minimum number of characters of a system prompt that is kept in a file for all runs."""
MOST_SHARED = 20
"""Maximum number of such files of one run."""
WORTH = 64
"""Minimum number of characters that a difference must save."""
MOST_UNPACKED = 64 * 1024 * 1024
"""Maximum number of characters of one run's exchanges; a journal may come from a stranger."""
MOST_JSON = 48 * 1024 * 1024
"""Maximum number of bytes of the JSON from which they are made."""
MOST_PARTS = 1_000_000
"""Maximum number of brackets in it, because each empty list of two bytes would take fifty bytes of memory."""


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
    content = base64.b85encode(zlib.compress(plain.encode(), 9)).decode()
    shared = tuple(packer.shared)
    kept = KeptExchanges(
        form=FORM, calls=len(calls), digest=_digest(clean), content=content, shared=shared, left_out=left_out
    )
    return kept, packer.shared


def unpack(kept: KeptExchanges, spoken: Sequence[str], read: Callable[[str], bytes | None]) -> list[Exchange]:
    """Return the exchanges that an event holds.

    Args:
        kept: The event's data.
        spoken: The lines of the run's conversation.
        read: Returns the content of a file of the journal, or None.

    Raises:
        ValueError: they cannot be read, or are not what was stored; says why.
    """
    if kept.form > FORM:
        raise ValueError(f"they are in a newer form ({kept.form})")
    try:
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(base64.b85decode(kept.content), MOST_JSON)
        if unpacker.unconsumed_tail or plain.count(b"[") + plain.count(b"{") > MOST_PARTS:
            raise ValueError("they are too long")
        data = json.loads(plain)
        texts = _texts(data["texts"], spoken, [_read(name, read) for name in kept.shared[:MOST_SHARED]])
        found = [_exchange(call, texts) for call in data["calls"]]
    except (zlib.error, LookupError, TypeError, RecursionError) as error:
        raise ValueError("they are damaged") from error
    if _digest(found) != kept.digest:
        raise ValueError("the conversation is not the one that was judged")
    return found


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


def _digest(exchanges: Iterable[Exchange]) -> str:
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
        if share and len(text) >= SHARED and len(self.shared) < MOST_SHARED:
            content = text.encode()
            name = f"texts/{hashlib.sha256(content).hexdigest()}.txt"
            self.shared[name] = content
            return list(self.shared).index(name)
        best: tuple[int, int, int] | None = None
        for number, base in self._bases.get(place, ()):
            head, tail = _alike(text, base)
            if head + tail >= WORTH and (best is None or head + tail > best[1] + best[2]):
                best = number, head, tail
        if best is None:
            return self._lines.pieces(text)
        number, head, tail = best
        return {"like": number, "head": head, "tail": tail, "new": self._lines.pieces(text[head : len(text) - tail])}


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


def _read(name: str, read: Callable[[str], bytes | None]) -> str:
    content = read(name)
    if content is None:
        raise ValueError(f"the file {name} is missing")
    return content.decode(errors="replace")


def _texts(held: Sequence[Any], spoken: Sequence[str], shared: Sequence[str]) -> list[str]:
    """Return the texts that JSON data stands for.

    Raises:
        ValueError: they are not of the form, or stand for too much.
    """
    texts: list[str] = []
    left = MOST_UNPACKED
    for each in held:
        if type(each) is int:
            text = shared[each]
        elif isinstance(each, Mapping):
            base, head, tail = texts[each["like"]], each["head"], each["tail"]
            if not (0 <= head <= len(base) and 0 <= tail <= len(base)):
                raise ValueError("they are damaged")
            text = f"{base[:head]}{restored(each['new'], spoken, left)}{base[len(base) - tail :]}"
        else:
            text = restored(each, spoken, left)
        left -= len(text)
        if left < 0:
            raise ValueError("they are too long")
        texts.append(text)
    return texts


def _exchange(call: Sequence[Any], texts: Sequence[str]) -> Exchange:
    evaluator, subject, criterion, judge, vote, messages, answer, error = call
    words = (evaluator, subject, criterion, judge, error)
    if not all(isinstance(each, str) for each in words) or type(vote) is not int:
        raise ValueError("they are damaged")
    return Exchange(
        evaluator,
        subject,
        criterion,
        judge,
        tuple(RequestMessage(str(role), tuple(_part(part, texts) for part in parts)) for role, *parts in messages),
        answer="" if answer is None else texts[answer],
        error=error,
        vote=vote,
    )


def _part(part: object, texts: Sequence[str]) -> str | PictureName:
    if isinstance(part, str):
        return PictureName(part)
    if type(part) is not int:
        raise ValueError("they are damaged")
    return texts[part]
