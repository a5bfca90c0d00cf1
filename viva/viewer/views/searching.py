"""Searches the conversations of many runs for words, a part of the runs in each answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from viva.records.text import one_line
from viva.records.transcript import Round, StepKind
from viva.reports.page.conversations import step_texts
from viva.reports.page.session_views import title_of
from viva.viewer.answers import row_view
from viva.viewer.places import NOWHERE, RunPlaces
from viva.viewer.watched import ListedRun, WatchedJournal

SECONDS = 0.4
"""Time after which an answer ends; the page asks for the rest."""
MOST_FOUND = 50
"""Maximum number of runs in one answer."""
MOST_PLACES = 5
"""Maximum number of rounds of one run in an answer."""
AROUND = 70
"""Characters that are shown before and after the words."""
BLOCK = 100
"""Number of rounds that are decoded together."""


def search_view(journal: WatchedJournal, where: str, words: str, first: int) -> dict[str, Any]:
    """Return runs in whose conversations words occur, without regard to case, with the words around them.

    Args:
        journal: The journal.
        where: A filter expression; empty for all runs.
        words: What is looked for; empty finds nothing.
        first: The position, among the runs that the filter keeps, of the first one that is searched.

    Returns:
        The runs that were found; in `next` the position from which the search goes on, None at the end.

    Raises:
        FilterError: `where` is not an expression.
    """
    runs = list(journal.matching(where))
    wanted, began = words.casefold(), time.monotonic()
    found: list[dict[str, Any]] = []
    place = first
    while wanted and place < len(runs) and len(found) < MOST_FOUND:
        if place > first and time.monotonic() - began > SECONDS:
            break
        listed = runs[place]
        place += 1
        blocks = dict.fromkeys(_blocks(journal, listed.places, words))
        hits = list(islice(_hits(journal, listed, blocks, wanted), MOST_PLACES + 1))
        if hits:
            more = len(hits) > MOST_PLACES
            found.append({"row": row_view(listed), "hits": hits[:MOST_PLACES], "more": more})
    done = not wanted or place >= len(runs)
    return {"found": found, "next": None if done else place, "searched": place, "total": len(runs)}


def _hits(journal: WatchedJournal, listed: ListedRun, blocks: Iterable[int], wanted: str) -> Iterator[list[Any]]:
    for block in blocks:
        stored = journal.conversation(listed.places.run, block * BLOCK, (block + 1) * BLOCK)
        for round_ in () if stored is None else stored.transcript.rounds:
            if (hit := _hit(round_, wanted)) is not None:
                yield hit


def _blocks(journal: WatchedJournal, places: RunPlaces, words: str) -> Iterator[int]:
    """Yield the blocks of rounds that may hold words, in order, some of them several times."""
    count = len(places.rounds)
    ends = [places.transcript] if count and places.transcript != NOWHERE else []
    for number, line in enumerate(journal.places.read([*places.rounds, *ends])):
        # Steps at the end of the conversation belong to its last round.
        if (number < count or b'"late_steps"' in line) and _may_hold(line, words):
            yield min(number, count - 1) // BLOCK


def _may_hold(line: bytes, words: str) -> bool:
    """Return whether a line of a journal may hold words; decoding every line would take twenty times as long."""
    if not words.isalnum() or not words.isascii() or b'"_texts"' in line or b'"_steps"' in line or b"\\u" in line:
        return True  # it may be written in another form, or in another file
    # Some characters that are not ASCII fold to ASCII ones, such as the Kelvin sign.
    return words.lower().encode() in line.lower() or not line.isascii()


def _hit(round_: Round, wanted: str) -> list[Any] | None:
    for who, text in _texts(round_):
        # Folding may change the number of characters, so the place is exact only where it does not.
        place = text.casefold().find(wanted)
        if place < 0:
            continue
        before, after = text[max(0, place - AROUND) : place], text[place + len(wanted) :]
        lead = "…" if place > AROUND else ""
        return [
            round_.number,
            who,
            lead + one_line(before, AROUND * 2) + (" " if before[-1:].isspace() else ""),
            one_line(text[place : place + len(wanted)], 300),
            (" " if after[:1].isspace() else "") + one_line(after[:AROUND], AROUND * 2),
        ]
    return None


def _texts(round_: Round) -> Iterator[tuple[str, str]]:
    yield "examiner", round_.examiner or ""
    yield "agent", round_.agent or ""
    for step in round_.steps:
        name = title_of(step) if step.kind is StepKind.TOOL else step.kind.value
        for _, text in step_texts(step):
            yield name, text
    if round_.error:
        yield "error", round_.error
