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
class Held:
    """What one or several processes hold."""

    descriptors: int
    threads: int
    memory: int
    """Resident bytes."""

    def __add__(self, other: Held) -> Held:
        return Held(self.descriptors + other.descriptors, self.threads + other.threads, self.memory + other.memory)


NOTHING = Held(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Footprint:
    """What is held between two sessions."""

    processes: int
    """How many processes of agents there are."""
    by_viva: Held
    by_agents: Held

    def figure(self, what: str) -> int:
        """Return one of the figures, of all processes together."""
        return self.processes if what == "processes" else getattr(self.by_viva + self.by_agents, what)

    def growth(self, what: str, earlier: Footprint) -> int:
        """Return by how much a figure has grown. The agents' processes count if there are as many as before: one that
        a connector starts ahead, or has just taken, says nothing about what the others hold.
        """
        if what == "processes" or self.processes == earlier.processes:
            return self.figure(what) - earlier.figure(what)
        grown: int = getattr(self.by_viva, what) - getattr(earlier.by_viva, what)
        return grown


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


def shown_process(process: int) -> str:
    """Return a process's id and command line, or what is known of it."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        command = "it has ended since"
    return f"{process}: {command}"


def measure(mark: str) -> Footprint:
    """Return what is held now, after garbage was collected and free memory was given back."""
    gc.collect()
    _trim()
    processes = agent_processes(mark)
    ours = _held_by(os.getpid())
    # Threads of libraries that Python does not know of are theirs, such as those of an event loop's resolver.
    ours = Held(ours.descriptors, threading.active_count(), ours.memory)
    return Footprint(len(processes), ours, sum(map(_held_by, processes), NOTHING))


def _held_by(process: int) -> Held:
    """Return what a process holds; nothing if it has ended."""
    folder = Path(f"/proc/{process}")
    try:
        pages = int((folder / "statm").read_text().split()[1])
        counts = len(os.listdir(folder / "fd")), len(os.listdir(folder / "task"))
    except (OSError, IndexError, ValueError):
        return NOTHING
    return Held(*counts, pages * os.sysconf("SC_PAGE_SIZE"))


def _trim() -> None:
    """Give free memory back to the system; otherwise what is resident says more about the allocator than about us."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):  # not the C library of GNU
        return
