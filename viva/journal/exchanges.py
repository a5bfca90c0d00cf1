"""Reads what judges' models were asked and answered from a journal; other readers pass these lines over."""

from __future__ import annotations

from pathlib import Path

from viva.journal.kept_files import read_sound
from viva.journal.lines import EXCHANGE, HEAD, parse, raw_lines
from viva.journal.long_texts import restore_texts
from viva.journal.reader import StoredRun
from viva.records.codec import decode
from viva.records.exchange.exchanges import Exchange, KeptExchanges
from viva.records.exchange.packing import unpack
from viva.records.exchange.spoken_lines import spoken_lines

__all__ = ["EXCHANGE", "exchanges_of", "find_exchanges"]


def find_exchanges(folder: Path, run: str | None = None) -> dict[str, tuple[int, KeptExchanges]]:
    """Return the attempt and the exchanges of the latest judgement of each run that has some, by run id.

    Args:
        folder: The journal's folder.
        run: The id of the only run to read; None for all.

    Raises:
        JournalError: there is no journal, or it cannot be read.
    """
    found: dict[str, tuple[int, KeptExchanges]] = {}
    for _, _, line in raw_lines(folder):
        head = HEAD.match(line)
        if head is None or head[1] != EXCHANGE.encode() or (run is not None and head[2].decode() != run):
            continue
        if (event := parse(line)) is None:
            continue
        try:
            kept = decode(KeptExchanges, restore_texts(folder, event.data))
        except ValueError:
            continue
        if event.run not in found or found[event.run][0] <= event.attempt:
            found[event.run] = event.attempt, kept
    return found


def exchanges_of(stored: StoredRun, kept: KeptExchanges) -> list[Exchange]:
    """Return the exchanges of a run.

    Raises:
        ValueError: they cannot be read, or are not what was stored; says why.
    """
    return unpack(kept, spoken_lines(stored.transcript), lambda name: read_sound(stored.folder, name))
