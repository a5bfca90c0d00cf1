"""Replaces lines of a text that a transcript holds by their numbers there, and restores them.

A judge's prompt is mostly the conversation, which the journal has already. Python's zlib looks back 32 KiB only, so
long conversations would be stored a second time. Only raw lines are looked up, so that no later version of what writes
prompts changes what is restored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from viva.records.transcript import Transcript

SHORTEST = 16
"""Minimum length of a line that is replaced by its number; a shorter one is a part of a longer run, or stays."""
Piece = str | list[int | str]
"""Lines as they are, or `[first, count, before]`: the number of the first line, how many follow it with it, and what
stands before each of them."""


def spoken_lines(transcript: Transcript) -> list[str]:
    """Return the lines of everything that was said and done, in order. Their numbers are stored: never change it."""
    return [line for text in _texts(transcript) for line in text.splitlines()]


def _texts(transcript: Transcript) -> Iterator[str]:
    for round_ in transcript.rounds:
        yield round_.examiner or ""
        for step in round_.steps:
            given = step.tool_input
            yield step.thought or ""
            yield given if isinstance(given, str) else _as_json(given)
            yield step.error or ""
            yield step.result or ""
        yield round_.agent or ""
        yield round_.error or ""


def _as_json(value: object) -> str:
    try:
        return "" if value is None else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


class SpokenNumbers:
    """Finds lines of a conversation by their words."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._numbers: dict[str, int] = {}
        for number, line in enumerate(lines):
            if len(line) >= SHORTEST:
                self._numbers.setdefault(line, number)

    def pieces(self, text: str) -> list[Piece]:
        """Return a text as pieces; joined by line breaks, `restored` makes the same text of them."""
        found: list[Piece] = []
        plain: list[str] = []
        first = count = 0
        before = ""
        for line in text.split("\n"):
            follows = first + count
            if count and follows < len(self._lines) and line == before + self._lines[follows]:
                count += 1
                continue
            if count:
                found.append([first, count, before])
                count = 0
            place = self._place(line)
            if place is None:
                plain.append(line)
                continue
            if plain:
                found.append("\n".join(plain))
                plain = []
            first, before = place
            count = 1
        if count:
            found.append([first, count, before])
        if plain:
            found.append("\n".join(plain))
        return found

    def _place(self, line: str) -> tuple[int, str] | None:
        """Return the number of the line that this one ends with, and what stands before it."""
        words = line.lstrip(" ")
        for end in (words, words.partition(": ")[2]):
            if (number := self._numbers.get(end)) is not None:
                return number, line[: len(line) - len(end)]
        return None


def restored(pieces: object, lines: Sequence[str], most: int) -> str:
    """Return the text that pieces stand for.

    Raises:
        ValueError: they name a line that is not there, or stand for more than `most` characters.
    """
    if not isinstance(pieces, list):
        raise ValueError("a text is not a list of pieces")
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
            most -= len(piece)
        else:
            first, count, before = _reference(piece, len(lines))
            run = lines[first : first + count]
            most -= sum(map(len, run)) + count * (len(before) + 1)
            texts.extend(before + line for line in run if most >= 0)
        if most < 0:
            raise ValueError("it stands for more than may be read")
    return "\n".join(texts)


def _reference(piece: object, lines: int) -> tuple[int, int, str]:
    if not isinstance(piece, list) or len(piece) != 3:
        raise ValueError("a piece of a text is neither words nor a reference")
    first, count, before = piece
    right = type(first) is int and type(count) is int and isinstance(before, str)
    if not right or not 0 <= first < first + count <= lines:
        raise ValueError("it names words that are not in the conversation")
    return first, count, before
