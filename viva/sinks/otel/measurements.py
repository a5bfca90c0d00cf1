"""Measures a run: tokens, tool calls, cost, scores and duration, as OpenTelemetry metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from viva.records.run_record import RunRecord
from viva.records.trajectory import tool_calls as called_tools
from viva.records.transcript import Transcript, Usage
from viva.sinks.otel import names
from viva.sinks.otel.attributes import Attributes, Value, cleaned, run_tags
from viva.sinks.otel.names import EvalTelemetry, Instrument

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider

SCORE_BUCKETS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0)
SECONDS_BUCKETS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)


class Measurements:
    """The public instruments."""

    def __init__(self, meters: MeterProvider, prefix: str = EvalTelemetry.PREFIX) -> None:
        meter = meters.get_meter(prefix)

        def name(instrument: Instrument) -> str:
            return f"{prefix}.{instrument}"

        self._tokens = meter.create_counter(name(Instrument.TOKENS), "{token}", "Tokens of evaluated runs.")
        self._tool_calls = meter.create_counter(name(Instrument.TOOL_CALLS), "{call}", "Tool calls of evaluated runs.")
        self._cost = meter.create_counter(name(Instrument.COST), "USD", "Cost of evaluated runs, where it is known.")
        self._billing_units = meter.create_counter(
            name(Instrument.BILLING_UNITS), "{unit}", "What providers bill evaluated runs by, besides tokens and money."
        )
        self._score = meter.create_histogram(
            name(Instrument.SCORE), "1", "Scores of runs.", explicit_bucket_boundaries_advisory=SCORE_BUCKETS
        )
        self._duration = meter.create_histogram(
            name(Instrument.DURATION), "s", "Duration of runs.", explicit_bucket_boundaries_advisory=SECONDS_BUCKETS
        )

    def measure(self, record: RunRecord, transcript: Transcript) -> None:
        """Record the figures of one run."""
        tags = run_tags(record)
        for role, model, usage in _usage(record):
            whose = cleaned({**tags, names.ROLE: role, names.MODEL: model})
            for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                if count:
                    self._tokens.add(count, {**whose, names.TOKEN_TYPE: kind})
            if usage.cost:
                self._cost.add(usage.cost, whose)
        for (tool, failed), count in tool_calls(record, transcript).items():
            self._tool_calls.add(count, {**tags, **cleaned({names.TOOL_NAME: tool}), names.TOOL_FAILED: failed})
        for unit, amount in (record.metrics.billing_units if record.metrics else {}).items():
            self._billing_units.add(max(0.0, amount), {**tags, **cleaned({names.BILLING_UNIT: unit})})
        for dimension, score in scores(record):
            self._score.record(score, {**tags, **dimension})
        self._duration.record(max(0.0, record.timing.seconds), tags)


def scores(record: RunRecord) -> Iterator[tuple[Attributes, float]]:
    """Yield the scores of a run as a whole, with evaluator and dimension."""
    for insight in record.insights:
        if insight.subject != record.id:
            continue
        named: Mapping[str, float | None] = {names.OVERALL: insight.score, **insight.scores}
        for dimension, score in named.items():
            if score is not None:
                yield cleaned({names.EVALUATOR: insight.evaluator, names.DIMENSION: dimension}), score


def tool_calls(record: RunRecord, transcript: Transcript) -> Counter[tuple[str, bool]]:
    """Count the tool calls by name, and by whether they failed: as observed, or else from the steps."""
    counted: Counter[tuple[str, bool]] = Counter()
    metrics = record.metrics
    if metrics is not None and metrics.tool_calls:
        for tool, calls in metrics.tool_calls.items():
            failed = min(calls, metrics.tool_failures.get(tool, 0))
            counted[tool, True] += failed
            counted[tool, False] += calls - failed
    else:
        for step in (step for round_ in transcript.rounds for step in called_tools(round_.steps)):
            counted[step.tool or step.kind.value, step.error is not None] += 1
    return +counted


def _usage(record: RunRecord) -> Iterator[tuple[str, Value | None, Usage]]:
    """Yield role, model and usage; the agent's by model where that was counted.

    Its cost may be known for the whole run alone: then it is counted without a model.
    """
    by_model = record.metrics.usage_by_model if record.metrics is not None else {}
    for role, usage in record.usage.items():
        if role == "target" and by_model:
            yield from ((role, model, part) for model, part in by_model.items())
            if not any(part.cost for part in by_model.values()):
                yield role, None, Usage(cost=usage.cost)
        else:
            yield role, record.setting.judge_model if role == "judge" else None, usage
