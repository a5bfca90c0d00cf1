"""Processes whose supervisor is slow or gone are still seen to begin, and those that are slow to end, to end."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from viva.adapters.connectors.child import spawn
from viva.adapters.connectors.child.program import Program
from viva.adapters.connectors.child.spawn import ProgramStart, Spawned
from viva.adapters.connectors.child.supervised import SupervisedProcess


def slow_to_end() -> tuple[Spawned, int]:
    """A process that ends when its connection is closed, but not at once; and its id."""
    data, other = socket.socketpair()
    control, another = socket.socketpair()
    program = "import os, sys, time; os.read(int(sys.argv[1]), 1); time.sleep(0.3)"
    process = subprocess.Popen([sys.executable, "-c", program, str(other.fileno())], pass_fds=[other.fileno()])
    other.close(), another.close()
    return Spawned(process, data, control, None, "mark"), process.pid


def wait_until_gone(pid: int) -> None:
    end = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < end, "it is still there, perhaps as a zombie"
        time.sleep(0.01)


def test_a_process_that_is_slow_to_end_leaves_no_zombie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawn, "END_SECONDS", 0.01)
    spawned, pid = slow_to_end()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spawned.end()
        del spawned
        gc.collect()
    wait_until_gone(pid)


@pytest.mark.parametrize("turns", [1, 5])
async def test_a_process_whose_end_nobody_waits_for_any_longer_leaves_no_zombie(turns: int) -> None:
    spawned, pid = slow_to_end()
    child = SupervisedProcess(spawned)
    ending = asyncio.create_task(child.end())
    for _ in range(turns):
        await asyncio.sleep(0)
    ending.cancel()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(asyncio.CancelledError):
            await ending
        del spawned, child, ending
        gc.collect()
    wait_until_gone(pid)


async def test_a_program_has_begun_even_if_it_kills_its_supervisor_before_that_says_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an agent could make what it did look like a fault of the machine."""
    inside = tmp_path / "inside"
    shutil.copytree(spawn.INSIDE, inside)
    with (inside / "supervisor.py").open("a") as file:
        file.write("\n_Supervisor.run = lambda self: signal.pause()\n")
    monkeypatch.setattr(spawn, "INSIDE", inside)
    arguments = ("sh", "-c", "echo begun > begun; kill -9 $PPID")
    program = await Program.run(ProgramStart(shutil.which("sh") or "", arguments, str(tmp_path), {}))
    assert program.begun
    assert await program.gone(20)
    assert await program.end() is None
    assert (tmp_path / "begun").read_text() == "begun\n"
