"""Reads `braintrust:FILE`: the logs and experiments of Braintrust, as its API and its download as JSON have them.

A row is a span: `span_id`, `root_span_id`, `span_parents`, `span_attributes` (`name`, `type`), `input`, `output`,
`error`, and `metrics` (`start` and `end` in seconds, tokens).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from viva.recordings.platforms.reader import PlatformReader
from viva.recordings.platforms.spans import MODEL, OTHER, TOOL, count_of, make_span
from viva.recordings.spans.values import listed, loaded

_KINDS = {"llm": MODEL, "tool": TOOL}


class BraintrustReader(PlatformReader):
    """Reads `braintrust:FILE`."""

    name = "braintrust"
    joins = "braintrust"
    lists = ("data", "events", "rows")

    def translate(self, record: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the span of a row."""
        if not {"root_span_id", "span_attributes"} & record.keys():
            yield None
            return
        about = _object(record.get("span_attributes"))
        metrics, metadata = _object(record.get("metrics")), _object(record.get("metadata"))
        parents = listed(loaded(record.get("span_parents")))
        # What a scorer asked a model is not the agent's.
        own = about.get("purpose") != "scorer" and about.get("type") != "score"
        yield make_span(
            trace=record.get("root_span_id"),
            identity=record.get("span_id"),
            parent=parents[0] if parents else None,
            name=about.get("name"),
            kind=_KINDS.get(str(about.get("type")), OTHER) if own else OTHER,
            given=record.get("input"),
            returned=record.get("output"),
            began=_seconds(metrics.get("start")) or record.get("created"),
            ended=_seconds(metrics.get("end")),
            error=record.get("error"),
            model=metadata.get("model"),
            tokens={
                "prompt": count_of(metrics, "prompt_tokens"),
                "completion": count_of(metrics, "completion_tokens"),
                "cached": count_of(metrics, "prompt_cached_tokens"),
            }
            if own and about.get("type") == "llm"
            else None,
            session=metadata.get("session_id"),
            tools=metadata.get("tools"),
            raw=record,
        )


def _object(value: Any) -> Mapping[str, Any]:
    value = loaded(value)
    return value if isinstance(value, Mapping) else {}


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
