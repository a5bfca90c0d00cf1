"""Measures the physical part of what Viva does, beside Viva, in the same run: what no harness can leave out.

The floor of a round is its agent and one write of its record; of an agent on a thread, the hop; of an agent in a
process, a message there and back; of a reader, the bytes and their decoding. How far above its floor a figure is says
what is left to gain, on any machine. The floor of a check is measured by `python -m bench sandbox`.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from bench import child_door, rounds
from bench.report_journals import write_rounds
from bench.stubs import TEXT, AsyncAgent, SyncAgent
from bench.table import Figure
from viva.adapters.connectors.table import load_agent
from viva.journal.writer import Journal

PASSES = 5
"""Passes in which both are measured, one after the other, so that other load affects both."""
MANY = 2000
"""Times that a short floor is repeated."""


def figures() -> list[Figure]:
    """Measure each floor and what Viva takes, as pairs with their ratio."""
    found = [
        *_pair("a round of a conversation", "us", _round, _bare_round, "the agent's reply, one write of the record"),
        *_pair("a synchronous agent's round", "us", _threaded, _bare_hop, "a hop to a thread of a pool, one write"),
        *_pair("an agent's process, a round", "us", *_of_a_process(), "120 characters to a process and back"),
    ]
    ours, alone, ratio = rounds._with_model(50, 15)
    found += _figures("a model examiner's round", "us", [(ours, alone)], "AutoGen's AssistantAgent alone", ratio)
    found += _pair("viva --version", "ms", _version, _interpreter, "an interpreter that does nothing")
    return [*found, *_page()]


def _pair(name: str, unit: str, ours: Callable[[], float], floor: Callable[[], float], what: str) -> list[Figure]:
    """Measure both in alternation."""
    return _figures(name, unit, [(ours(), floor()) for _ in range(PASSES)], what)


def _figures(
    name: str, unit: str, pairs: list[tuple[float, float]], what: str, ratio: float | None = None
) -> list[Figure]:
    """Return what Viva takes, the floor, and the median of their ratios."""
    return [
        Figure(name, statistics.median(ours for ours, _ in pairs), unit),
        Figure("  its floor", statistics.median(floor for _, floor in pairs), unit, note=what),
        Figure("  above it", ratio or statistics.median(ours / floor for ours, floor in pairs), "x"),
    ]


def _each(act: Callable[[], object], number: int = MANY) -> float:
    """Return the microseconds that one of many repetitions takes."""
    began = time.perf_counter()
    for _ in range(number):
        act()
    return (time.perf_counter() - began) / number * 1e6


def _conversation(agent: type) -> float:
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder)) as journal:
        return rounds._timed(rounds._conversations(agent, 50, 20, journal, None)) / 50 / 20


def _round() -> float:
    return _conversation(AsyncAgent)


def _threaded() -> float:
    return _conversation(SyncAgent)


def _record() -> bytes:
    """Return the line that a journal has for a round."""
    with tempfile.TemporaryDirectory() as folder:
        with Journal(Path(folder)) as journal:
            asyncio.run(rounds._conversations(AsyncAgent, 2, 1, journal, None))
        return (Path(folder) / "journal.jsonl").read_bytes().splitlines(keepends=True)[-1]


def _bare(reply: Callable[[], object], line: bytes) -> float:
    """Return the microseconds for a reply and a write, without a harness."""
    with tempfile.TemporaryFile(buffering=0) as file:

        async def loop() -> None:
            for _ in range(MANY):
                said = reply()
                if asyncio.iscoroutine(said) or asyncio.isfuture(said):
                    await said
                os.write(file.fileno(), line)

        return rounds._timed(loop()) / MANY


def _bare_round() -> float:
    agent = AsyncAgent("task")
    return _bare(lambda: agent.get_reply_from_agent(TEXT), _record())


def _bare_hop() -> float:
    agent = SyncAgent("task")
    with ThreadPoolExecutor(1) as pool:
        return _bare(
            lambda: asyncio.get_running_loop().run_in_executor(pool, agent.get_reply_from_agent, TEXT), _record()
        )


def _of_a_process() -> tuple[Callable[[], float], Callable[[], float]]:
    """Return the measurements of an agent in a process, and of a process that sends back what it is sent."""

    def isolated() -> float:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "answers.py"
            file.write_text(child_door.SOURCE)
            agent = load_agent(f"{file}:Sync", isolate=True)
            try:
                return asyncio.run(child_door._rounds(agent))
            finally:
                if agent.release is not None:
                    agent.release()

    def bare() -> float:
        here, there = socket.socketpair()
        child = os.fork()
        if not child:
            here.close()
            while said := there.recv(1 << 16):
                there.sendall(said)
            os._exit(0)
        there.close()
        try:
            return _each(lambda: here.send(TEXT.encode()) and here.recv(1 << 16))
        finally:
            here.close()
            os.waitpid(child, 0)

    return isolated, bare


def _version() -> float:
    return _run([str(Path(sysconfig.get_path("scripts")) / "viva"), "--version"])


def _interpreter() -> float:
    return _run([sys.executable, "-c", "pass"])


def _run(command: list[str]) -> float:
    """Return the milliseconds of a command."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return _each(lambda: subprocess.run(command, check=True, capture_output=True, env=environment), 5) / 1000


def _page() -> list[Figure]:
    """Measure the page of 100,000 rounds; its floor reads and decodes the journal and writes as many bytes."""
    with tempfile.TemporaryDirectory() as name:
        journal = Path(name) / "journal"
        write_rounds(journal, 2000, 50)
        pairs = []
        for _ in range(3):
            command = [sys.executable, "-m", "bench.reports", "html", str(journal)]
            said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            began = time.process_time()
            decode = msgspec.json.Decoder().decode
            for path in journal.rglob("*.jsonl"):
                with open(path, "rb") as file:
                    for line in file:
                        decode(line)
            (Path(name) / "page").write_bytes(b"x" * int(said["bytes"]))
            pairs.append((said["cpu_s"], time.process_time() - began))
    return _figures("page of 100,000 rounds, CPU", "s", pairs, "the journal decoded, the page's bytes written")
