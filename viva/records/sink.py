"""The Protocol of sinks: any object with these methods is one, without inheritance."""

from __future__ import annotations

from typing import Protocol

from viva.records.run_record import RunRecord
from viva.records.transcript import Transcript


class Sink(Protocol):
    """Receives every completed run.

    A sink may also have these plain methods, which must return at once:

    - `begin(folder)` is called with the folder of the journal, before the first run;
    - `start_run(name, run=…, agent=…)` makes the sink a `RunTracer`: it is called in the task of a run that is being
      conducted or observed, so that the span that it makes current there is current for the agent.
    """

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        """Receive one run. It is called once for each run, from one task at a time.

        Raises:
            Exception: any exception is reported to the user, and stops neither the run nor other sinks.
        """
        ...

    async def close(self) -> None:
        """Flush the output and release resources. It is called once, after the last run."""
        ...
