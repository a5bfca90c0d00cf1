"""What opens a telemetry span around a run that is observed: anything with these methods will do."""

from __future__ import annotations

from typing import Protocol

from viva.records.run_record import RunRecord
from viva.records.transcript import Transcript


class RunSpan(Protocol):
    """The open span of one run."""

    trace_id: str | None
    """32 hex digits, as W3C trace context writes it; None if the span is not recorded."""

    def end(self, record: RunRecord | None, transcript: Transcript | None) -> None:
        """End the span; None stands for a run that was given up.

        Called once, in the context in which the span was opened where that is possible. What it raises is reported,
        and stops nothing.
        """
        ...


class RunTracer(Protocol):
    """Opens a span for each run. A sink that has this method is asked, too."""

    def start_run(self, name: str, *, run: str, agent: str) -> RunSpan:
        """Open a span and make it current in the calling context, so that what the run does becomes a part of it.

        Args:
            name: The task's label.
            run: The run's id.
            agent: Who is observed.
        """
        ...
