"""Traces that a live Phoenix server holds are read whole, oldest first, and give what the files give."""

from __future__ import annotations

import base64
import json
import sys
import urllib.request
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.recordings import LLAMA_INDEX, llama_index_spans
from tests.viva.recordings.spans.test_families import FAMILIES, RECORDED, check
from tests.viva.recordings.spans.test_llama_index import rows
from viva.errors import SetupError
from viva.recordings.moments import read_moment
from viva.recordings.recording import NothingYet, Recording, RecordingError, SourceNotes
from viva.recordings.spans import phoenix as module
from viva.recordings.spans.phoenix import split_source
from viva.recordings.table import load_reader, read_recordings
from viva.records.trajectory import trajectory


def project() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


def put(address: str, name: str, spans: list[dict[str, Any]], expected: int | None = None) -> None:
    """Send spans to a project, and wait until the server has them all."""
    import time

    from phoenix.client import Client

    client = Client(base_url=address)
    for start in range(0, len(spans), 500):
        client.spans.log_spans(project_identifier=name, spans=spans[start : start + 500])  # type: ignore[arg-type]
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if len(client.spans.get_spans(project_identifier=name, limit=10**6)) >= (expected or len(spans)):
                return
        except Exception:
            pass  # the project comes into being with its first span
        time.sleep(0.2)
    raise AssertionError(f"Phoenix does not show the {len(spans)} spans of {name}")


def made_trace(number: int, size: int = 2, second: int = 0) -> list[dict[str, Any]]:
    trace = f"{number:032x}"
    time = f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{(number + second) % 60:02}"
    return [
        {
            "name": "ask" if place == 0 else f"step {place}",
            "context": {"trace_id": trace, "span_id": f"{number * 1000 + place + 1:016x}"},
            "span_kind": "AGENT" if place == 0 else "TOOL",
            "parent_id": None if place == 0 else f"{number * 1000 + 1:016x}",
            "start_time": f"{time}.{place:06}+00:00",
            "end_time": f"{time}.{place + 1:06}+00:00",
            "status_code": "OK",
            "status_message": "",
            "attributes": {"input.value": f"question {number}", "session.id": f"s{number % 2}"},
            "events": [],
        }
        for place in range(size)
    ]


@pytest.mark.parametrize("name", LLAMA_INDEX)
def test_through_a_live_server_the_steps_are_those_of_the_file(name: str, phoenix: str) -> None:
    path = llama_index_spans(name)
    into = project()
    put(phoenix, into, json.loads(path.read_text()))
    live, file = list(read_recordings(f"phoenix:{phoenix}#{into}")), list(read_recordings(f"spans:{path}"))
    assert rows(live) == rows(file)
    for one, other in zip(live, file, strict=True):
        assert one.run_key == other.run_key
        assert one.transcript.usage == other.transcript.usage
        assert one.transcript.tools == other.transcript.tools
        ids = [[step.id for step in each.transcript.rounds[0].steps] for each in (one, other)]
        assert ids[0] == ids[1]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_reads_alike_through_the_server(family: str, phoenix: str) -> None:
    into = project()
    post_otlp(phoenix, into, RECORDED / f"{family}.jsonl")
    count = len((RECORDED / f"{family}.jsonl").read_text().splitlines())
    put(phoenix, into, [], expected=count)
    check(family, [renamed(each, family) for each in read_recordings(f"phoenix:{phoenix}#{into}")])


def renamed(recording: Recording, family: str) -> Recording:
    """Phoenix keeps neither scope nor resource: framework and version are not there to be compared."""
    from dataclasses import replace

    name = family.removesuffix("_streamed").removesuffix("_react").removesuffix("_function")
    about = {**recording.transcript.attributes, "framework": name}
    return replace(recording, agent_version="1.2", transcript=replace(recording.transcript, attributes=about))


def post_otlp(address: str, into: str, file: Path) -> None:
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    for line in file.read_text().splitlines():
        document = json.loads(line)
        for resource in document["resourceSpans"]:
            pair = {"key": "openinference.project.name", "value": {"stringValue": into}}
            resource.setdefault("resource", {}).setdefault("attributes", []).append(pair)
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    for key in ("traceId", "spanId", "parentSpanId"):
                        if key in span:
                            span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
        body = ParseDict(document, ExportTraceServiceRequest()).SerializeToString()
        headers = {"Content-Type": "application/x-protobuf"}
        request = urllib.request.Request(f"{address}/v1/traces", body, headers)
        urllib.request.urlopen(request, timeout=30).close()


def test_no_limit_of_rows_cuts_a_trace_or_leaves_one_out(phoenix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    into = project()
    sizes = {number: 230 if number == 7 else 2 for number in range(1, 31)}
    put(phoenix, into, [span for number, size in sizes.items() for span in made_trace(number, size)])
    monkeypatch.setattr(module, "PAGE", 4)
    read = list(read_recordings(f"phoenix:{phoenix}#{into}"))
    assert [len(each.transcript.rounds[0].steps) for each in read] == list(sizes.values())
    assert [each.subject for each in read] == [f"question {number}" for number in sizes]


def test_traces_that_began_at_one_moment_are_all_read(phoenix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    into = project()
    spans = [span for number in range(60, 71) for span in made_trace(number)]
    for span in spans:
        span["start_time"], span["end_time"] = "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:01+00:00"
    put(phoenix, into, spans)
    monkeypatch.setattr(module, "PAGE", 3)
    assert len(list(read_recordings(f"phoenix:{phoenix}#{into}"))) == 11


def test_time_and_filters_choose_whole_traces(phoenix: str) -> None:
    into = project()
    put(phoenix, into, [span for number in range(100, 106) for span in made_trace(number, number - 98)])
    begun = read_moment("2026-01-01T00:01:43")

    def found(query: str = "", **options: Any) -> list[tuple[str | None, int]]:
        read = read_recordings(f"phoenix:{phoenix}{query}#{into}", **options)
        return [(each.subject, len(each.transcript.rounds[0].steps)) for each in read]

    assert [subject for subject, _ in found(since=begun)] == ["question 103", "question 104", "question 105"]
    assert [subject for subject, _ in found("?session=s1")] == ["question 101", "question 103", "question 105"]
    assert found("?name=step%205") == [("question 104", 6), ("question 105", 7)]
    assert [subject for subject, _ in found("?until=2026-01-01T00:01:41")] == ["question 100"]
    assert found("?input.value=question%20102") == [("question 102", 4)]


def test_mistakes_are_told(phoenix: str) -> None:
    with pytest.raises(NothingYet, match="there is no project 'no-such-project'"):
        list(read_recordings(f"phoenix:{phoenix}#no-such-project"))
    with pytest.raises(RecordingError, match=r"http://127.0.0.1:9 cannot be reached"):
        list(read_recordings("phoenix:http://127.0.0.1:9#x"))


def test_what_is_no_address_or_filter_is_a_mistake_of_the_users() -> None:
    assert split_source("http://h:6006?session=1#p") == ("http://h:6006", "p", {"session": "1"})
    assert split_source("https://h/sub")[1] == "default"
    with pytest.raises(SetupError, match="an address is required"):
        split_source("localhost:6006#p")
    with pytest.raises(SetupError, match="unknown filter 'sesion'"):
        split_source("http://h?sesion=1#p")
    with pytest.raises(SetupError, match="is not a time"):
        read_moment("yesterday")


def test_spans_without_ids_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, torn = made_trace(1), made_trace(2)
    for span in torn:
        span["context"]["span_id"] = ""
    listed = [
        {"trace_id": each[0]["context"]["trace_id"], "start_time": each[0]["start_time"]} for each in (whole, torn)
    ]
    client = SimpleNamespace(
        traces=SimpleNamespace(get_traces=lambda **_: listed), spans=SimpleNamespace(get_spans=lambda **_: whole + torn)
    )
    monkeypatch.setattr(module, "make_client", lambda address: client)
    told = SourceNotes()
    (recording,) = load_reader("phoenix:http://127.0.0.1:6006#p").read(told)
    assert recording.transcript.trace_id == whole[0]["context"]["trace_id"]
    assert told.lost == ["http://127.0.0.1:6006#p: spans left out because they have no ids: 2"]


def test_a_client_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "phoenix.client", None)
    with pytest.raises(SetupError, match=r"pip install 'vivavoce\[phoenix\]'"):
        list(read_recordings("phoenix:http://127.0.0.1:9#p"))


def test_a_trajectory_is_the_same_whether_live_or_from_the_file(phoenix: str) -> None:
    into = project()
    put(phoenix, into, made_trace(900, 3))
    (recording,) = read_recordings(f"phoenix:{phoenix}#{into}")
    assert [step.tool for step in trajectory(recording.transcript)] == ["step 1", "step 2"]
