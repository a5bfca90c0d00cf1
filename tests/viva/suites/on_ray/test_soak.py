"""300 runs with checks in Docker on three nodes: one node dies in the middle, and so does the driver, once."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ray_clusters import OPEN, RayNodes, containers_of, ray_nodes
from tests.viva.real_suites import CASE, check_nothing_lost_nothing_twice, until
from tests.viva.viva_command import clean_environment, in_a_process, start
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import scan

AGENT = """
import asyncio, json, os
from viva import VirtualUser


class Counter(VirtualUser):
    def __init__(self, task_description):
        super().__init__(task_description)
        self.number = 0

    async def get_reply_from_agent(self, message):
        self.number += 1
        line = json.dumps([self.workspace.name, self.number]) + "\\n"
        log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(log, line.encode())
        os.close(log)
        await asyncio.sleep(0.05)
        return str(self.number)
"""
CASES, TRIALS = 3, 100


@pytest.fixture
def three_nodes() -> Iterator[RayNodes]:
    """Three nodes with Docker."""
    os.environ.update(OPEN)
    with ray_nodes(clean_environment()) as nodes:
        for name in ("one", "two", "three"):
            nodes.start(name, cpus=1, sandboxes=1)
        yield nodes


@pytest.mark.soak
def test_300_runs_survive_the_death_of_a_node_and_of_the_driver(tmp_path: Path, three_nodes: RayNodes) -> None:
    for index in range(CASES):
        case = tmp_path / "cases" / f"count_{index}"
        case.mkdir(parents=True)
        (case / "case.yaml").write_text(CASE.format(tag="soak"))
    (tmp_path / "counter.py").write_text(AGENT.format(log=str(tmp_path / "log")))
    journal = tmp_path / "journal"
    where = ["--engine", "ray", "--ray-address", three_nodes.address]
    arguments = ["--agent", "counter.py:Counter", "--trials", TRIALS, "--concurrency", 12, "--sandbox", "docker"]
    driver = start("suite", tmp_path / "cases", *arguments, *where, "--out", journal, "--quiet", cwd=tmp_path)
    until(lambda: ended(journal) >= 60, driver)
    workers = set(three_nodes.workers())
    assert len(workers) == 3
    three_nodes.kill("two")
    until(lambda: ended(journal) >= 140, driver)
    workers |= set(three_nodes.workers())
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    before = {record.id: record.attempt for record in read_records(journal)}
    gone(three_nodes)
    done = in_a_process("suite", "--resume", journal, *where, "--quiet", cwd=tmp_path, seconds=600)
    assert done.returncode == 0, done.stderr

    check_nothing_lost_nothing_twice(journal, runs=CASES * TRIALS, kills=1)
    after = {record.id: record.attempt for record in read_records(journal)}
    assert len(after) == CASES * TRIALS
    assert {run: after[run] for run in before} == before, "a finished run was repeated"
    assert {run.setting.node for run in read_runs(journal)} == {"one", "two", "three"}
    no_round_was_lost(journal, tmp_path / "log")
    gone(three_nodes)
    assert containers_of(workers) == []


def ended(journal: Path) -> int:
    """The number of runs that have a record."""
    return len(list(read_records(journal))) if (journal / "journal.jsonl").exists() else 0


def gone(nodes: RayNodes) -> None:
    """Wait until no worker is left."""
    until_ = time.monotonic() + 60
    while nodes.workers():
        assert time.monotonic() < until_, "workers outlived their driver"
        time.sleep(0.1)


def no_round_was_lost(journal: Path, log: Path) -> None:
    """An agent is only asked the next question when the round before is in the journal."""
    asked = Counter(tuple(json.loads(line)) for line in log.read_text().splitlines())
    kept = Counter((event.run, event.data["number"]) for event in scan(journal) if event.kind == "round")
    later = {(run, number): times for (run, number), times in asked.items() if number > 1}
    assert later
    assert [key for key, times in later.items() if kept[key[0], key[1] - 1] < times] == []
