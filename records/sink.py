"""What a sink is: anything with these methods will do, nothing need be inherited."""

from __future__ import annotations

from typing import Protocol

from records.run_record import RunRecord


class Sink(Protocol):
    """Receives every finished run."""

    async def write(self, record: RunRecord) -> None:
        """Take one record; called once per run, from one task at a time."""
        ...

    async def close(self) -> None:
        """Flush and release; called once, after the last record."""
        ...
