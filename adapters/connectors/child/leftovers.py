"""Kills what an agent left running where its supervisor could not: an agent can kill its supervisor, too."""

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
    """Kill all processes whose environment has this mark. Returns those that would not die.

    A process that wiped its environment is not found, and none is where there is no /proc (macOS).
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
        # One that fell silent since the last look may have forked another after the list of this look was made.
        settled = silent <= silent_before and not any(_is_between(pid) for pid in silent)
        if (not found and settled) or time.monotonic() > until:
            return found
        for pid in found:
            _kill(pid, wanted)
        time.sleep(0.005)


def _is_between(pid: int) -> bool:
    """Tell whether one that showed no environment may have had one, or may show one yet.

    The kernel is taking it down: nothing of it runs any more, but its memory and files are still held. Or it is about
    to run another program (execve(2)), whose environment is not in its place yet: 8 ms were seen on a busy machine.

    proc_pid_stat(5): the state, and 6 fields later the flags, 20 the size of its memory (none has the kernel itself),
    23 where its program begins (1: that and the rest are not for us), 47 and 48 where its environment begins and ends.
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
        # A descriptor names one process, whatever becomes of its number.
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
    """Read what it was started with; nothing for a dead, dying or starting process, the kernel's or another user's."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
