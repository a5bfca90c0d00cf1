"""Turns a run into spans: the run, its rounds, and the steps of the agent, each with its own times."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeGuard

from viva.records.run_record import RunRecord
from viva.records.trajectory import CALL_ID, is_further_output
from viva.records.transcript import Round, Step, StepKind, Transcript
from viva.sinks.otel import names
from viva.sinks.otel.attributes import Attributes, as_json, cleaned, message, run_attributes, text, usage_attributes

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

VIVA = "viva"
"""The provider that Viva's spans name: their attributes are the same whichever model an agent uses."""
MOST_SPANS = 10_000
"""Spans of one run; more would be more than any backend shows of one trace."""
LATEST = 9e9
"""Seconds since the epoch: OTLP has 64 bits for nanoseconds."""


@dataclass(slots=True)
class RunSpans:
    """The spans of one run, by the ids that verdicts use."""

    run: Span
    by_subject: dict[str, Span] = field(default_factory=dict)
    """Id of a round or step to its span."""
    count: int = 0

    def about(self, subject: str) -> Span:
        """The span that a judgement is about: of a round, a step, or the run."""
        return self.by_subject.get(subject, self.run)


def begin_run(
    tracer: Tracer, run: str, subject: str, agent: str, start: float | None = None, *, parent: Context | None = None
) -> Span:
    """Start the span of a run.

    Args:
        tracer: Makes it.
        run: The run's id.
        subject: Case, task label or trace.
        agent: Its name or SPEC.
        start: Seconds since the epoch; None is now.
        parent: Holds the span that it becomes a child of; None is the current context.
    """
    attributes = cleaned(
        {
            names.OPERATION: "invoke_workflow",
            names.PROVIDER: VIVA,
            names.WORKFLOW: subject,
            names.AGENT_NAME: agent,
            names.CONVERSATION: run,
            names.RUN: run,
            names.SUBJECT: subject,
        }
    )
    name = f"invoke_workflow {attributes[names.WORKFLOW]}"
    began = None if start is None else _nanoseconds(start)
    return tracer.start_span(name, parent, attributes=attributes, start_time=began)


def begin_recorded_run(tracer: Tracer, record: RunRecord, transcript: Transcript) -> Span:
    """Start the span of a run that had no open span, in the trace that the run names, if any."""
    from opentelemetry.context import attach, detach

    token = attach(_trace_of(record.trace_id))
    try:
        return begin_run(tracer, record.id, record.subject, record.agent, _start_of(record, transcript))
    finally:
        detach(token)


def tell(tracer: Tracer, span: Span, record: RunRecord, transcript: Transcript, *, content: bool) -> RunSpans:
    """Add rounds and steps below the span of a run, and say on it how the run ended. It is left open.

    Args:
        tracer: Makes the spans.
        span: The run's.
        record: How the run ended.
        transcript: What was said and done.
        content: Also export messages, arguments and results.
    """
    from opentelemetry.trace import Status, StatusCode

    spans = RunSpans(span)
    span.set_attributes(run_attributes(record))
    if not record.outcome.counts or record.error:
        span.set_attribute(names.ERROR_TYPE, record.outcome.value)
        span.set_status(Status(StatusCode.ERROR, text(record.error or record.outcome.value)[:1000]))
    start = _start_of(record, transcript)
    for round_ in transcript.rounds:
        if spans.count >= MOST_SPANS:
            break
        _tell_round(tracer, spans, record, round_, start, content=content)
    return spans


def end_of(record: RunRecord, transcript: Transcript) -> int:
    """When a run ended, in nanoseconds since the epoch: by its record, and no earlier than its last round."""
    start = _start_of(record, transcript)
    ends = [round_.started + round_.agent_seconds for round_ in transcript.rounds if _is_time(round_.started)]
    return _nanoseconds(max([start + max(0.0, record.timing.seconds), *ends]))


def _tell_round(
    tracer: Tracer, spans: RunSpans, record: RunRecord, round_: Round, start: float, *, content: bool
) -> None:
    from opentelemetry.trace import set_span_in_context

    attributes: Attributes = {
        **cleaned(
            {
                names.OPERATION: "invoke_agent",
                names.PROVIDER: VIVA,
                names.AGENT_NAME: record.agent,
                names.AGENT_VERSION: record.agent_version,
                names.CONVERSATION: record.id,
                names.ROUND: round_.number,
            }
        ),
        **usage_attributes(round_.usage),
    }
    if content:
        if round_.examiner is not None:
            attributes[names.INPUT_MESSAGES] = message("user", round_.examiner)
        if round_.agent is not None:
            attributes[names.OUTPUT_MESSAGES] = message("assistant", round_.agent)
    name = f"invoke_agent {attributes[names.AGENT_NAME]}"
    known = _Times(round_.started, round_.agent_seconds, start)
    span = known.span(tracer, name, attributes, set_span_in_context(spans.run), round_.error)
    spans.by_subject[round_.id] = span
    spans.count += 1
    for step in round_.steps:
        if spans.count >= MOST_SPANS:
            return
        _tell_step(tracer, spans, step, span, known.start, content=content)


def _tell_step(tracer: Tracer, spans: RunSpans, step: Step, round_span: Span, start: float, *, content: bool) -> None:
    from opentelemetry.trace import SpanKind, set_span_in_context

    parent = spans.by_subject.get(step.parent_id or "", round_span)
    attributes: Attributes = {names.PROVIDER: VIVA, **cleaned({names.STEP: step.id}), **usage_attributes(step.usage)}
    if step.from_environment:
        attributes[names.STEP_RECORDED_BY] = step.recorded_by
    kind = SpanKind.INTERNAL
    if step.kind in (StepKind.TOOL, StepKind.ACTION) and not is_further_output(step):
        operation = "execute_tool"
        what: str | None = step.tool or step.kind.value
        # The source's own id, by which the agent's own telemetry names the call, where there is one.
        call = step.attributes.get(CALL_ID)
        attributes |= cleaned({names.TOOL_NAME: what, names.TOOL_CALL_ID: call if isinstance(call, str) else step.id})
        if content and step.tool_input is not None:
            attributes[names.TOOL_ARGUMENTS] = as_json(step.tool_input)
        if content and step.result is not None:
            attributes[names.TOOL_RESULT] = text(step.result)
    elif step.kind is StepKind.MODEL:
        operation, what, kind = "chat", step.model, SpanKind.CLIENT
        attributes |= cleaned({names.MODEL: step.model})
    elif step.kind is StepKind.AGENT:
        operation, what = "invoke_agent", step.agent
        attributes |= cleaned({names.AGENT_NAME: step.agent})
    else:
        # Thoughts and further output are no operations of the conventions; verdicts about one are about its round.
        spans.by_subject[step.id] = parent
        return
    attributes |= cleaned({names.OPERATION: operation})
    name = " ".join(cleaned({"operation": operation, "what": what or None}).values())  # type: ignore[arg-type]
    known = _Times(step.started, step.seconds or 0.0, start)
    spans.by_subject[step.id] = known.span(tracer, name, attributes, set_span_in_context(parent), step.error, kind)
    spans.count += 1


class _Times:
    """When something began and ended; where its source does not say, at its parent's start, without duration."""

    def __init__(self, started: float | None, seconds: float, otherwise: float) -> None:
        self._known = _is_time(started)
        self.start = started if _is_time(started) else otherwise
        self._seconds = max(0.0, seconds) if self._known else 0.0

    def span(
        self,
        tracer: Tracer,
        name: str,
        attributes: Attributes,
        parent: Context,
        error: str | None,
        kind: object = None,
    ) -> Span:
        """Write a span that has ended."""
        from opentelemetry.trace import SpanKind, Status, StatusCode

        if not self._known:
            attributes = {**attributes, names.TIMED: False}
        if error is not None:
            attributes = {**attributes, names.ERROR_TYPE: "_OTHER"}
        span = tracer.start_span(
            name,
            parent,
            kind if isinstance(kind, SpanKind) else SpanKind.INTERNAL,
            attributes,
            start_time=_nanoseconds(self.start),
        )
        if error is not None:
            span.set_status(Status(StatusCode.ERROR, text(error)[:1000]))
        span.end(_nanoseconds(self.start + self._seconds))
        return span


def _start_of(record: RunRecord, transcript: Transcript) -> float:
    """When a run began; a recording's record says when it was judged, and its rounds when they were held."""
    times = (record.timing.started, *(round_.started for round_ in transcript.rounds))
    return min((time for time in times if _is_time(time)), default=0.0)


def _is_time(seconds: float | None) -> TypeGuard[float]:
    """Return whether a source said when something was: a recording may say anything."""
    return seconds is not None and 0 < seconds < LATEST


def _trace_of(trace_id: str | None) -> Context:
    """A context in which a span becomes part of a trace; an empty one where the id is not one of OpenTelemetry's.

    The trace's own spans are not known here, so the parent is unknown to backends, which show such a span at the top.
    """
    from opentelemetry.context import Context as NewContext
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    try:
        number = int(trace_id or "", 16) if trace_id and len(trace_id) == 32 else 0
    except ValueError:
        number = 0
    if not number:
        return NewContext()
    parent = SpanContext(number, secrets.randbits(63) + 1, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return set_span_in_context(NonRecordingSpan(parent), NewContext())


def _nanoseconds(seconds: float) -> int:
    return int(min(seconds, LATEST) * 1_000_000_000) if seconds > 0 else 0
