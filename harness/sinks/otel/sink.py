"""The OpenTelemetry sink: opens a span while a run goes on, and tells of the completed run."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters.errors import SetupError
from harness.exam.subscribers import RunHeader
from harness.sinks.otel.attributes import captures_content
from harness.sinks.otel.names import EvalTelemetry
from records.run_record import RunRecord
from records.transcript import Transcript

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from harness.sinks.otel.measurements import Measurements
    from harness.sinks.otel.providers import Providers

FLUSH_SECONDS = 10.0
FLUSH_EVERY = 500
"""Spans after which the exporter is waited for: what a fast suite emits beyond its queue would be dropped."""

_PREFIX = re.compile(r"[A-Za-z][\w./-]{0,200}", re.ASCII)


@dataclass(slots=True)
class _Open:
    """A run that goes on."""

    span: Span
    before: Context
    """What was current before."""
    ended: int | None = None
    """When it ended, in nanoseconds since the epoch."""


class OpenTelemetrySink:
    """Emits metrics, spans and evaluation events through the host's OpenTelemetry, or as `OTEL_*` variables say."""

    def __init__(self, options: str = "", *, prefix: str | None = None, flush_seconds: float | None = None) -> None:
        """Args:
        options: The same as text: `prefix=copilot.evals,flush=20`.
        prefix: Of the instruments' names; `viva.evals` by default.
        flush_seconds: Longest wait for the exporters at the end; 10 s by default.

        Raises:
            SetupError: OpenTelemetry is not installed, or there is no such option.
        """
        try:
            import opentelemetry.sdk  # noqa: F401
        except ImportError as error:
            raise SetupError("the sink otel requires further packages: pip install 'vivavoce[otel]'.") from error
        given = _parse(options)
        self._prefix = prefix or given.get("prefix") or EvalTelemetry.PREFIX
        if not _PREFIX.fullmatch(self._prefix):
            raise SetupError(
                f"the sink otel cannot name instruments {self._prefix!r}: a prefix begins with a letter, and has only "
                "letters, digits, dots, dashes, slashes and underscores."
            )
        self._flush_seconds = flush_seconds or _seconds(given.get("flush")) or FLUSH_SECONDS
        self._content = captures_content()
        self._providers: Providers | None = None
        self._measurements: Measurements | None = None
        self._open: dict[str, _Open] = {}
        self._unflushed = 0
        # Runs begin on the event loop or in any thread of an embedding program, and are written on another.
        self._turn = threading.Lock()

    def start_run(self, run: RunHeader) -> str:
        """Open the span of a run and make it current: what the agent's own instrumentation emits becomes part of it.

        A further attempt at the same run gets a span of its own.

        Returns:
            The trace id, 32 hexadecimal digits.

        Raises:
            SetupError: an exporter that a variable names is not there.
        """
        from opentelemetry import context, trace

        from harness.sinks.otel.spans import begin_run

        tracer = self._ready().tracers.get_tracer(EvalTelemetry.TRACER_NAME)
        with self._turn:
            earlier = self._open.pop(run.id, None)
        if earlier is not None:
            self._leave(earlier)
            self._abandon(earlier, "another attempt was made")
        before = context.get_current()
        span = begin_run(tracer, run.id, run.subject, run.agent)
        context.attach(trace.set_span_in_context(span))
        with self._turn:
            self._open[run.id] = _Open(span, before)
        return trace.format_trace_id(span.get_span_context().trace_id)

    def end_run(self, run: str) -> None:
        """Note that a run has ended; its span stays open for its record, and is no longer current."""
        found = self._open.get(run)
        if found is not None:
            found.ended = time.time_ns()
            self._leave(found)

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        """Emit everything of one run.

        Raises:
            SetupError: an exporter that a variable names is not there.
            RuntimeError: an exporter failed.
        """
        providers = self._ready()
        self._unflushed += self._tell(providers, record, transcript)
        if self._unflushed >= FLUSH_EVERY:
            self._unflushed = 0
            await asyncio.to_thread(providers.flush, self._flush_seconds)

    async def close(self) -> None:
        """Export what is left, for a limited time.

        Raises:
            TimeoutError: not everything was exported within the time.
            RuntimeError: an exporter failed.
        """
        with self._turn:
            left, self._open = list(self._open.values()), {}
        for each in left:
            self._abandon(each, "the run was not completed")
        if self._providers is not None:
            await asyncio.to_thread(self._providers.close, self._flush_seconds)

    def _tell(self, providers: Providers, record: RunRecord, transcript: Transcript) -> int:
        """Emit metrics, spans and events. Returns the number of spans."""
        from harness.sinks.otel.evaluations import emit
        from harness.sinks.otel.spans import begin_recorded_run, end_of, tell

        tracer = providers.tracers.get_tracer(EvalTelemetry.TRACER_NAME)
        assert self._measurements is not None
        self._measurements.measure(record, transcript)
        with self._turn:
            found = self._open.pop(record.id, None)
        span = begin_recorded_run(tracer, record, transcript) if found is None else found.span
        end = end_of(record, transcript) if found is None else found.ended
        spans = tell(tracer, span, record, transcript, content=self._content)
        span.end(end)
        emit(providers.loggers.get_logger(EvalTelemetry.TRACER_NAME), record, spans, end or time.time_ns())
        return spans.count + 1

    def _ready(self) -> Providers:
        """Find the providers when they are first needed: an agent's own module may be what sets OpenTelemetry up."""
        from harness.sinks.otel.measurements import Measurements
        from harness.sinks.otel.providers import find_providers

        with self._turn:
            if self._providers is None:
                self._providers = find_providers()
                self._measurements = Measurements(self._providers.meters, self._prefix)
            return self._providers

    @staticmethod
    def _leave(run: _Open) -> None:
        """Make current what was before the run."""
        from opentelemetry import context, trace

        # Not by the token: the end may come in another task or thread than the start, where it would not be valid.
        if trace.get_current_span() is run.span:
            context.attach(run.before)

    @staticmethod
    def _abandon(run: _Open, why: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        run.span.set_status(Status(StatusCode.ERROR, why))
        run.span.end(run.ended)


def _parse(options: str) -> dict[str, str]:
    """Read `name=value,name=value`.

    Raises:
        SetupError: there is no such option.
    """
    given = {}
    for part in options.split(","):
        name, mark, value = (each.strip() for each in part.partition("="))
        if not part.strip():
            continue
        if name not in ("prefix", "flush") or not mark or not value:
            raise SetupError(f"the sink otel has no option {part.strip()!r}: it takes prefix=NAME and flush=SECONDS.")
        given[name] = value
    return given


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 3600:
        raise SetupError(f"the sink otel has no flush={text}: a number of seconds above 0 is required.")
    return seconds
