"""What a sink is: anything with these methods will do, nothing need be inherited."""

from __future__ import annotations

from typing import Protocol

from records.run_record import RunRecord
from records.transcript import Transcript


class Sink(Protocol):
    """Receives every completed run."""

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        """Take one run; called once per run, from one task at a time.

        Raises:
            Exception: whatever is raised is reported to the user, and stops neither the run nor other sinks.
        """
        ...

    async def close(self) -> None:
        """Flush and release; called once, after the last run."""
        ...
