"""Emits the results of evaluators as `gen_ai.evaluation.result` events, each in the context of its span."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from viva.records.run_record import RunRecord
from viva.records.text import one_line
from viva.records.verdict import Insight, Label
from viva.sinks.otel import names
from viva.sinks.otel.attributes import cleaned, run_tags, text
from viva.sinks.otel.spans import RunSpans

if TYPE_CHECKING:
    from opentelemetry._logs import Logger

MOST_EVENTS = 2_000
"""Maximum number of events of one run."""
EXPLANATION_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One result of an evaluation."""

    name: str
    """The evaluator, or evaluator and dimension or criterion, separated by a dot."""
    subject: str
    evaluator: str
    label: str | None = None
    score: float | None = None
    explanation: str = ""


def evaluations(record: RunRecord) -> Iterator[Evaluation]:
    """Yield what evaluators said: of each insight the overall result, its dimensions, and its verdicts."""
    for insight in record.insights:
        about, name = insight.subject, insight.evaluator
        yield Evaluation(name, about, name, insight.label, insight.score, insight.summary)
        for dimension, score in insight.scores.items():
            yield Evaluation(f"{name}.{dimension}", about, name, None, score)
        yield from _verdicts(insight)


def _verdicts(insight: Insight) -> Iterator[Evaluation]:
    for verdict in insight.verdicts:
        name = (
            f"{insight.evaluator}.{verdict.criterion}" if verdict.criterion != insight.evaluator else verdict.criterion
        )
        why = " ".join(part for part in (verdict.statement, verdict.reason) if part)
        yield Evaluation(name, verdict.subject, insight.evaluator, verdict.label, verdict.score, why)


def emit(logger: Logger, record: RunRecord, spans: RunSpans, at: int) -> None:
    """Emit the events of a run.

    Args:
        logger: Of the event logger.
        record: With the insights.
        spans: The spans that judgements are about.
        at: When the run ended, in nanoseconds since the epoch.
    """
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.trace import set_span_in_context

    tags = run_tags(record)
    for number, found in enumerate(evaluations(record)):
        if number >= MOST_EVENTS:
            break
        attributes = {
            **tags,
            **cleaned(
                {
                    names.AZURE_EVENT: names.EVALUATION_EVENT,
                    names.EVALUATION_NAME: found.name,
                    names.EVALUATION_LABEL: found.label or None,
                    names.EVALUATION_SCORE: found.score,
                    names.EVALUATOR: found.evaluator,
                    names.RUN: record.id,
                    names.CONVERSATION: record.id,
                    names.VERDICT_SUBJECT: found.subject,
                    names.ERROR_TYPE: "_OTHER" if found.label == Label.ERROR else None,
                }
            ),
        }
        if found.explanation:
            attributes[names.EVALUATION_EXPLANATION] = text(found.explanation)[:EXPLANATION_LENGTH]
        logger.emit(
            LogRecord(
                timestamp=at,
                context=set_span_in_context(spans.about(found.subject)),
                severity_number=SeverityNumber.INFO,
                body=_words(found),
                attributes=attributes,
                event_name=names.EVALUATION_EVENT,
            )
        )


def _words(found: Evaluation) -> str:
    """Return the result in one line, for backends that list logs by their bodies."""
    score = "" if found.score is None else f"{found.score:.2f}"
    return f"{one_line(found.name, 200)}: {' '.join(part for part in (one_line(found.label or '', 60), score) if part)}"
