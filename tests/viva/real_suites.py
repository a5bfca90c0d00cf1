"""What the tests of suites share: small cases, an agent that takes its time, suites that are killed and resumed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.viva.viva_command import in_a_process, in_this_process, start
from viva.journal.reader import read_records
from viva.journal.writer import FILE, Damage, scan

PATIENCE = 120.0
"""Seconds until something that should happen soon counts as never."""

CASE = """\
task_description: Ask the agent to count.
tags: [{tag}]
scoring_points:
  - score_point: The agent counts to four.
    weight: 1
    eval_code: assert rounds[3]["agent"] == "4", rounds[-1]["agent"]
script:
  - for: n in 1..4
    say: Say {{n}}.
"""

AGENT = """\
import asyncio, itertools, pathlib

made = itertools.count()

class Counter:
    def __init__(self, task_description):
        self.number = 0
        self.waits = next(made) >= {free}

    async def get_reply_from_agent(self, message):
        await asyncio.sleep({seconds})
        while self.waits and not pathlib.Path("go").exists():
            pathlib.Path("waiting").touch()
            await asyncio.sleep(0.01)
        self.number += 1
        return str(self.number)
"""


def write_cases(folder: Path, number: int) -> Path:
    """So many small cases; four rounds each, judged by code."""
    for index in range(number):
        case = folder / f"count_{index}"
        case.mkdir(parents=True)
        (case / "case.yaml").write_text(CASE.format(tag=f"t{index % 2}"))
    return folder


def write_agent(folder: Path, seconds: float = 0.0, free: int = sys.maxsize) -> str:
    """An async agent that counts, and its SPEC.

    Args:
        folder: Where to write it.
        seconds: How long it takes over each reply.
        free: How many are made that do not wait, with a file `waiting` as their sign, until there is a file `go`.
    """
    file = folder / "counter.py"
    file.write_text(AGENT.format(seconds=seconds, free=free))
    return f"{file}:Counter"


def viva(*arguments: str | Path | float, cwd: Path, process: bool = False) -> subprocess.CompletedProcess[str]:
    """Call viva in this process; in one of its own where the process matters, or an event loop runs here."""
    return (in_a_process if process else in_this_process)(*arguments, cwd=cwd)


def kill_and_resume(folder: Path, cases: int, trials: int, kills: int, seed: int) -> Path:
    """Run a suite, kill it with `kill -9` at random moments, resume it each time, and let the last one end.

    Returns:
        The journal.
    """
    chance = random.Random(seed)
    journal = folder / "journal"
    paths, agent = write_cases(folder / "cases", cases), write_agent(folder, 0.02)
    first = ["suite", paths, "--agent", agent, "--trials", trials, "--concurrency", 20, "--sandbox", "process"]
    command = [*first, "--out", journal, "--quiet"]
    again = ["suite", "--resume", journal, "--quiet"]
    done = 0
    while done < kills:
        process = start(*command, cwd=folder)
        if command is not again:
            until(lambda: (journal / FILE).exists() and (journal / "request.json").exists(), process)
            command = again
        time.sleep(chance.uniform(0.0, 1.2))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done += 1
    end = in_a_process(*again, cwd=folder, seconds=600)
    assert end.returncode == 0, end.stderr
    return journal


def until(condition: Callable[[], bool], process: subprocess.Popen[Any]) -> None:
    """Wait until it comes true, which it must before the process ends, and at all."""
    never = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        if time.monotonic() > never:
            process.kill()
            raise AssertionError(process.communicate())
        time.sleep(0.01)


def kill_outright(process: subprocess.Popen[Any]) -> None:
    """Kill a command that was started with `start_viva`: that of a warm one is the child of the process that waits."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for each in children or [str(process.pid)]:
        os.kill(int(each), signal.SIGKILL)
    process.communicate(timeout=PATIENCE)


def check_nothing_lost_nothing_twice(journal: Path, runs: int, kills: int) -> None:
    """The promises of resuming, read off the journal itself."""
    damage = Damage()
    kinds: dict[str, Counter[str]] = {}
    rounds: dict[str, Counter[tuple[int, int]]] = {}
    events = 0
    for event in scan(journal, damage):
        events += 1
        count = kinds.setdefault(event.run, Counter())
        if event.kind == "transcript":
            count["ended" if event.data.get("stop") == "finished" else "cut"] += 1
        else:
            count[event.kind] += 1
        if event.kind == "round":
            rounds.setdefault(event.run, Counter())[event.attempt, event.data["number"]] += 1
    assert len(kinds) == runs
    assert len(list(read_records(journal))) == runs
    for run, count in kinds.items():
        assert count["run"] == 1, f"{run} has {count['run']} records"
        assert count["ended"] == 1, f"{run} has {count['ended']} whole conversations"
        assert set(rounds[run].values()) == {1}, f"a round of {run} is there twice"
    written = sum(1 for line in (journal / FILE).read_bytes().split(b"\n") if line.strip())
    assert written == events + damage.torn
    assert damage.torn <= kills
    assert damage.unknown == 0
    assert {record.score for record in read_records(journal)} == {1.0}


def left_running(mark: str) -> list[str]:
    """Command lines of processes that carry `mark` in their arguments or environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in text and state != "Z":
            found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
