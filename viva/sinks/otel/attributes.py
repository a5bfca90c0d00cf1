"""Makes attributes of runs, rounds and steps; everything an agent said is cut and made fit for every exporter."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from viva.records.run_record import RunRecord
from viva.records.text import one_line, storable
from viva.records.transcript import Usage
from viva.sinks.otel import names

Value = str | bool | int | float
Attributes = dict[str, Value]

NAME_LENGTH = 200
"""Characters of a name: of a tool, a model, a task."""
TEXT_LENGTH = 20_000
"""Characters of a message, an argument or a result."""
LARGEST = 2**63 - 1
"""OTLP has 64 bits for a whole number, and drops the whole batch for a larger one."""
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable by which users of generative AI instrumentation have message texts exported."""


def captures_content(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether texts of messages, and arguments and results of tools, are exported. By default, they are not."""
    return environment.get(CAPTURE, "").strip().lower() in {"true", "1", "span_only", "span_and_event"}


def cleaned(values: Mapping[str, object]) -> Attributes:
    """Omit None, and limit the rest: names to one line and a length, numbers to 64 bits."""
    return {key: _fit(value) for key, value in values.items() if value is not None}


def text(words: str) -> str:
    """Cut a text, and make it fit for every encoder."""
    return storable(words if len(words) <= TEXT_LENGTH else f"{words[:TEXT_LENGTH]}… [cut]")


def as_json(value: Any) -> str:
    """Return arguments as JSON, or unchanged if they are text."""
    return text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def message(role: str, words: str) -> str:
    """Return a message in the conventions' form, as JSON."""
    part = {"role": role, "parts": [{"type": "text", "content": text(words)}]}
    if role == "assistant":
        part["finish_reason"] = "stop"
    return json.dumps([part], ensure_ascii=False)


def run_tags(record: RunRecord) -> Attributes:
    """Attributes of a run that are few enough in number to tell metrics apart."""
    return cleaned(
        {
            names.SUBJECT: record.subject,
            names.AGENT_NAME: record.agent,
            names.AGENT_VERSION: record.agent_version,
            names.OUTCOME: record.outcome.value,
        }
    )


def run_attributes(record: RunRecord) -> Attributes:
    """Attributes of the span of a run."""
    tags = cleaned(
        {
            names.CONVERSATION: record.id,
            names.RUN: record.id,
            names.SCORE: record.score,
            names.LOW: record.low,
            names.SUCCESS: record.success,
            names.STOP: record.stop.value if record.stop else None,
            names.TRIAL: record.trial,
            names.ATTEMPT: record.attempt,
            names.ROUNDS: record.rounds,
        }
    )
    return {**run_tags(record), **tags, **usage_attributes(record.usage.get("target"))}


def usage_attributes(usage: Usage | None) -> Attributes:
    """Attributes of the tokens that were counted; none if they were not counted."""
    counts = {} if usage is None else {
        names.INPUT_TOKENS: usage.input_tokens,
        names.OUTPUT_TOKENS: usage.output_tokens,
        names.CACHE_READ_TOKENS: usage.cached_tokens,
        names.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        names.REASONING_TOKENS: usage.reasoning_tokens,
    }  # fmt: skip
    return {key: min(count, LARGEST) for key, count in counts.items() if count}


def _fit(value: object) -> Value:
    if isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return max(-LARGEST, min(value, LARGEST))
    return one_line(str(value), NAME_LENGTH)
