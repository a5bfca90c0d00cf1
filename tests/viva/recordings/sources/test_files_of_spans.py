"""Spans are read from whatever files they lie in, and one trace is one run however many files it is spread over."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import package
from tests.recordings import recorded_family
from tests.viva.viva_command import in_this_process
from viva.journal.reader import read_runs
from viva.recordings.files import packed
from viva.recordings.recording import Recording, RecordingError
from viva.recordings.table import read_recordings
from viva.records.trajectory import trajectory

FAMILY = "llama_index_function"


def spans() -> list[dict[str, Any]]:
    """The raw spans of a recorded family, one by one."""

    def all_spans() -> Iterator[dict[str, Any]]:
        for line in recorded_family(FAMILY).read_text().splitlines():
            for resource in json.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        yield {**span, "resource": resource["resource"], "scope": scope["scope"]}

    return list(all_spans())


def told(recordings: list[Recording]) -> list[tuple[str, Any]]:
    """What the recordings say, without where they were found."""
    return [
        (each.run_key, [(step.tool, step.tool_input, step.result, step.error) for step in trajectory(each.transcript)])
        for each in recordings
    ]


def whole() -> list[tuple[str, Any]]:
    return told(list(read_recordings(f"otlp:{recorded_family(FAMILY)}")))


def rotated(folder: Path, parts: int = 3) -> list[Path]:
    """Spread the spans over files as a collector does that rotates in the middle of traces."""
    raw = spans()
    folder.mkdir()
    size = len(raw) // parts + 1
    files = [folder / f"traces-{number}.jsonl" for number in range(parts)]
    for number, file in enumerate(files):
        file.write_text("".join(json.dumps(span) + "\n" for span in raw[number * size : (number + 1) * size]))
    return files


def test_a_trace_in_several_files_is_one_run(tmp_path: Path) -> None:
    files = rotated(tmp_path / "rotated", 5)
    assert told(list(read_recordings(f"otlp:{tmp_path}/rotated"))) == whole()
    assert told(list(read_recordings(f"otlp:{tmp_path}/rotated/*.jsonl"))) == whole()
    done = in_this_process("trace", *(f"otlp:{file}" for file in files), "--out", "j", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    runs = list(read_runs(tmp_path / "j"))
    assert sorted(run.transcript.trace_id or "" for run in runs) == sorted(key for key, _ in whole())
    assert any("traces-0.jsonl and traces-1.jsonl" in (run.setting.place or "") for run in runs)
    again = in_this_process("trace", "--resume", "j", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert len(list(read_runs(tmp_path / "j"))) == len(runs)


def test_the_source_of_a_comparison_stays_apart(tmp_path: Path) -> None:
    first, second = rotated(tmp_path / "rotated", 2)
    done = in_this_process("trace", f"otlp:{first}", "--compare", f"otlp:{second}", "--out", "j", cwd=tmp_path)
    assert {run.setting.source for run in read_runs(tmp_path / "j")} == {f"otlp:{first}", f"otlp:{second}"}, done.stderr


def test_a_folder_is_read_with_all_below_it_and_tells_what_it_leaves_out(tmp_path: Path) -> None:
    for number, file in enumerate(rotated(tmp_path / "rotated")):
        below = tmp_path / "rotated" / f"day {number}"
        below.mkdir()
        file.rename(below / file.name)
    (tmp_path / "rotated" / "README.md").write_text("no spans")
    (tmp_path / "rotated" / "traces-3.jsonl").write_text("")
    found = list(read_recordings(f"spans:{tmp_path}/rotated"))
    assert told(found) == whole()
    assert any("left out because their names end in none of .json" in note for note in found[0].notes)
    assert any("traces-3.jsonl: the file is empty; the other files are read" in note for note in found[0].notes)


def test_a_place_without_files_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"no file in this folder or below it ends in \.json"):
        list(read_recordings(f"otlp:{tmp_path}"))
    with pytest.raises(RecordingError, match="no file matches this pattern"):
        list(read_recordings(f"otlp:{tmp_path}/*.jsonl"))
    (tmp_path / "what[1].jsonl").write_text(json.dumps(spans()[0]))
    assert len(list(read_recordings(f"otlp:{tmp_path}/what[1].jsonl"))) == 1, "a file's name is no pattern"


def zstd(data: bytes) -> bytes:
    module = package("backports.zstd")
    done: bytes = module.compress(data)
    return done


def frames(data: bytes) -> bytes:
    """What the file exporter of OpenTelemetry's collector writes with `compression: zstd`."""
    packed_lines = [zstd(line) for line in data.splitlines()]
    return b"".join(len(each).to_bytes(4, "big") + each for each in packed_lines)


PACKERS = [pytest.param(gzip.compress, id="gzip"), pytest.param(zstd, id="zstd"), pytest.param(frames, id="frames")]


@pytest.mark.parametrize("pack", PACKERS)
def test_packed_files_say_the_same(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "traces.jsonl.packed"
    file.write_bytes(pack(recorded_family(FAMILY).read_bytes()))
    assert told(list(read_recordings(f"otlp:{file}"))) == whole()


@pytest.mark.parametrize("pack", PACKERS)
def test_a_packed_file_that_ends_too_early_is_read_as_far_as_it_goes(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    noise = random.Random(0)
    lines = [json.dumps({**span, "noise": noise.randbytes(5000).hex()}) + "\n" for span in spans()]
    data = pack("".join(lines).encode())
    file = tmp_path / "traces.gz"
    file.write_bytes(data[: len(data) * 2 // 3])
    found = list(read_recordings(f"otlp:{file}"))
    assert any("the packed file is read as far as it goes, because it ends too early" in n for n in found[0].notes)
    assert 0 < sum(len(round_.steps) for each in found for round_ in each.transcript.rounds) < len(lines)


@pytest.mark.parametrize("pack", PACKERS[:2])
@pytest.mark.parametrize("form", ["document", "lines"])
def test_packed_conversations_are_read_too(tmp_path: Path, pack: Callable[[bytes], bytes], form: str) -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    text = json.dumps([talk, talk], indent=2) if form == "document" else f"{json.dumps(talk)}\n{json.dumps(talk)}\n"
    (tmp_path / "talk.gz").write_bytes(pack(text.encode()))
    assert [each.transcript.rounds[0].agent for each in read_recordings(f"chat:{tmp_path}/talk.gz")] == ["Hello"] * 2
    (tmp_path / "talk.gz").write_bytes(pack(text.encode())[:-9])
    with pytest.raises(RecordingError, match=r"talk\.gz: cannot be read: the packed file ends too early"):
        list(read_recordings(f"chat:{tmp_path}/talk.gz"))


@pytest.mark.parametrize("pack", PACKERS)
def test_a_file_that_unpacks_without_end_is_refused(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "MOST_FREE", 1 << 20)
    file = tmp_path / "bomb.jsonl"
    file.write_bytes(pack(b" " * (1 << 25)))
    with pytest.raises(RecordingError, match="unpacks to more than 200 times its size"):
        list(read_recordings(f"otlp:{file}"))


def rows() -> list[dict[str, Any]]:
    """The same spans as rows with flat columns, as a data frame of Phoenix has them."""
    from viva.recordings.spans.span import read_span

    found = []
    for raw in spans():
        span = read_span(raw)
        assert span is not None
        assert span.start_ns is not None
        assert span.end_ns is not None
        found.append(
            {
                "context.span_id": span.id,
                "context.trace_id": span.trace_id,
                "parent_id": span.parent_id,
                "name": span.name,
                "span_kind": span.attributes.get("openinference.span.kind"),
                "start_time": span.start_ns,
                "end_time": span.end_ns,
                "status_code": "ERROR" if span.failed else "OK",
                "status_message": span.message,
                "events": [{"name": event["name"], "attributes": event["attributes"]} for event in span.events],
                **{f"attributes.{key}": value for key, value in span.attributes.items()},
            }
        )
    columns = dict.fromkeys(key for row in found for key in row)
    return [{key: row.get(key) for key in columns} for row in found]


@pytest.mark.parametrize("form", ["lines", "list", "columns", "index", "milliseconds", "empty cells"])
def test_rows_with_flat_columns_say_the_same(tmp_path: Path, form: str) -> None:
    table = rows()
    if form == "milliseconds":
        table = [{**row, **{key: row[key] // 10**6 for key in ("start_time", "end_time")}} for row in table]
    if form == "empty cells":
        table = [{key: float("nan") if value is None else value for key, value in row.items()} for row in table]
    file = tmp_path / "spans.json"
    if form in ("columns", "index"):
        ids = [row["context.span_id"] if form == "index" else str(place) for place, row in enumerate(table)]
        names = [name for name in table[0] if form == "columns" or name != "context.span_id"]
        columns = {name: dict(zip(ids, (row[name] for row in table), strict=True)) for name in names}
        file.write_text(json.dumps(columns))
    elif form == "lines":
        file.write_text("".join(json.dumps(row) + "\n" for row in table))
    else:
        file.write_text(json.dumps(table))
    found = list(read_recordings(f"spans:{file}"))
    assert told(found) == whole()
    began = found[0].transcript.rounds[0].started
    assert began is not None
    assert datetime.fromtimestamp(began, UTC).year >= 2025


def test_rows_that_lost_their_index_say_what_is_missing(tmp_path: Path) -> None:
    lost = [{key: value for key, value in row.items() if key != "context.span_id"} for row in rows()]
    (tmp_path / "spans.json").write_text(json.dumps(lost))
    with pytest.raises(RecordingError, match=r"no column context\.span_id: write the data frame with its index"):
        list(read_recordings(f"spans:{tmp_path}/spans.json"))


def test_parquet_files_say_the_same(tmp_path: Path) -> None:
    pyarrow = package("pyarrow")
    parquet = package("pyarrow.parquet")
    table = []
    for row in rows():
        times = {
            key: datetime.fromtimestamp(row[key] // 10**9, UTC).replace(microsecond=row[key] // 1000 % 10**6)
            for key in ("start_time", "end_time")
        }
        table.append({**row, **times, "events": json.dumps(row["events"])})
    columns = {key: [row[key] for row in table] for key in table[0]}
    columns = {key: values for key, values in columns.items() if any(value is not None for value in values)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "spans.parquet")
    assert told(list(read_recordings(f"spans:{tmp_path}/spans.parquet"))) == whole()
    assert told(list(read_recordings(f"spans:{tmp_path}"))) == whole()
    (tmp_path / "spans.parquet").write_bytes((tmp_path / "spans.parquet").read_bytes()[:-100])
    with pytest.raises(RecordingError, match=r"spans\.parquet: not a valid Parquet file"):
        list(read_recordings(f"spans:{tmp_path}/spans.parquet"))


def timeless(number: int, tool: str) -> dict[str, Any]:
    # Their ids fall while the file goes on: an order by ids would be the wrong one.
    return {
        "name": tool,
        "context": {"trace_id": "a" * 32, "span_id": f"{100 - number:016x}"},
        "parent_id": f"{101:016x}" if number else None,
        "attributes": {"openinference.span.kind": "TOOL" if number else "AGENT", "tool.name": tool},
    }


def test_without_times_the_order_of_the_file_holds(tmp_path: Path) -> None:
    tools = ["agent", *(f"tool {number}" for number in range(8))]
    raw = [timeless(number, tool) for number, tool in enumerate(tools)]
    raw[0]["context"]["span_id"] = f"{101:016x}"
    file = tmp_path / "spans.json"
    file.write_text(json.dumps(raw))
    (recording,) = read_recordings(f"spans:{file}")
    assert [step.tool for step in recording.transcript.rounds[0].steps if step.tool] == tools[1:]
    several = [
        {**each, "context": {**each["context"], "trace_id": f"{9 - number:x}" * 32}} for number, each in enumerate(raw)
    ]
    file.write_text(json.dumps(several))
    found = [recording.transcript.trace_id for recording in read_recordings(f"spans:{file}")]
    assert found == [f"{9 - number:x}" * 32 for number in range(9)]


def test_damage_of_all_traces_is_added_up_on_the_console_and_in_json(tmp_path: Path) -> None:
    raw = spans()
    damaged = [span if number % 7 else {**span, "parentSpanId": "f" * 16} for number, span in enumerate(raw)]
    damaged += raw[:4]
    random.Random(0).shuffle(damaged)
    (tmp_path / "spans.jsonl").write_text("".join(json.dumps(span) + "\n" for span in damaged))
    lost = len([0 for number in range(len(raw)) if not number % 7])
    shown = in_this_process("trace", "otlp:spans.jsonl", "--out", "a", cwd=tmp_path)
    assert "spans that were recorded more than once, counted once: 4 (in " in shown.stderr
    assert "spans whose parent is not in the trace: " in shown.stderr
    plain = in_this_process("trace", "otlp:spans.jsonl", "--json", "--out", "b", cwd=tmp_path)
    notes = json.loads(plain.stdout)["notes"]
    orphans = [note for note in notes if note.startswith("spans whose parent is not in the trace: ")]
    assert len(orphans) == 1
    assert lost - 4 <= int(orphans[0].split(": ")[1].split()[0]) <= lost
