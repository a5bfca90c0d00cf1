"""What a sink is: anything with these methods will do, nothing need be inherited."""

from __future__ import annotations

from typing import Protocol

from records.run_record import RunRecord
from records.transcript import Transcript


class Sink(Protocol):
    """Receives every completed run.

    A sink may also have these plain methods, which must return at once:

    - `begin(folder)` is told the folder of the journal, before the first run;
    - `start_run(run)` and `end_run(run_id)` are called in the task of a run that is conducted now, so that what they
      make current there (the span of a trace) is current for the agent. `run` is a `RunHeader`.
    """

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        """Take one run; called once per run, from one task at a time.

        Raises:
            Exception: whatever is raised is reported to the user, and stops neither the run nor other sinks.
        """
        ...

    async def close(self) -> None:
        """Flush and release; called once, after the last run."""
        ...
