"""Processes that are slow to end are still seen to the end."""

from __future__ import annotations

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


def test_a_process_that_is_slow_to_end_leaves_no_zombie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawn, "END_SECONDS", 0.01)
    data, other = socket.socketpair()
    control, another = socket.socketpair()
    # It ends when its connection is closed, but not at once.
    program = "import os, sys, time; os.read(int(sys.argv[1]), 1); time.sleep(0.3)"
    process = subprocess.Popen([sys.executable, "-c", program, str(other.fileno())], pass_fds=[other.fileno()])
    other.close(), another.close()
    spawned = Spawned(process, data, control, None, "mark")
    pid = process.pid
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spawned.end()
        del spawned, process
        gc.collect()
    end = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < end, "it is still there, perhaps as a zombie"
        time.sleep(0.01)
