"""Kills what an agent left running where its supervisor could not: an agent can kill its supervisor, too."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

MARK = "VIVA_CHILD"
"""The environment variable that all processes of one agent inherit."""
SWEEP_SECONDS = 2.0


def sweep(mark: str) -> list[int]:
    """Kill all processes whose environment has this mark. Returns those that would not die.

    A process that wiped its environment is not found, and none is where there is no /proc (macOS).
    """
    wanted = f"{MARK}={mark}".encode()
    until = time.monotonic() + SWEEP_SECONDS
    while found := [pid for pid in _processes() if _is_marked(pid, wanted)]:
        if time.monotonic() > until:
            return found
        for pid in found:
            _kill(pid, wanted)
        time.sleep(0.01)
    return []


def _kill(pid: int, wanted: bytes) -> None:
    try:
        # A descriptor names one process, whatever becomes of its number.
        process = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if _is_marked(pid, wanted):
            signal.pidfd_send_signal(process, signal.SIGKILL)
    except OSError:
        return
    finally:
        os.close(process)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _is_marked(pid: int, wanted: bytes) -> bool:
    try:
        return wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
