"""Reads `langfuse:FILE`: what Langfuse exports or its public API returns.

The records are traces with their `observations` (`GET /api/public/traces/ID`), or observations alone (`GET
/api/public/observations`, and the export to blob storage, whose keys are in snake case).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from viva.recordings.platforms.reader import PlatformReader
from viva.recordings.platforms.spans import AGENT, MODEL, OTHER, TOOL, count_of, make_span, unreadable
from viva.recordings.spans.values import listed, loaded

_KINDS = {"GENERATION": MODEL, "TOOL": TOOL, "AGENT": AGENT}
_TYPES = (*_KINDS, "SPAN", "EVENT", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")


class LangfuseReader(PlatformReader):
    """Reads `langfuse:FILE`."""

    name = "langfuse"
    joins = "langfuse"
    lists = ("data", "traces")

    def translate(self, record: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the spans of a trace or of an observation."""
        if not isinstance(record.get("observations"), list):
            yield _observation(record, None, None)
            return
        root = f"{record.get('id')}-trace"
        yield _trace(record, root)
        for observation in listed(record["observations"]):
            yield _observation(observation, record.get("sessionId"), root)


def _trace(record: Mapping[str, Any], identity: str) -> Any:
    """Return the trace itself as the span above its observations: it has the question and the answer."""
    return make_span(
        trace=record.get("id"),
        identity=identity,
        parent=None,
        name=record.get("name"),
        kind=OTHER,
        given=record.get("input"),
        returned=record.get("output"),
        began=record.get("timestamp"),
        ended=None,
        session=record.get("sessionId"),
        raw={key: value for key, value in record.items() if key != "observations"},
    )


def _observation(record: Any, session: Any, root: str | None) -> Any:
    if not isinstance(record, Mapping):
        return unreadable(record)

    def of(*names: str) -> Any:
        return next((record[name] for name in names if record.get(name) is not None), None)

    kind = str(of("type") or "").upper()
    if kind not in _TYPES:
        return None
    usage = [loaded(record.get(name)) for name in ("usageDetails", "usage_details", "usage")]
    counts = next((each for each in usage if isinstance(each, Mapping) and each), {})
    failed = str(of("level") or "").upper() == "ERROR"
    return make_span(
        trace=of("traceId", "trace_id"),
        identity=of("id"),
        parent=of("parentObservationId", "parent_observation_id") or root,
        name=of("name"),
        kind=_KINDS.get(kind, OTHER),
        given=of("input"),
        returned=of("output"),
        began=of("startTime", "start_time"),
        ended=of("endTime", "end_time"),
        error=(of("statusMessage", "status_message") or "failed") if failed else None,
        model=of("model", "providedModelName", "provided_model_name"),
        tokens={
            "prompt": count_of(counts, "input", "promptTokens", "prompt_tokens", "input_tokens"),
            "completion": count_of(counts, "output", "completionTokens", "completion_tokens", "output_tokens"),
        },
        session=session or of("sessionId", "session_id"),
        raw=record,
    )
