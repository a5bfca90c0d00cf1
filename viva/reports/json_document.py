"""Writes one JSON document with the statistics and an object for each run, run by run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TextIO

from viva.records.codec import to_plain, to_plain_decoded
from viva.records.run_record import RunRecord
from viva.records.text import storable
from viva.reports.facts import standing
from viva.reports.journals import Journals
from viva.statistics.scores import primary_insight


def write(journals: Journals, out: TextIO) -> None:
    """Write the document in ASCII, so that no reader can mistake its encoding. Each run is on its own line.

    Raises:
        JournalError: a journal cannot be read.
    """
    out.write('{"threshold": ' + _json(journals.threshold))
    out.write(',\n"journals": ' + _json([storable(str(folder)) for folder, _ in journals.locations]))
    out.write(',\n"figures": ' + _json(to_plain(journals.figures(), full=True)))
    out.write(',\n"runs": [')
    separator = "\n"
    for entry in journals.quick_entries():
        head = {
            "journal": storable(str(entry.folder)),
            "standing": standing(entry.record, journals.threshold).value,
            "primary": main.evaluator if (main := primary_insight(entry.record)) is not None else None,
        }
        out.write(separator + _run(head, entry.record))
        separator = ",\n"
    unfinished = [{"journal": storable(str(run.folder)), "id": run.id} for run in journals.unfinished()]
    out.write('\n],\n"unfinished": ' + _json(unfinished))
    out.write(',\n"torn_lines": ' + _json(journals.damage.torn))
    out.write(',\n"newer_lines": ' + _json(journals.damage.unknown) + "}\n")


def _run(head: Mapping[str, object], record: RunRecord) -> str:
    text: str | None
    try:
        text = _json({**head, **to_plain_decoded(record)})
    except ValueError:
        text = None  # infinities, which become null
    # What may be a lone surrogate becomes text that every reader accepts; it may be half of a sign, too.
    return text if text is not None and "\\ud" not in text else _json({**head, **to_plain(record, full=True)})


def _json(value: object) -> str:
    # DEL is the only control character that JSON does not escape.
    return _ENCODE(value).replace("\x7f", "\\u007f")


_ENCODE = json.JSONEncoder(allow_nan=False).encode
