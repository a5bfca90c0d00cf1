"""Tells which reader a record looks like one for, where another reader found nothing in a file."""

from __future__ import annotations

from collections.abc import Iterable

_MARKS = (
    ({"traceId", "parentObservationId"}, "langfuse"),
    ({"trace_id", "parent_observation_id"}, "langfuse"),
    ({"observations"}, "langfuse"),
    ({"run_type", "inputs"}, "langsmith"),
    ({"info", "data"}, "mlflow"),
    ({"root_span_id", "span_attributes"}, "braintrust"),
    ({"op_name", "started_at"}, "weave"),
    ({"eval", "samples"}, "inspect"),
    ({"sessionId", "uuid", "message"}, "claude_code"),
    ({"timestamp", "type", "payload"}, "codex"),
    ({"schema_version", "steps"}, "atif"),
    ({"role", "content"}, "chat"),
    ({"messages"}, "chat"),
    ({"traj"}, "chat"),
)


def hint_for(keys: Iterable[str]) -> str:
    """Return a sentence that names the reader of records with such keys; empty if none is known."""
    found = set(keys)
    if "context.trace_id" in found and "context.span_id" not in found:
        return " Its rows have no column context.span_id: write the data frame with its index."
    reader = next((reader for marks, reader in _MARKS if marks <= found), None)
    return f" It looks like a file for another reader: {reader}:FILE." if reader else ""
