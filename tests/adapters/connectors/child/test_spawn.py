"""Processes that are slow to end are still seen to the end."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import subprocess
import sys
import time
import warnings

import pytest

from viva.adapters.connectors.child import spawn
from viva.adapters.connectors.child.spawn import Spawned
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
