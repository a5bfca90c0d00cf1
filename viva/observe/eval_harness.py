"""`EvalHarness`: observes a session task by task; each completed run goes to the journal and to every sink.

Where observing is off, this module and the options are all that is imported: what observes is in
`viva/observe/observer.py`, and is imported when a harness observes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from viva.errors import SetupError
from viva.observe.options import EvalOptions, checked_options

if TYPE_CHECKING:
    from types import TracebackType

    from viva.observe.observer import EvalInsight, Observer
    from viva.recordings.events.collector import EvalCollector, Session
    from viva.records.eval_run_record import EvalRunRecord

COPILOT = "copilot"


class CompletedRun(NamedTuple):
    """The result of a run; both fields are None if observing is off."""

    record: EvalRunRecord | None
    insight: EvalInsight | None
    """The primary evaluator's insight; `record.insights` has all."""


class EvalHarness:
    """Observes one session. Use one object from one event loop, and close it at the end, or use `async with`."""

    @classmethod
    def attach(
        cls,
        session: Session,
        options: EvalOptions | None = None,
        *,
        take: Callable[[EvalCollector, Any], None] | None = None,
        source: str = COPILOT,
    ) -> EvalHarness:
        """Subscribe to a session. Where observing is off, nothing is subscribed to, opened or written.

        Args:
            session: Anything with the SDK's `on(handler)`.
            options: None means those of the environment.
            take: Maps one event to calls of the collector; None is that of Copilot's events.
            source: What transcripts name as their source.

        Raises:
            SetupError: a sink or evaluator is not there, an evaluator requires a case, a variable has a value that it
                cannot have, or the object is not a session.
            JournalError: the journal cannot be written.
        """
        options = EvalOptions.from_environment() if options is None else checked_options(options, "viva.EvalHarness()")
        if options.is_enabled and not callable(getattr(session, "on", None)):
            raise SetupError(f"{session!r:.80} is not a session: it has no on(handler).")
        harness = cls(options, take=take, source=source)
        if harness._observer is not None:
            harness._observer.collector.attach(session)
        return harness

    def __init__(
        self,
        options: EvalOptions,
        *,
        take: Callable[[EvalCollector, Any], None] | None = None,
        source: str = COPILOT,
    ) -> None:
        """Prepare observing without a session; `collector` then takes events. Most callers want `attach`."""
        self._observer: Observer | None = None
        if checked_options(options, "viva.EvalHarness()").is_enabled:
            # Only here: a host in which observing is off pays for nothing.
            from viva.observe.observer import Observer
            from viva.recordings.events.collector import EvalCollector

            collector = EvalCollector(capture_content=options.capture_content, source=source, take=take)
            self._observer = Observer(options, collector)

    @property
    def enabled(self) -> bool:
        """Return whether observing is on."""
        return self._observer is not None

    @property
    def collector(self) -> EvalCollector | None:
        """The collector that receives the events; None if observing is off."""
        return None if self._observer is None else self._observer.collector

    def begin_task(self, label: str) -> None:
        """Begin a run; call it before each prompt. A run that was not completed is abandoned.

        The span that a telemetry sink opens for it is current in the calling context from now on.

        Raises:
            RuntimeError: the harness is closed.
            TypeError: the label is no text.
        """
        if self._observer is not None:
            self._observer.begin(label)

    async def complete_run(self, *, success: bool | None = None) -> CompletedRun:
        """End the run: evaluate it, and write it to the journal and to every sink.

        Args:
            success: Whether it succeeded; None leaves it to what the session says.

        Returns:
            The record, and the primary evaluator's insight.

        Raises:
            RuntimeError: no task was begun.
            SetupError: an evaluator lacks something, such as a model.
            JournalError: the journal cannot be written.
        """
        if self._observer is None:
            return CompletedRun(None, None)
        return await self._observer.complete(success)

    async def close(self) -> None:
        """End the subscription, wait for the sinks, and close them. May be called twice."""
        if self._observer is not None:
            await self._observer.close()

    async def __aenter__(self) -> EvalHarness:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
