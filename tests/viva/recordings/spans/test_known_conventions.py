"""Conventions say their names: in the documentation, and where a trace follows none of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.viva.recordings.frameworks.truth import NAMES
from viva.recordings.spans.conventions.known import CONVENTIONS, names
from viva.recordings.spans.conventions.sightings import sighting
from viva.recordings.spans.span import Span, SpanKind, read_span
from viva.recordings.spans.trajectories import read_trace

PAGE = Path(__file__).resolve().parents[4] / "docs/recordings.md"
IDS = {"traceId": "1" * 32, "spanId": "2" * 16}


def span_of(scope: str = "", **attributes: Any) -> Span:
    read = read_span({**IDS, "name": "work", "scope": {"name": scope}, "attributes": attributes})
    assert read is not None
    return read


def test_the_page_names_every_convention_and_every_recording() -> None:
    words = " ".join(PAGE.read_text().split())
    assert [name for name in names() if name not in words] == []
    assert [name for name in NAMES if f"`{name}`" not in words] == []


def test_a_trace_of_no_convention_names_those_looked_for_and_what_it_has() -> None:
    spans = [span_of("io.http", **{"http.method": "GET", "url.path": "/health"}), span_of("io.http")]
    seen = sighting(spans)
    assert (seen.conventions, seen.scopes, seen.prefixes) == ((), ("io.http",), ("http.*", "url.*"))
    for name in (*names(), "io.http", "http.*", "url.*"):
        assert name in str(seen)


def test_a_trace_of_a_known_convention_without_a_model_says_which_it_follows() -> None:
    seen = sighting([span_of(**{"openinference.span.kind": "CHAIN"})])
    assert seen.conventions == ("OpenInference",)
    assert "OpenInference" in str(seen)


def test_many_kinds_of_attributes_are_counted_not_listed() -> None:
    spans = [span_of(**{f"kind{number}.value": 1 for number in range(100)})]
    assert "and 96 more" in str(sighting(spans))


def test_every_convention_is_recognized_by_what_it_writes() -> None:
    for convention in CONVENTIONS:
        written = {f"{prefix}.x": 1 for prefix in convention.prefixes[:1]}
        assert sighting([span_of(*convention.scopes[:1], **written)]).conventions, convention.name
        assert convention.translate is None or convention.keys or convention.scopes, convention.name


def test_a_span_keeps_what_was_written_beside_its_translation() -> None:
    given = '{"input_str": "x", "inputs": {"city": "Rome"}, "tags": []}'
    span = span_of(**{"traceloop.span.kind": "tool", "traceloop.entity.input": given})
    assert span.kind is SpanKind.TOOL
    assert span.attributes["gen_ai.tool.call.arguments"] == '{"city": "Rome"}'
    assert span.raw["attributes"] == {"traceloop.span.kind": "tool", "traceloop.entity.input": given}


KEYS = (
    *(f"ai.prompt{end}" for end in ("", ".messages", ".tools")),
    *(f"ai.response.{end}" for end in ("text", "toolCalls", "reasoning", "object")),
    *(f"ai.toolCall.{end}" for end in ("name", "id", "args", "result")),
    *(f"traceloop.entity.{end}" for end in ("input", "output", "name")),
    *("ai.usage.inputTokens", "mcp.tool.name", "tool.name", "input.value", "agno.agent.id"),
)
VALUES = [5, True, [1], [], "", "x", "[", "null", "[1, null]", "{}", '[{"content": 3}]', '[{"content": [3, {}]}]']
VALUES += ['{"messages": 3}', '{"messages": [{"role": 1}]}', '{"output": {"kwargs": {"status": "error"}}, "kwargs": 1}']
VALUES += ["[" * 50_000, '{"input_str": [], "tags": 1}']
MARKS = [("ai.operationId", "ai.generateText"), ("ai.operationId", "ai.streamText.doStream")]
MARKS += [("ai.operationId", "ai.toolCall"), ("traceloop.span.kind", "tool"), ("mcp.method.name", "tools/call")]
MARKS += [("agno.agent", "a"), ("agno.agent", ["a"])]


@pytest.mark.parametrize("value", VALUES, ids=[f"{number}" for number in range(len(VALUES))])
@pytest.mark.parametrize("mark", MARKS, ids=str)
def test_a_value_of_an_unexpected_kind_is_passed_over(mark: tuple[str, Any], value: Any) -> None:
    attributes = {**dict.fromkeys(KEYS, value), mark[0]: mark[1]}
    other = span_of(**{**attributes, "tool.name": "delegate_task_to_member"})
    recordings = list(read_trace([span_of(**attributes), replace(other, id="3" * 16)], "here", "spans"))
    assert sum(len(round_.steps) for each in recordings for round_ in each.transcript.rounds) >= 1
