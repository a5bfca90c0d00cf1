"""The replaying examiner: asks the questions of a stored conversation again, whatever the answers are."""

from __future__ import annotations

from viva.records.transcript import NO_USAGE, Transcript


class ReplayedExaminer:
    """Repeats the messages of a transcript's examiner."""

    name = "replay"
    may_repeat = True
    usage = NO_USAGE

    def __init__(self, transcript: Transcript) -> None:
        self._messages = iter([round_.examiner for round_ in transcript.rounds if round_.examiner])

    async def recall(self, reply: str | None, message: str) -> None:
        """Pass over the next stored message."""
        next(self._messages, None)

    async def next_message(self, reply: str | None) -> str | None:
        """Return the next stored message, or None after the last."""
        return next(self._messages, None)
