"""One suite with agents that fail in every way a process can: the good runs are scored, and nothing else stays."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.viva.real_suites import left_running
from tests.viva.viva_command import in_a_process
from viva.journal.reader import read_records
from viva.records.run_record import Outcome
from viva.records.transcript import StopReason

AGENT = """\
import os, signal, subprocess, sys, time

class Behaves:
    def __init__(self, task_description, config_var):
        self.how = config_var["how"]

    def get_reply_from_agent(self, message):
        if self.how == "raise":
            raise RuntimeError("the tool server went away")
        if self.how == "hang":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(1)
        if self.how == "flood":
            while True:
                sys.stdout.write("flood " * 10000)
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "daemon" and os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
        return "fine"
"""
CASE = """\
task_description: Ask the agent whether it is fine.
config_var: {{how: {how}, mark: "{mark}"}}
timeout: {seconds}
scoring_points:
  - score_point: The agent says that it is fine.
    weight: 1
    eval_code: assert rounds[-1]["agent"] == "fine", rounds[-1]["agent"]
script: ["Are you fine?"]
"""
BAD = ("raise", "hang", "flood", "kill", "daemon")
GOOD = 20


def test_agents_that_fail_in_every_way_neither_stop_the_others_nor_stay(tmp_path: Path) -> None:
    mark = f"viva-fault-test-{time.time_ns()}"
    (tmp_path / f"{mark}.py").write_text(AGENT)
    for index in range(GOOD):
        write(tmp_path / "cases" / f"good_{index:02}", "well", mark)
    for how in BAD:
        write(tmp_path / "cases" / f"bad_{how}", how, mark, 5 if how in ("hang", "flood") else 300)
    done = in_a_process(
        "suite", "cases", "--agent", f"{mark}.py:Behaves", "--isolate", "--concurrency", 8,
        "--sandbox", "process", "--out", "journal", "--json", cwd=tmp_path, seconds=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    records = {record.subject: record for record in read_records(tmp_path / "journal")}
    assert len(records) == GOOD + len(BAD)
    good = [record for name, record in records.items() if name.startswith("good")]
    assert {(record.outcome, record.score) for record in good} == {(Outcome.SCORED, 1.0)}
    outcomes = {how: records[f"bad_{how}"].outcome for how in BAD}
    # The daemon's parent answered well; it is the daemon that must not outlive the run.
    assert outcomes.pop("daemon") is Outcome.SCORED
    assert set(outcomes.values()) == {Outcome.TARGET_ERROR}
    assert records["bad_hang"].stop is StopReason.TIMEOUT
    assert records["bad_flood"].stop is StopReason.TIMEOUT
    assert "the tool server went away" in (records["bad_raise"].error or "")
    assert json.loads(done.stdout)["figures"]["suite"]["target_errors"] == 4
    assert not gone(mark)


def write(folder: Path, how: str, mark: str, seconds: int = 300) -> None:
    folder.mkdir(parents=True)
    (folder / "case.yaml").write_text(CASE.format(how=how, mark=mark, seconds=seconds))


def gone(mark: str) -> list[str]:
    """What still runs after a generous while."""
    for _ in range(100):
        if not (left := left_running(mark)):
            return []
        time.sleep(0.1)
    return left
