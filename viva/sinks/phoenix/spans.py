"""The spans of a run that Viva conducted, as
OTLP with the attributes of OpenInference, so that Phoenix shows the exam.

The run is the trace: a span for it, one for each round, one for each step. Their ids follow from the run's, so that a
run sent twice is there once. https://github.com/Arize-ai/openinference/tree/main/spec
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from viva.judge.steps import to_text
from viva.judge.trajectory.decisions import as_arguments
from viva.records.run_record import RunRecord
from viva.records.text import one_line, storable
from viva.records.transcript import Round, Step, StepKind, Transcript
from viva.records.wording import counted

TEXT = 20_000
"""Characters of one attribute."""
KINDS = {
    StepKind.TOOL: "TOOL",
    StepKind.ACTION: "TOOL",
    StepKind.MODEL: "LLM",
    StepKind.THINK: "CHAIN",
    StepKind.AGENT: "AGENT",
}


@dataclass(frozen=True, slots=True)
class SpanIds:
    """The ids of a run's trace and spans, in hexadecimal."""

    run: str
    attempt: int

    @property
    def trace(self) -> str:
        """Return the id of the trace: 16 bytes in hexadecimal digits."""
        return self._digest("trace")[:32]

    def span(self, subject: str) -> str:
        """Return the id of the span of a run, round or step: 8 bytes in hexadecimal digits."""
        return self._digest(f"span {subject}")[:16]

    def _digest(self, what: str) -> str:
        return hashlib.sha256(f"viva\0{self.run}\0{self.attempt}\0{what}".encode(errors="replace")).hexdigest()


def spans_of(record: RunRecord, transcript: Transcript, project: str) -> bytes:
    """Make the OTLP request with the spans of a run, serialised."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    _set(resource.resource.attributes, {"openinference.project.name": project, "service.name": "viva"})
    scope = resource.scope_spans.add()
    scope.scope.name = "viva"
    for span in _spans(record, transcript):
        span.write(scope.spans.add())
    data: bytes = request.SerializeToString()
    return data


@dataclass(frozen=True, slots=True)
class _Span:
    ids: SpanIds
    subject: str
    parent: str | None
    name: str
    begin: float
    end: float
    attributes: Mapping[str, Any]
    error: str | None = None

    def write(self, span: Any) -> None:
        span.trace_id = bytes.fromhex(self.ids.trace)
        span.span_id = bytes.fromhex(self.ids.span(self.subject))
        if self.parent is not None:
            span.parent_span_id = bytes.fromhex(self.ids.span(self.parent))
        span.name = one_line(self.name, 200) or "step"
        span.kind = 1
        span.start_time_unix_nano = _nanoseconds(self.begin)
        span.end_time_unix_nano = _nanoseconds(max(self.begin, self.end))
        _set(span.attributes, self.attributes)
        span.status.code = 1 if self.error is None else 2
        if self.error is not None:
            span.status.message = storable(self.error)[:1000]


def _spans(record: RunRecord, transcript: Transcript) -> Iterator[_Span]:
    ids = SpanIds(record.id, record.attempt)
    began = record.timing.started
    rounds = list(_timed(transcript, began))
    end = max([began + record.timing.seconds, *(end for _, _, end in rounds)])
    said = next((each.examiner for each in transcript.rounds if each.examiner), "")
    last = next((each.agent for each in reversed(transcript.rounds) if each.agent), "")
    words = {
        "openinference.span.kind": "AGENT",
        "input.value": said,
        "output.value": last,
        "session.id": record.id,
        "metadata": to_text(
            {
                "run": record.id,
                "case": record.subject,
                "agent": record.agent,
                "trial": record.trial,
                "outcome": record.outcome.value,
                "score": record.score,
                "rounds": counted(record.rounds, "round"),
            }
        ),
    }
    yield _Span(ids, record.id, None, f"{record.subject} by {record.agent}", began, end, words, record.error)
    taken: set[str] = {record.id}
    for round_, begin, finish in rounds:
        taken.add(round_.id)
        yield _round(ids, record.id, round_, begin, finish)
        for place, step in enumerate(round_.steps):
            # An agent that gives two steps one id has two steps; verdicts are about the first.
            subject = step.id if step.id not in taken else f"{round_.id} {place} {step.id}"
            taken.add(subject)
            span = _step(ids, round_, step, begin + (finish - begin) * place / (len(round_.steps) or 1), finish)
            yield replace(span, subject=subject)


def _timed(transcript: Transcript, began: float) -> Iterator[tuple[Round, float, float]]:
    """Each round with its begin and end, in seconds since the epoch; one without times begins where the last ended."""
    now = began
    for each in transcript.rounds:
        begin = each.started if each.started is not None else now
        now = begin + max(0.0, each.agent_seconds)
        yield each, begin, now


def _round(ids: SpanIds, run: str, round_: Round, begin: float, end: float) -> _Span:
    words = {
        "openinference.span.kind": "CHAIN",
        "input.value": round_.examiner,
        "output.value": round_.agent,
        "session.id": run,
        **_tokens(round_.usage.input_tokens, round_.usage.output_tokens),
    }
    return _Span(ids, round_.id, run, f"round {round_.number}", begin, end, words, round_.error)


def _step(ids: SpanIds, round_: Round, step: Step, begin: float, end: float) -> _Span:
    began = step.started if step.started is not None else begin
    kind = KINDS.get(step.kind, "CHAIN")
    given = step.tool_input if isinstance(step.tool_input, str) or step.tool_input is None else to_text(step.tool_input)
    words: dict[str, Any] = {
        "openinference.span.kind": kind,
        "input.value": given,
        "output.value": step.result,
        "metadata": to_text({"thought": step.thought, "plan": step.plan, "observation": step.observation}),
        "llm.model_name": step.model if kind == "LLM" else None,
        **(_tokens(step.usage.input_tokens, step.usage.output_tokens) if kind == "LLM" else {}),
    }
    if step.tool is not None:
        words |= {"tool.name": step.tool, "tool.parameters": _parsable(step.tool_input)}
    finish = began + step.seconds if step.seconds is not None else min(began, end)
    return _Span(ids, step.id, round_.id, step.tool or step.kind.value, began, finish, words, step.error)


def _tokens(given: int, written: int) -> dict[str, int]:
    if not given and not written:
        return {}
    return {
        "llm.token_count.prompt": given,
        "llm.token_count.completion": written,
        "llm.token_count.total": given + written,
    }


def _set(attributes: Any, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if value is None:
            continue
        added = attributes.add()
        added.key = key
        if isinstance(value, int):
            added.value.int_value = min(value, 2**63 - 1)
        else:
            text = storable(str(value))
            added.value.string_value = text if len(text) <= TEXT else f"{text[:TEXT]}… [cut]"


def _parsable(given: Any) -> str | None:
    """Write arguments as JSON that the server, which parses it, can also write: it fails on numbers beyond 64 bits."""
    arguments = as_arguments(given)
    try:
        return to_text(_bounded(arguments)) if isinstance(arguments, dict) else None
    except RecursionError:
        return None


def _bounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _bounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_bounded(item) for item in value]
    if isinstance(value, int | float) and not -(2**63) <= value < 2**63:
        return "(beyond 64 bits)"
    return value


def _nanoseconds(seconds: float) -> int:
    return min(max(0, int(seconds * 1_000_000) * 1000), 2**63 - 1)
