"""Hands what judges' models were asked and answered to the journal, as one event of the run."""

from __future__ import annotations

from viva.journal.exchanges import EXCHANGE
from viva.journal.writer import JournalWriter
from viva.judge.exchange.log import ExchangeLog
from viva.records.exchange.exchanges import KeptExchanges
from viva.records.transcript import Transcript


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
