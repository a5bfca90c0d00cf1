"""Finds the model calls of a trace, and what each was given, said, cost and decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from viva.recordings.numbers import amount
from viva.recordings.output_text import text_of_output
from viva.recordings.spans.messages import Message, input_messages, output_messages, system_text
from viva.recordings.spans.span import Span, SpanKind
from viva.recordings.spans.spoken import spoken
from viva.recordings.spans.tree import Tree
from viva.recordings.spans.values import loaded
from viva.records.transcript import MOST_DOLLARS, MOST_TOKENS, UNREPORTED, Usage

# `gen_ai.*` first; see the semantic conventions named in `messages`.
_TOKENS = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    "cached_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.details.cache_read_tokens",
        "llm.token_count.prompt_details.cache_read",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.details.cache_write_tokens",
        "llm.token_count.prompt_details.cache_write",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
    ),
}
_AGGREGATED = ("gen_ai.aggregated_usage.input_tokens", "gen_ai.aggregated_usage.output_tokens")
_COSTS = ("llm.cost.total", "gen_ai.usage.cost", "operation.cost")
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "model_name")


@dataclass(frozen=True)
class ModelCall:
    """One call of a model. Spans that nest within it, or repeat it, belong to it."""

    span: Span
    """The outermost, which stands for all."""
    output: Message
    others: tuple[Span, ...] = ()

    @cached_property
    def inputs(self) -> list[Message]:
        """The messages that the model was given; for a model that completes text, its prompt as one user message."""
        for span in (self.span, *self.others):
            if found := input_messages(span):
                return found
        for span in (self.span, *self.others):
            prompts = span.attributes.get("llm.prompts")
            if isinstance(prompts, list) and prompts and isinstance(prompts[0], str):
                return [Message("user", prompts[0])]
            if isinstance(prompt := span.attributes.get("llm.prompts.0.prompt.text"), str):
                return [Message("user", prompt)]
        return []

    @cached_property
    def system(self) -> str | None:
        """The system text that the model was given."""
        return system_text(self.span, self.inputs)

    @cached_property
    def usage(self) -> Usage:
        """What was reported by the outermost span that reports anything."""
        told = (usage_of(span) for span in (self.span, *self.others))
        return next((usage for usage in told if usage is not UNREPORTED), UNREPORTED)

    @property
    def model(self) -> str | None:
        """The model that answered, or the requested one if the trace does not name it."""
        names = (span.attributes.get(key) for span in (self.span, *self.others) for key in _MODELS)
        return next((name for name in names if isinstance(name, str) and name), None)


_FINISH = ("gen_ai.response.finish_reasons", "llm.finish_reason", "gen_ai.completion.0.finish_reason")


def was_cut(call: ModelCall) -> bool:
    """Return whether the output of a model call ended at a limit before it was complete."""
    for span in (call.span, *call.others):
        for key in _FINISH:
            if any(word in str(span.attributes.get(key, "")).lower() for word in ("length", "max_tokens")):
                return True
    return False


def usage_of(span: Span) -> Usage:
    """Return what one span reports of its model call, as one answered call; `UNREPORTED` where it reports nothing."""
    counts: dict[str, Any] = {name: _count(span.attributes, keys) for name, keys in _TOKENS.items()}
    cost = _number(span.attributes, _COSTS)
    if cost is None and not any(counts.values()):
        return UNREPORTED
    return Usage.answered(**counts, cost=cost)


def total_usage(span: Span) -> Usage:
    """Return the sum that a span of a whole run reports of the calls within it; `UNREPORTED` where it has none."""
    given, said = (_count(span.attributes, (key,)) for key in _AGGREGATED)
    if given or said:
        return Usage.answered(given, said, calls=0, cost=_number(span.attributes, _COSTS))
    return usage_of(span)


def _number(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> float | None:
    for key in keys:
        if (value := amount(attributes.get(key))) is not None and value <= MOST_DOLLARS:
            return value
    return None


def _count(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = attributes.get(key)
        if value is None:
            continue
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if 0 <= value <= MOST_TOKENS:  # NaN is not
            return int(value)
    return None


def output_of(span: Span, *, loose: bool) -> Message | None:
    """Return what a model said and asked for.

    Args:
        span: Of a model call.
        loose: Also take the text of `output.value`, for instrumentations that record no output messages.

    Returns:
        None for a span without an output.
    """
    if (message := spoken(output_messages(span))) is not None:
        return message
    value = span.attributes.get("output.value")
    if not loose or value is None:
        return None
    if isinstance(loaded(value), Mapping) and text_of_output(value) == value and usage_of(span) is UNREPORTED:
        return None  # an object that is no message, of a span that cost nothing: it prepares a call
    text = text_of_output(value)
    return Message("assistant", text) if text and text.strip() else None


def spans_of_calls(tree: Tree) -> tuple[list[ModelCall], list[ModelCall]]:
    """Return the model calls of a trace in the order of their start, and the spans of models without an output.

    A model's span within another model's span repeats it, unless a tool or an agent lies between them: the outer one
    stands for both, and takes from the inner what it lacks. A model's span without an output is not counted as a call;
    an empty reply is an output.
    """
    outer: dict[str, list[Span]] = {}
    around = tree.inherited(_outermost)
    for span in tree.spans:
        if span.kind is SpanKind.LLM:
            top = around[span.id] or span
            outer.setdefault(top.id, [])
            if top is not span:
                outer[top.id].append(span)
    spans = {span.id: span for span in tree.spans}
    strict = [_call(spans[top], inner, loose=False) for top, inner in outer.items()]
    known = [call for call in strict if call is not None]
    if not known:
        tried = (_call(spans[top], inner, loose=True) for top, inner in outer.items())
        known = [call for call in tried if call is not None]
    counted = {call.span.id for call in known}
    silent = (_silent(spans[top], inner) for top, inner in outer.items() if top not in counted)
    known += [call for call in silent if call is not None]
    counted = {call.span.id for call in known}
    unheard = [ModelCall(spans[top], _NOTHING, tuple(inner)) for top, inner in outer.items() if top not in counted]

    def starts(call: ModelCall) -> int:
        return tree.places[call.span.id]

    return sorted(known, key=starts), sorted(unheard, key=starts)


def _outermost(parent: Span, above: Span | None) -> Span | None:
    """Return the outermost model span around the children of a span, with only model spans and others between."""
    if parent.kind is SpanKind.LLM:
        return above or parent
    return above if parent.kind is SpanKind.OTHER else None


def _call(top: Span, inner: list[Span], *, loose: bool) -> ModelCall | None:
    for span in (top, *inner):
        output = output_of(span, loose=loose)
        if output is not None:
            return ModelCall(top, output, tuple(inner))
    return None


_NOTHING = Message("assistant")


def _silent(top: Span, inner: list[Span]) -> ModelCall | None:
    """Return the call of a model that answered without a word."""
    for span in (top, *inner):
        messages = output_messages(span)
        # OpenInference leaves an empty text out; others leave out texts that a user does not want recorded.
        stated = "llm.output_messages.0.message.role" in span.attributes
        if messages and not span.failed and (stated or messages[-1].text is not None):
            return ModelCall(top, Message("assistant", ""), tuple(inner))
    return None
