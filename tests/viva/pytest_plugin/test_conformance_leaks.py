"""What the conformance suite takes for a leak."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from viva.pytest_plugin.conformance import subject as subject_module
from viva.pytest_plugin.conformance.expectation import Differs
from viva.pytest_plugin.conformance.footprint import MARK, NOTHING, Footprint, Held, measure
from viva.pytest_plugin.conformance.leaks import _flat, _has_grown
from viva.pytest_plugin.conformance.subject import CheckedAgent, Demands

MIB = 1 << 20


def look(processes: int, descriptors: int, memory: int = 0, *, each: int = 50) -> Footprint:
    """What is held with so many ready processes, each of which holds the same."""
    agents = Held(processes * each, processes, processes * each * MIB)
    return Footprint(processes, Held(descriptors, 1, memory * MIB), agents)


def test_a_ready_process_that_has_ended_hides_no_descriptor_that_viva_has_kept() -> None:
    assert _has_grown(look(1, 12), look(2, 10))


def test_a_ready_process_that_was_started_since_is_one_more_and_nothing_else() -> None:
    before, after = look(1, 10, 100), look(2, 10, 100)
    assert after.growth("processes", before) == 1
    assert (after.growth("descriptors", before), after.growth("memory", before)) == (0, 0)


def test_a_ready_process_that_has_ended_hides_no_memory() -> None:
    looks = [look(2, 10, 100), look(1, 10, 110), look(2, 10, 120), look(1, 10, 130)]
    with pytest.raises(Differs, match="memory stay flat"):
        _flat("memory", looks, 20)


def test_what_ready_processes_keep_is_a_leak_too() -> None:
    looks = [look(2, 10, each=number) for number in (50, 60, 70)]
    with pytest.raises(Differs, match="descriptors stay flat"):
        _flat("descriptors", looks, 20)
    with pytest.raises(Differs, match="memory stay flat"):
        _flat("memory", looks, 20)


def test_a_cache_that_is_filled_once_is_no_leak() -> None:
    _flat("descriptors", [look(2, 10), look(2, 20), look(2, 20)], 20)


@pytest.fixture
def sleeping(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    monkeypatch.setattr(subject_module, "GONE_SECONDS", 0.1)
    command = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    started = [subprocess.Popen(command, env={**os.environ, MARK: "the mark"}) for _ in range(2)]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what processes hold")
async def test_a_process_that_a_session_left_is_told_from_one_that_is_kept_ready(
    sleeping: list[subprocess.Popen[bytes]],
) -> None:
    ready, left = sleeping

    def release() -> None:
        ready.kill()
        ready.wait()

    subject = CheckedAgent("agent.py:Agent", Demands(message="Hello."))
    subject.mark, agent = "the mark", SimpleNamespace(release=release)
    subject._agent = agent  # type: ignore[assignment]
    assert await subject.processes_without_ready() == {left.pid}
    assert await subject.processes_without_ready(frozenset({left.pid})) == frozenset()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what processes hold")
def test_what_processes_of_agents_hold_is_measured(sleeping: list[Any]) -> None:
    found = measure("the mark")
    assert found.processes == len(sleeping)
    assert found.by_agents.threads == len(sleeping)
    assert found.by_agents.memory > MIB
    assert measure("another mark").by_agents == NOTHING
