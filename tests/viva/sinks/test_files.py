"""The CSV and JSON Lines sinks: what stands in their files, and what does not get there."""

from __future__ import annotations

import resource
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from viva.records.codec import decode, loads
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.transcript import Transcript
from viva.records.verdict import Insight
from viva.sinks.csv import CsvSink
from viva.sinks.jsonl import JsonLinesSink

RECORD = RunRecord(
    "r-1", "=cmd()", "clerk", Outcome.SCORED, 0.5,
    insights=(Insight("a", "r-1", "fair", 0.5), Insight("b", "r-1", "good", 1.0, summary='He said "yes",\r\nthen no.')),
    setting=Setting(case="=cmd()", evaluators=("a", "b")),
)  # fmt: skip


def test_rows_are_those_that_the_report_writes(desk: Desk) -> None:
    desk.case()
    agent = desk.agent("def get_reply_from_agent(self, message):\n    return '=1+1'")
    desk.viva("suite", "exam", "--agent", agent, "--agent", "example:careful", "--trials", 2, "--concurrency", 1,
              "--sandbox", "process", "--sink", "csv:runs.csv", "--out", "journal", expect=0)  # fmt: skip
    desk.viva("report", desk.folder / "journal", "--format", "csv", "--out", "report.csv", expect=0)
    assert (desk.folder / "runs.csv").read_bytes() == (desk.folder / "report.csv").read_bytes()


async def test_a_second_suite_goes_on_with_the_columns_of_the_first(tmp_path: Path) -> None:
    for number in range(2):
        sink = CsvSink(str(tmp_path / "runs.csv"))
        sink.begin(tmp_path)
        await sink.write(replace(RECORD, trial=number), Transcript())
        await sink.close()
    lines = (tmp_path / "runs.csv").read_bytes().split(b"\r\n")
    assert [line.partition(b",")[0] for line in lines] == [b"case_file", b"'=cmd()", b"'=cmd()", b""]


async def test_a_file_of_an_older_version_goes_on_with_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    repeated = replace(RECORD, setting=replace(RECORD.setting, requeued=("target_error",)))
    new, old = CsvSink(str(file)), CsvSink(str(file))
    await new.write(repeated, Transcript())
    await new.close()
    text = file.read_bytes()
    assert (text.count(b",requeued,"), text.count(b",target_error,")) == (1, 1)
    older = text.replace(b",requeued,", b",").replace(b",target_error,", b",")
    file.write_bytes(older.partition(b"\r\n")[0] + b"\r\n")
    await old.write(repeated, Transcript())
    await old.close()
    assert file.read_bytes() == older


async def test_a_judgement_without_columns_is_refused_not_dropped(tmp_path: Path) -> None:
    sink = CsvSink(str(tmp_path / "runs.csv"))
    await sink.write(RECORD, Transcript())
    more = replace(RECORD, insights=(*RECORD.insights, Insight("c", "r-1", "bad", 0.0)))
    with pytest.raises(ValueError, match="no columns for c; name another file"):
        await sink.write(more, Transcript())
    await sink.close()
    other = tmp_path / "other.csv"
    other.write_text("name,age\n")
    sink = CsvSink(str(other))
    with pytest.raises(ValueError, match="other columns"):
        await sink.write(RECORD, Transcript())
    await sink.close()
    assert other.read_text() == "name,age\n"


@pytest.mark.parametrize("kind", [CsvSink, JsonLinesSink])
async def test_after_a_torn_line_the_next_begins_on_a_fresh_one(tmp_path: Path, kind: type) -> None:
    path = tmp_path / "runs"
    sink = kind(str(path))
    await sink.write(RECORD, Transcript())
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, limits[1]))
        with pytest.raises(OSError, match="disk full"):
            await sink.write(RECORD, Transcript())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    await sink.write(RECORD, Transcript())
    await sink.close()
    whole, torn, again = path.read_bytes().splitlines()[-3:]
    assert again == whole
    assert len(torn) == 10


async def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "there.jsonl")
    sink = JsonLinesSink(str(tmp_path / "link"))
    await sink.write(RECORD, Transcript())
    await sink.close()
    assert decode(RunRecord, loads((tmp_path / "there.jsonl").read_bytes())) == RECORD
