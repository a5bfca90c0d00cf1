"""Reads the steps and the usage of a conversation's rounds, live or recorded, for a collector."""

from __future__ import annotations

from collections import Counter

from viva.recordings.events.collector import EvalCollector
from viva.records.fault import Fault
from viva.records.trajectory import marked, tool_calls
from viva.records.transcript import NO_USAGE, Metrics, Round, Step, StepKind, StopReason, Transcript, Usage
from viva.records.usage import round_usage

_CUT_OFF = (StopReason.TIMEOUT, StopReason.BUDGET, StopReason.TARGET_ERROR, StopReason.CANCELLED)
_NOTHING = EvalCollector().snapshot()
"""The metrics of a conversation without steps and usage: most exams of agents that answer in plain text."""


def conversation_metrics(transcript: Transcript) -> Metrics:
    """Count what the rounds of a conversation report. If the agent broke the conversation off, that is an abort."""
    telling = [round_ for round_ in transcript.rounds if round_.steps or round_.usage is not NO_USAGE]
    aborted = transcript.stop in _CUT_OFF and transcript.fault in (None, Fault.TARGET)
    if not telling and not aborted:
        return _NOTHING
    collector = EvalCollector(source=transcript.source, take=take_round)
    for round_ in telling:
        take_round(collector, round_)
    if aborted and transcript.stop is not None:
        collector.aborted(transcript.stop.value)
    return collector.snapshot()


def take_round(collector: EvalCollector, round_: Round) -> None:
    """Add one round: its tool calls, and the usage of its model calls, each counted once."""
    called = {id(step) for step in tool_calls(round_.steps)}
    for place, step in enumerate(round_.steps):
        if id(step) in called:
            call = f"{round_.number}-{place}"
            collector.tool_started(call, step.tool)
            collector.tool_completed(call, success=step.error is None)
        elif step.kind is StepKind.MODEL and step.error is not None and marked(step) is None:
            collector.model_failed("error")
    for model, usage in _usage_by_model(round_).items():
        _count(collector, model, usage)


def _usage_by_model(round_: Round) -> dict[str | None, Usage]:
    """Divide the round's usage among the models that its steps name; None stands for an unnamed model.

    Steps report their own figures, or sums of the steps below them. If the steps together report more than the round,
    they are such sums, and the round's figure goes to its only model, or to the unnamed one.
    """
    telling = [step for step in round_.steps if step.usage is not NO_USAGE]
    # Most agents tell of the whole alone.
    total = round_usage(round_) if telling else round_.usage
    if not total.known:
        return {}
    if not telling:
        return {None: total}
    models = Counter(step.model for step in telling if step.model)
    parts: dict[str | None, Usage] = {}
    for step in telling:
        _add(parts, step.model, step)
    told = sum(parts.values(), NO_USAGE)
    if (
        told.input_tokens <= total.input_tokens
        and told.output_tokens <= total.output_tokens
        and told.calls <= total.calls
    ):
        rest = total - told
        if rest.known:
            parts[None] = parts.get(None, NO_USAGE) + rest
        return parts
    return {next(iter(models)) if len(models) == 1 else None: total}


def _add(parts: dict[str | None, Usage], model: str | None, step: Step) -> None:
    parts[model] = parts.get(model, NO_USAGE) + step.usage


def _count(collector: EvalCollector, model: str | None, usage: Usage) -> None:
    collector.model_called(
        model,
        input_tokens=usage.input_tokens if usage.reported else usage.input_tokens or None,
        output_tokens=usage.output_tokens if usage.reported else usage.output_tokens or None,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cost=usage.cost,
        calls=usage.calls,
    )
