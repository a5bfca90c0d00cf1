"""Threads may write and read the first records of a process at the same moment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from viva.journal.writer import encode_data
from viva.records.run_record import Outcome, RunRecord
from viva.records.transcript import Metrics, Usage
from viva.records.verdict import Evidence, Insight, Verdict, Vote

USED = Usage(10, 2)
VERDICTS = (Verdict("r", "a", "hit", 1.0, evidence=(Evidence("r1", "x"),), votes=(Vote("m", "hit"),)),)
RECORD = RunRecord(
    "r",
    "subject",
    "agent",
    Outcome.SCORED,
    1.0,
    insights=(Insight("judge", "r", "hit", 1.0, verdicts=VERDICTS, usage=USED),),
    usage={"judge": USED},
    metrics=Metrics(usage_by_model={"m": USED}),
)
BEGIN = """
import sys, threading
from tests.viva.records.test_quick_threads import RECORD
from viva.journal.writer import encode_data
from viva.records.quick.lines import prepare_lines, write_line
from viva.records.quick.records import read_record, read_setting
sys.setswitchinterval(1e-6)
barrier = threading.Barrier(8)
done = []
def at_once(work):
    def one():
        barrier.wait()
        done.append(work())
    threads = [threading.Thread(target=one) for _ in range(8)]
    [each.start() for each in threads]
    [each.join() for each in threads]
    assert len(done) == 8 and None not in done, done
text = open(sys.argv[1], "rb").read()
"""
WAYS = {
    "write": "at_once(lambda: write_line(RECORD))",
    "write after preparing": "prepare_lines()\nat_once(lambda: write_line(RECORD))",
    "prepare and write": "at_once(lambda: (prepare_lines(), write_line(RECORD))[1])",
    "read": "at_once(lambda: read_record(text))",
    "read a record and a setting": "at_once(lambda: (read_setting(b'{}'), read_record(text))[1])",
}


@pytest.mark.parametrize("way", WAYS)
def test_threads_that_use_the_structs_first_do_not_end_the_process(way: str, tmp_path: Path) -> None:
    line = tmp_path / "line"
    line.write_bytes(encode_data(RECORD, lambda name, content: None))
    command = [sys.executable, "-c", BEGIN + WAYS[way], str(line)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
