"""Writes one JSON document with the statistics and an object for each run, run by run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import TextIO

from viva.records.codec import to_plain, to_plain_decoded
from viva.records.quick.records import is_struct, write_record
from viva.records.run_record import RunRecord
from viva.records.text import storable
from viva.reports.facts import Standing, standing
from viva.reports.journals import Journals
from viva.statistics.scores import primary_insight
from viva.statistics.summary import Figures


def write(journals: Journals, out: TextIO) -> None:
    """Write the document in ASCII, so that no reader can mistake its encoding. Each run is on its own line.

    Raises:
        JournalError: a journal cannot be read.
    """
    out.write('{"threshold": ' + _json(journals.threshold))
    out.write(',\n"journals": ' + _json([storable(str(folder)) for folder, _ in journals.locations]))
    if journals.filters:
        out.write(',\n"filtered": ' + _json(to_plain(journals.filtered(), full=True)))
    if journals.notes:
        out.write(',\n"notes": ' + _json([storable(note) for note in journals.notes]))
    out.write(',\n"figures": {')
    for piece in _figures(journals.figures()):
        out.write(piece)
    out.write("}")
    out.write(',\n"runs": [')
    for piece in _runs(journals):
        out.write(piece)
    unfinished = [{"journal": storable(str(run.folder)), "id": run.id} for run in journals.unfinished()]
    out.write('\n],\n"unfinished": ' + _json(unfinished))
    out.write(',\n"torn_lines": ' + _json(journals.damage.torn))
    out.write(',\n"newer_lines": ' + _json(journals.damage.unknown) + "}\n")


def _runs(journals: Journals) -> Iterator[str]:
    """Yield the objects of all runs that ended, many at a time: a file takes them several times as fast."""
    pieces: list[str] = []
    waiting, separator, threshold = 0, "\n", journals.threshold
    for entry in journals.quick_entries():
        record = entry.record
        main = primary_insight(record)
        head = _head(entry.folder, standing(record, threshold), None if main is None else main.evaluator)
        if facts := journals.facts(entry):
            head = f'{head}"case_facts": {_of_decoded(facts)}, '
        text = _record(record)
        pieces += (separator, head, text[1:])
        separator = ",\n"
        waiting += len(text)
        if waiting > BATCH:
            yield "".join(pieces)
            pieces, waiting = [], 0
    yield "".join(pieces)


def _figures(figures: Figures) -> Iterator[str]:
    """Yield the statistics group by group: those of all at once take up 50 MB as dicts."""
    before = ""
    for field in fields(figures):
        if field.name in figures.unused:
            continue
        value = getattr(figures, field.name)
        yield f"{before}{_json(field.name)}: "
        before = ", "
        if not isinstance(value, tuple):
            yield _json(to_plain(value, full=True))
            continue
        yield "["
        for number, each in enumerate(value):
            yield f"{', ' if number else ''}{_json(to_plain(each, full=True))}"
        yield "]"


BATCH = 250_000
"""Characters that are written at once."""


@lru_cache(maxsize=1000)
def _head(folder: Path, standing: Standing, primary: str | None) -> str:
    """Return the beginning of an object, up to the fields of the record."""
    head = _json({"journal": storable(str(folder)), "standing": standing.value, "primary": primary})
    return f"{head[:-1]}, "


def _record(record: RunRecord) -> str:
    if is_struct(record):
        text = write_record(record)
        return text.replace("\x7f", _DEL) if "\x7f" in text else text
    return _of_decoded(record)


def _of_decoded(value: object) -> str:
    """Return the JSON of a record that was read from a journal, or of what was made of parsed JSON."""
    text: str | None
    try:
        text = _json(to_plain_decoded(value))
    except (ValueError, RecursionError):
        text = None  # infinities, which become null; data that is nested too deeply
    # What may be a lone surrogate becomes text that every reader accepts; it may be half of a sign, too.
    return text if text is not None and "\\ud" not in text else _json(to_plain(value, full=True))


def _json(value: object) -> str:
    return _ENCODE(value).replace("\x7f", _DEL)


_DEL = "\\u007f"
"""DEL is the only control character that JSON does not escape."""
_ENCODE = json.JSONEncoder(allow_nan=False).encode
