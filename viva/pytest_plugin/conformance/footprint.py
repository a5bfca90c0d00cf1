"""Measures what this process and the agents' processes hold: processes, descriptors, threads, memory. Linux only."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

MARK = "VIVA_CONFORMANCE_SESSION"
"""Environment variable by which the processes of agents are found, whoever their parent is by now."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What is held between two sessions."""

    processes: int
    descriptors: int
    threads: int
    memory: int
    """Resident bytes of this process and of the agents' processes."""


def can_measure() -> bool:
    """Return whether this system tells what processes hold."""
    return sys.platform == "linux"


def agent_processes(mark: str) -> list[int]:
    """Return the ids of the live processes that were started with this mark in their environment."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = Path(entry.path, "environ").read_bytes()
        except OSError:  # gone, or another user's
            continue
        if wanted in environment.split(b"\0"):
            found.append(int(entry.name))
    return found


def command_of(process: int) -> str:
    """Return a process's command line, or what is known of it."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return "it has ended since"


def measure(mark: str) -> Footprint:
    """Return what is held now, after garbage was collected and free memory was given back."""
    gc.collect()
    _trim()
    processes = agent_processes(mark)
    return Footprint(
        processes=len(processes),
        descriptors=len(os.listdir("/proc/self/fd")),
        threads=threading.active_count(),
        memory=sum(_resident(process) for process in (os.getpid(), *processes)),
    )


def _resident(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _trim() -> None:
    """Give free memory back to the system; otherwise what is resident says more about the allocator than about us."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):  # not the C library of GNU
        return
