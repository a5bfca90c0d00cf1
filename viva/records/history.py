"""What a history of runs is: anything with this method will do, nothing need be inherited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from viva.records.eval_run_record import EvalRunRecord


class EvalHistorySource(Protocol):
    """Gives the runs that were recorded before."""

    async def runs(self, task: str | None = None, *, limit: int | None = None) -> Sequence[EvalRunRecord]:
        """Return recorded runs, newest last.

        Args:
            task: Only runs of this task; None means all.
            limit: Only the newest so many; None means all.

        Raises:
            Exception: whatever is raised is reported; a run is then judged without its history.
        """
        ...
