"""Sinks that raise, block or have no room left: the runs are complete, the user is told, the other sinks have them."""

from __future__ import annotations

import csv
import json
import re

import pytest

from tests.conftest import require
from tests.viva.conftest import Desk
from viva.journal.reader import read_records
from viva.suites import sink_feed

SINKS = """
import time

class Raises:
    async def write(self, record, transcript):
        raise ValueError("the post is on strike")

class Blocks:
    def write(self, record, transcript):
        time.sleep(60)

class RefusesToBegin:
    def begin(self, folder):
        raise ValueError("not this folder")
    def start_run(self, name, *, run, agent):
        raise ValueError("not this run")
    async def write(self, record, transcript):
        with open("refuser.txt", "a") as file:
            file.write(record.id + "\\n")
"""


def test_every_fault_of_a_sink_is_told_and_the_others_have_every_run(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("/dev/full", __import__("os").path.exists("/dev/full"), "there is no such device")
    monkeypatch.setattr(sink_feed, "WRITE_SECONDS", 0.5)
    (desk.folder / "bad.py").write_text(SINKS)
    desk.case()
    names = ("bad.py:Raises", "bad.py:Blocks", "jsonl:/dev/full", "csv:/dev/full", "bad.py:RefusesToBegin",
             "jsonl:good.jsonl", "csv:good.csv")  # fmt: skip
    sinks = [part for name in names for part in ("--sink", name)]
    done = desk.viva("suite", "exam", "--trials", "3", "--sandbox", "process", *sinks, "--out", "journal", expect=0)
    told = " ".join(done.stderr.split())
    assert re.search(r"the sink bad\.py:Raises failed: bad\.py:\d+: ValueError: the post is on strike", told)
    assert "the sink bad.py:Blocks is disabled: writing a run took longer than 0.5 s" in told
    assert re.search(r"the sink bad\.py:RefusesToBegin failed: bad\.py:\d+: ValueError: not this folder", told)
    for name in ("jsonl:/dev/full", "csv:/dev/full"):
        assert f"the sink {name} failed: No space left" in told
    for name in names[:4]:
        assert f"the sink {name} did not write 3 of the completed runs" in told
    runs = {record.id for record in read_records(desk.folder / "journal")}
    assert len(runs) == 3
    assert {json.loads(line)["id"] for line in (desk.folder / "good.jsonl").read_text().splitlines()} == runs
    with open(desk.folder / "good.csv", newline="") as file:
        assert {row["run"] for row in csv.DictReader(file)} == runs
    assert set((desk.folder / "refuser.txt").read_text().split()) == runs


def test_a_file_that_cannot_be_written_is_refused_before_the_first_run(desk: Desk) -> None:
    desk.case()
    (desk.folder / "file").write_text("")
    for name in ("csv", "jsonl"):
        done = desk.viva("run", "exam", "--sandbox", "process", "--sink", f"{name}:file/x", expect=2)
        assert f"the sink {name} cannot write file/x" in " ".join(done.stderr.split())
