"""Kills processes that an agent left running if its supervisor could not, because the agent can kill the supervisor."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

MARK = "VIVA_CHILD"
"""The environment variable that all processes of one agent inherit."""
SWEEP_SECONDS = 2.0
_EXITING = 0x4
"""PF_EXITING in the kernel's include/linux/sched.h."""


def sweep(mark: str) -> list[int]:
    """Kill all processes whose environment has this mark; return the ids of those that could not be killed.

    A process that cleared its environment is not found, and no process is found without /proc (macOS).
    """
    wanted = f"{MARK}={mark}".encode()
    until = time.monotonic() + SWEEP_SECONDS
    silent: set[int] = set()
    while True:
        found, silent_before, silent = [], silent, set()
        for pid in _processes():
            environment = _environment(pid)
            if not environment:
                silent.add(pid)
            elif wanted in environment.split(b"\0"):
                found.append(pid)
        # A process that disappeared since the last pass may have forked another after the list of this pass was made.
        settled = silent <= silent_before and not any(_is_between(pid) for pid in silent)
        if (not found and settled) or time.monotonic() > until:
            return found
        for pid in found:
            _kill(pid, wanted)
        time.sleep(0.005)


def _is_between(pid: int) -> bool:
    """Return whether a process without a visible environment may have had one, or may get one.

    Either the kernel is ending it: its code no longer runs, but its memory and files still exist. Or it is about to run
    another program (execve(2)) whose environment is not set up yet, which took up to 8 ms on a busy machine.

    In proc_pid_stat(5), the flags are 6 fields after the state; 20 fields after it is the size of the memory (none for
    the kernel itself), 23 the start of the program (1 if that and the rest are not readable), and 47 and 48 the start
    and the end of the environment.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        flags, memory, program, begins, ends = (int(fields[number]) for number in (6, 20, 23, 47, 48))
    except (OSError, ValueError, IndexError):
        return False
    if fields[0] in (b"Z", b"X"):
        return False
    # An empty environment begins where it ends.
    return flags & _EXITING != 0 or (memory > 0 and program != 1 and (ends == 0 or ends > begins))


def _kill(pid: int, wanted: bytes) -> None:
    try:
        # A descriptor refers to one process, even if its id is reused.
        process = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if wanted in _environment(pid).split(b"\0"):
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


def _environment(pid: int) -> bytes:
    """Return a process's initial environment; empty for a dead, ending, starting, kernel or another user's process."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
