"""What platforms export is read by its documented form: the same story comes out of each of them.

Those in `recorded` are made with the platforms' own packages by the scripts in `make`; the others are written here from
the public schemas of the platforms.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import package
from viva.recordings.recording import Recording, RecordingError
from viva.recordings.table import read_recordings
from viva.records.trajectory import trajectory

RECORDED = Path(__file__).parent / "recorded"
Row = dict[str, Any]
QUESTIONS = ("How warm is Rome?", "How warm are Oslo and Atlantis?")
CITIES = (("Rome",), ("Oslo", "Atlantis"))
ANSWERS = ("It is 25 degrees in Rome.", "Oslo has 25 degrees; Atlantis does not exist.")
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def said(text: str, cities: tuple[str, ...] = ()) -> Row:
    """An answer of the model in the chat format."""
    call = {"type": "function"}
    calls = [
        {**call, "id": city, "function": {"name": "get_weather", "arguments": json.dumps({"city": city})}}
        for city in cities
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def result_of(city: str) -> tuple[str, bool]:
    return ("no such city", False) if city == "Atlantis" else (f"25 degrees in {city}", True)


class Part:
    """One part of the story: the agent, a call of its model, or one of its tool."""

    def __init__(self, trace: int, number: int, kind: str, given: Any, returned: Any, error: str | None = None) -> None:
        self.trace, self.number, self.kind = trace, number, kind
        self.given, self.returned, self.error = given, returned, error
        self.id = f"00000000-0000-4000-8000-{trace:04}{number:08}"
        self.trace_id = f"00000000-0000-4000-9000-{trace:012}"
        self.parent = f"00000000-0000-4000-8000-{trace:04}{0:08}" if number else None
        self.name = {"agent": "weatherman", "model": "ChatOpenAI", "tool": "get_weather"}[kind]
        self.began = 1767225600 + 100 * trace + (number or 0)
        self.ended = self.began + (1 if number else 50)


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def story() -> list[Part]:
    found = []
    for trace, (question, cities, answer) in enumerate(zip(QUESTIONS, CITIES, ANSWERS, strict=True)):
        messages: list[Row] = [{"role": "user", "content": question}]
        asked = {"model": "gpt-4o", "messages": list(messages)}
        found.append(Part(trace, 0, "agent", {"question": question}, answer))
        found.append(Part(trace, 1, "model", asked, said("I look it up.", cities)))
        messages.append(said("I look it up.", cities))
        for place, city in enumerate(cities):
            words, fine = result_of(city)
            found.append(
                Part(trace, 2 + place, "tool", {"city": city}, words if fine else None, None if fine else words)
            )
            messages.append({"role": "tool", "tool_call_id": city, "content": words})
        asked = {"model": "gpt-4o", "messages": messages}
        found.append(Part(trace, 9, "model", asked, said(answer)))
    return found


def check(recordings: list[Recording]) -> None:
    """Compare what was read with the story."""
    assert len(recordings) == 2
    for recording, question, cities, answer in zip(recordings, QUESTIONS, CITIES, ANSWERS, strict=True):
        assert recording.transcript.rounds[0].examiner == question
        assert recording.transcript.rounds[0].agent == answer
        used = [step for step in trajectory(recording.transcript) if step.tool is not None]
        assert [(step.tool, step.tool_input) for step in used] == [("get_weather", {"city": city}) for city in cities]
        for step, city in zip(used, cities, strict=True):
            words, fine = result_of(city)
            assert words in (step.result or step.error or "")
            assert (step.error is None) == fine
        usage = recording.transcript.usage["target"]
        assert (usage.input_tokens, usage.output_tokens) == (200, 20)
        assert not any("left out" in note for note in recording.notes)


def langfuse_observation(part: Part, *, snake: bool = False) -> Row:
    row = {
        "id": part.id,
        "traceId": part.trace_id,
        "type": {"agent": "AGENT", "model": "GENERATION", "tool": "TOOL"}[part.kind],
        "name": part.name,
        "startTime": iso(part.began),
        "endTime": iso(part.ended),
        "parentObservationId": part.parent,
        "level": "ERROR" if part.error else "DEFAULT",
        "statusMessage": part.error,
        "model": "gpt-4o" if part.kind == "model" else None,
        "input": part.given,
        "output": part.returned,
        "usageDetails": {"input": 100, "output": 10, "total": 110} if part.kind == "model" else {},
        "metadata": {"resourceAttributes": {"service.name": "weather"}},
    }
    if not snake:
        return row
    names = {"traceId": "trace_id", "startTime": "start_time", "endTime": "end_time", "usageDetails": "usage_details",
             "parentObservationId": "parent_observation_id", "statusMessage": "status_message",
             "model": "provided_model_name"}  # fmt: skip
    texts = {key: json.dumps(row[key]) for key in ("input", "output", "metadata") if not isinstance(row[key], str)}
    return {names.get(key, key): value for key, value in {**row, **texts}.items()}


def langfuse_traces() -> list[Row]:
    """What `GET /api/public/traces/ID` returns."""
    parts = story()
    return [
        {
            "id": parts[0].trace_id if trace == 0 else next(p for p in parts if p.trace == 1).trace_id,
            "timestamp": iso(1767225600 + 100 * trace),
            "name": "weatherman",
            "input": {"question": QUESTIONS[trace]},
            "output": ANSWERS[trace],
            "sessionId": "session-1",
            "scores": [],
            "latency": 50.0,
            "observations": [langfuse_observation(part) for part in parts if part.trace == trace],
        }
        for trace in (0, 1)
    ]


def langsmith(part: Part, *, langchain: bool = False) -> Row:
    """A run of LangSmith, as `wrap_openai` and `traceable` write it, or as LangChain does."""
    given, returned = part.given, part.returned
    extra: Row = {"metadata": {"ls_model_name": "gpt-4o", "thread_id": "t1"} if part.kind == "model" else {}}
    if part.kind == "model" and langchain:
        given = {"messages": [[lang(message) for message in part.given["messages"]]]}
        message = lang(part.returned)
        message["kwargs"]["usage_metadata"] = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        returned = {"generations": [[{"text": part.returned["content"], "message": message}]], "llm_output": None}
    elif part.kind == "model":
        returned = {"choices": [{"index": 0, "message": part.returned}], "usage": USAGE}
    elif part.kind == "tool":
        given = {"input": repr(part.given)} if langchain else part.given
        message = lang({"role": "tool", "tool_call_id": part.given["city"], "content": part.returned})
        returned = None if part.returned is None else {"output": message if langchain else part.returned}
    else:
        returned = {"output": part.returned}
    return {
        "id": part.id,
        "trace_id": part.trace_id,
        "parent_run_id": part.parent,
        "name": part.name,
        "run_type": {"agent": "chain", "model": "llm", "tool": "tool"}[part.kind],
        "start_time": iso(part.began).removesuffix("Z"),
        "end_time": iso(part.ended).removesuffix("Z"),
        "inputs": given,
        "outputs": returned,
        "error": f"ValueError('{part.error}')" if part.error else None,
        "extra": extra,
        "tags": [],
    }


def lang(message: Row) -> Row:
    """A message as LangChain serializes it."""
    names = {"user": "HumanMessage", "assistant": "AIMessage", "tool": "ToolMessage"}
    kwargs: Row = {"content": message["content"], "type": {"user": "human", "assistant": "ai"}.get(message["role"])}
    if message.get("tool_calls"):
        kwargs["tool_calls"] = [
            {
                "id": call["id"],
                "name": "get_weather",
                "args": json.loads(call["function"]["arguments"]),
                "type": "tool_call",
            }
            for call in message["tool_calls"]
        ]
    if message["role"] == "tool":
        kwargs |= {"tool_call_id": message["tool_call_id"], "type": "tool", "status": "success"}
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", names[message["role"]]], "kwargs": kwargs}


def braintrust(part: Part) -> Row:
    model = part.kind == "model"
    tokens = {"prompt_tokens": 100, "completion_tokens": 10, "tokens": 110, "prompt_cached_tokens": 0}
    return {
        "id": f"row-{part.id}",
        "span_id": part.id,
        "root_span_id": part.trace_id,
        "span_parents": [part.parent] if part.parent else None,
        "is_root": part.parent is None,
        "span_attributes": {"name": part.name, "type": {"agent": "task", "model": "llm", "tool": "tool"}[part.kind]},
        "input": part.given["messages"] if model else part.given,
        "output": [{"finish_reason": "stop", "index": 0, "message": part.returned}] if model else part.returned,
        "error": part.error,
        "metadata": {"model": "gpt-4o"} if model else {},
        "metrics": {"start": float(part.began), "end": float(part.ended), **(tokens if model else {})},
        "created": iso(part.began),
        "scores": None,
    }


def weave(part: Part) -> Row:
    op = {"agent": "Weatherman.answer", "model": "openai.chat.completions.create", "tool": "langchain.Tool.get_weather"}
    usage = {"gpt-4o": {"requests": 1, **USAGE}}
    choices = [{"index": 0, "message": part.returned, "finish_reason": "stop"}]
    return {
        "id": part.id,
        "trace_id": part.trace_id,
        "parent_id": part.parent,
        "project_id": "somebody/weather",
        "op_name": f"weave:///somebody/weather/op/{op[part.kind]}:AbC123",
        "display_name": part.name,
        "started_at": iso(part.began),
        "ended_at": iso(part.ended),
        "inputs": {"self": "weave:///x", **part.given} if part.kind == "model" else part.given,
        "output": {"object": "chat.completion", "choices": choices, "usage": USAGE}
        if part.kind == "model"
        else part.returned,
        "exception": part.error,
        "attributes": {"weave": {"client_version": "0.51"}},
        # The sums of what lies below a call are on it, too.
        "summary": {"usage": usage, "weave": {"status": "error" if part.error else "success"}},
    }


FORMS: dict[str, tuple[str, Callable[[], list[Row]]]] = {
    "langfuse traces": ("langfuse", langfuse_traces),
    "langfuse observations": ("langfuse", lambda: [langfuse_observation(part) for part in story()]),
    "langfuse blob storage": ("langfuse", lambda: [langfuse_observation(part, snake=True) for part in story()]),
    "langsmith": ("langsmith", lambda: [langsmith(part) for part in story()]),
    "langsmith by langchain": ("langsmith", lambda: [langsmith(part, langchain=True) for part in story()]),
    "braintrust": ("braintrust", lambda: [braintrust(part) for part in story()]),
    "weave": ("weave", lambda: [weave(part) for part in story()]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("layout", ["lines", "list", "page"])
def test_an_export_is_read_whole(tmp_path: Path, form: str, layout: str) -> None:
    reader, make = FORMS[form]
    rows = make()
    page = {"langsmith": "runs", "weave": "calls"}.get(reader, "data")
    texts = {
        "lines": "".join(json.dumps(row) + "\n" for row in rows),
        "list": json.dumps(rows),
        "page": json.dumps({page: rows, "meta": {"page": 1}}, indent=1),
    }
    (tmp_path / "export.json").write_text(texts[layout])
    check(list(read_recordings(f"{reader}:{tmp_path}/export.json")))


def test_traces_of_mlflow_are_read_whole(tmp_path: Path) -> None:
    check(list(read_recordings(f"mlflow:{RECORDED}/mlflow.jsonl")))
    documents = [json.loads(line) for line in (RECORDED / "mlflow.jsonl").read_text().splitlines()]
    (tmp_path / "old.json").write_text(json.dumps([second_schema(document) for document in documents]))
    check(list(read_recordings(f"mlflow:{tmp_path}/old.json")))


def test_what_the_clients_of_platforms_send_is_read_whole() -> None:
    for reader in ("langsmith", "braintrust", "weave"):
        found = list(read_recordings(f"{reader}:{RECORDED}/{reader}.jsonl"))
        check(found)
        failed = [step.error for step in trajectory(found[1].transcript) if step.error]
        assert failed in (["ValueError: no such city"], ["no such city"])


def second_schema(document: Row) -> Row:
    """The same trace as MLflow 2 wrote it."""
    spans = [
        {
            "name": span["name"],
            "context": {"span_id": "0x" + span["span_id"].encode().hex()[:16], "trace_id": "0x" + "ab" * 16},
            "parent_id": None if not span["parent_span_id"] else "0x" + span["parent_span_id"].encode().hex()[:16],
            "start_time": span["start_time_unix_nano"],
            "end_time": span["end_time_unix_nano"],
            "status_code": span["status"]["code"].removeprefix("STATUS_CODE_"),
            "status_message": span["status"]["message"],
            "attributes": span["attributes"],
            "events": [],
        }
        for span in document["data"]["spans"]
    ]
    trace_id = document["info"]["trace_id"].removeprefix("tr-")
    for span in spans:
        span["context"]["trace_id"] = f"0x{trace_id}"
    return {"info": {"request_id": trace_id, "request_metadata": {}}, "data": {"spans": spans}}


def test_a_bulk_export_in_parquet_is_read_whole(tmp_path: Path) -> None:
    pyarrow = package("pyarrow")
    parquet = package("pyarrow.parquet")
    rows = [langsmith(part) for part in story()]
    for row in rows:
        row |= {key: json.dumps(row[key]) for key in ("inputs", "outputs", "extra")}
        row |= {key: datetime.fromisoformat(row[key]) for key in ("start_time", "end_time")}
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "runs.parquet")
    check(list(read_recordings(f"langsmith:{tmp_path}")))


@pytest.mark.parametrize("reader", ["langfuse", "langsmith", "mlflow", "braintrust", "weave"])
@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [5], {"a": 1}, [[{"role": 1}]], True, float("nan")])
def test_odd_values_are_no_error_and_what_is_no_record_is_told(tmp_path: Path, reader: str, value: Any) -> None:
    rows = (
        next(make() for name, make in FORMS.values() if name == reader)
        if reader != "mlflow"
        else [json.loads(line) for line in (RECORDED / "mlflow.jsonl").read_text().splitlines()]
    )
    inner = [(row, key) for row in rows for key in row]
    hurt = [{**row, key: value} for row, key in inner]
    deep = [
        {**row, key: {**row[key], name: value}} for row, key in inner if isinstance(row[key], dict) for name in row[key]
    ]
    (tmp_path / "export.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in [*rows, *hurt, *deep, {"other": 1}])
    )
    found = list(read_recordings(f"{reader}:{tmp_path}/export.jsonl"))
    assert found
    assert any("elements left out because they are not spans: " in note for note in found[0].notes)


@pytest.mark.parametrize("reader", ["langfuse", "langsmith", "mlflow", "braintrust", "weave"])
def test_another_file_is_refused(tmp_path: Path, reader: str) -> None:
    (tmp_path / "export.json").write_text(json.dumps([{"role": "user", "content": "Hi"}]))
    with pytest.raises(RecordingError, match=r"export\.json: there is no span in it"):
        list(read_recordings(f"{reader}:{tmp_path}/export.json"))


@pytest.mark.parametrize("form", FORMS)
def test_an_export_that_is_given_to_another_reader_names_its_own(tmp_path: Path, form: str) -> None:
    reader, make = FORMS[form]
    (tmp_path / "export.jsonl").write_text("".join(json.dumps(row) + "\n" for row in make()))
    for other in {"spans", "langfuse", "langsmith", "mlflow", "braintrust", "weave"} - {reader}:
        with pytest.raises(RecordingError, match=f"It looks like a file for another reader: {reader}:FILE"):
            list(read_recordings(f"{other}:{tmp_path}/export.jsonl"))


def test_what_a_scorer_asked_a_model_is_not_the_agents(tmp_path: Path) -> None:
    rows = [braintrust(part) for part in story()]
    judged = braintrust(next(part for part in story() if part.kind == "model"))
    judged |= {"span_id": "judge", "span_attributes": {"name": "judge", "type": "llm", "purpose": "scorer"}}
    (tmp_path / "export.json").write_text(json.dumps([*rows, judged]))
    check(list(read_recordings(f"braintrust:{tmp_path}/export.json")))
