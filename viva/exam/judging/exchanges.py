"""Hands what judges' models were asked and answered to the journal, as one event of the run, and reads it again."""

from __future__ import annotations

from viva.journal.kept_files import read_sound
from viva.journal.lines import EXCHANGE, parse
from viva.journal.long_texts import restore_texts
from viva.journal.reader import StoredRun
from viva.journal.writer import JournalWriter
from viva.judge.exchange.log import ExchangeLog
from viva.records.codec import decode
from viva.records.exchange.exchanges import KeptExchanges, ReadExchanges
from viva.records.transcript import Transcript


class NotReadable(ValueError):
    """What judges were asked and answered cannot be read. The message says why, after `it cannot be read:`."""


def exchanges_of(stored: StoredRun) -> ReadExchanges:
    """Return the exchanges of the latest judgement of a run, as far as they can be shown; none if its journal has none.

    Raises:
        NotReadable: they are damaged, or the conversation or a file that they refer to is not what it was.
    """
    event = parse(stored.asked) if stored.asked else None
    if event is None:
        return ReadExchanges()
    from viva.records.exchange.spoken_lines import spoken_lines
    from viva.records.exchange.unpacking import unpack

    try:
        kept = decode(KeptExchanges, restore_texts(stored.folder, event.data))
        return unpack(kept, spoken_lines(stored.transcript), lambda name: read_sound(stored.folder, name))
    except ValueError as error:
        raise NotReadable(str(error)) from error


def kept_exchanges(log: ExchangeLog, transcript: Transcript, journal: JournalWriter) -> list[tuple[str, KeptExchanges]]:
    """Return the event with the exchanges of one judgement, and store the texts that runs share; none without any.

    Raises:
        JournalError: the journal cannot be written.
    """
    if not log.exchanges:
        return []
    from viva.records.exchange.packing import pack  # only a model's judgement requires it
    from viva.records.exchange.spoken_lines import spoken_lines

    kept, shared = pack(log.exchanges, spoken_lines(transcript), left_out=log.left_out)
    for name, content in shared.items():
        if not journal.holds(name):
            journal.keep(name, content)
    return [(EXCHANGE, kept)]
