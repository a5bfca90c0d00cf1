"""The OpenTelemetry sink: keeps a span open during a run, and exports the completed run."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from typing import TYPE_CHECKING

from viva.errors import SetupError
from viva.records.run_record import RunRecord
from viva.records.transcript import Transcript
from viva.sinks.otel.attributes import captures_content
from viva.sinks.otel.names import EvalTelemetry

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from viva.sinks.otel.measurements import Measurements
    from viva.sinks.otel.providers import Providers

FLUSH_SECONDS = 10.0
FLUSH_EVERY = 500
"""Spans after which the exporter is waited for: what a fast suite emits beyond its queue would be dropped."""

_RUN = "viva-run"
"""The key of a context under which the run is found whose span is current."""
_PREFIX = re.compile(r"[A-Za-z][\w./-]{0,200}", re.ASCII)


class OpenRun:
    """The span of a run in progress; a `RunSpan`. It ends with the figures of the record, once that is written."""

    def __init__(self, span: Span, before: Context) -> None:
        """Args:
        span: The run's, which is current.
        before: What was current before.
        """
        from opentelemetry.trace import format_trace_id

        self.span = span
        self.trace_id: str | None = format_trace_id(span.get_span_context().trace_id)
        self.ended: int | None = None
        """When the run ended, in nanoseconds since the epoch; None while it is in progress."""
        self.given_up = False
        self.before = before
        """What was current before."""

    def end(self, record: RunRecord | None, transcript: Transcript | None) -> None:
        """Note that the run has ended, and make current what was before; a run that was abandoned ends as an error."""
        from opentelemetry import context, trace

        self.ended = time.time_ns()
        # Not by the token: the end may come in another task or thread than the start, where it would not be valid.
        if trace.get_current_span() is self.span:
            context.attach(self.before)
        if record is None:
            self.give_up("the run was abandoned")

    def give_up(self, why: str) -> None:
        """End the span as an error; one that has ended stays as it is."""
        from opentelemetry.trace import Status, StatusCode

        if not self.given_up:
            self.given_up = True
            self.span.set_status(Status(StatusCode.ERROR, why))
            self.span.end(self.ended)


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
        self._open: dict[str, OpenRun] = {}
        self._unflushed = 0
        self._in_step = True
        """Whether the exporters kept up so far."""
        # Runs begin on the event loop or in any thread of an embedding program, and are written on another.
        self._turn = threading.Lock()

    def start_run(self, name: str, *, run: str, agent: str) -> OpenRun:
        """Open the span of a run and make it current: what the agent's own instrumentation emits becomes part of it.

        Args:
            name: The task's label.
            run: The run's id.
            agent: Who is examined or observed.

        Raises:
            SetupError: an exporter that a variable names is not there.
        """
        from opentelemetry import context, trace

        from viva.sinks.otel.spans import begin_run

        tracer = self._ready().tracers.get_tracer(EvalTelemetry.TRACER_NAME)
        before = _without_ended_runs(context.get_current())
        opened = OpenRun(begin_run(tracer, run, name, agent, parent=before), before)
        context.attach(context.set_value(_RUN, opened, trace.set_span_in_context(opened.span, before)))
        with self._turn:
            self._open[run] = opened
        return opened

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        """Emit everything of one run; what the exporters make of it is reported by `close`.

        Raises:
            SetupError: an exporter that a variable names is not there.
        """
        providers = self._ready()
        self._unflushed += self._tell(providers, record, transcript)
        if self._unflushed < FLUSH_EVERY or not self._in_step:
            return
        self._unflushed = 0
        try:
            await asyncio.to_thread(providers.flush, self._flush_seconds)
        except (TimeoutError, RuntimeError):
            # Nobody receives it: waiting again and again would slow the runs down. `close` reports it.
            self._in_step = False

    async def close(self) -> None:
        """Export what is left, for a limited time.

        Raises:
            TimeoutError: not everything was exported within the time.
            RuntimeError: an exporter failed.
        """
        with self._turn:
            left, self._open = list(self._open.values()), {}
        for each in left:
            each.give_up("the run was not completed")
        if self._providers is not None:
            await asyncio.to_thread(self._providers.close, self._flush_seconds)

    def _tell(self, providers: Providers, record: RunRecord, transcript: Transcript) -> int:
        """Emit metrics, spans and events. Returns the number of spans."""
        from viva.sinks.otel.evaluations import emit
        from viva.sinks.otel.spans import begin_recorded_run, end_of, tell

        tracer = providers.tracers.get_tracer(EvalTelemetry.TRACER_NAME)
        assert self._measurements is not None
        self._measurements.measure(record, transcript)
        with self._turn:
            found = self._open.pop(record.id, None)
        if found is not None and found.given_up:
            found = None
        span = begin_recorded_run(tracer, record, transcript) if found is None else found.span
        end = end_of(record, transcript) if found is None else found.ended
        spans = tell(tracer, span, record, transcript, content=self._content)
        span.end(end)
        emit(providers.loggers.get_logger(EvalTelemetry.TRACER_NAME), record, spans, end or time.time_ns())
        return spans.count + 1

    def _ready(self) -> Providers:
        """Look up the providers when they are first needed, because an agent's own module may set up OpenTelemetry."""
        from viva.sinks.otel.measurements import Measurements
        from viva.sinks.otel.providers import find_providers

        with self._turn:
            if self._providers is None:
                self._providers = find_providers()
                self._measurements = Measurements(self._providers.meters, self._prefix)
            return self._providers


def _without_ended_runs(current: Context) -> Context:
    """What was current before runs that have ended in another task: only that task could make it current again."""
    from opentelemetry import context, trace

    while isinstance(opened := context.get_value(_RUN, current), OpenRun):
        if opened.ended is None or trace.get_current_span(current) is not opened.span:
            break
        current = opened.before
    return current


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
