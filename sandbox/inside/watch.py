"""Watches the processes of a check from the server: which they are, what they use and print; and ends them."""

from __future__ import annotations

import _socket  # the class behind that of `socket`, which is slow and large, and would be in every check's memory
import contextlib
import ctypes
import os
import signal
import time
from typing import NamedTuple


class ServerStop(Exception):
    """The server must end, and everything in its sandbox with it."""


class Processes:
    """All processes of the running check.

    Where the server has a PID namespace to itself (`alone`), that is everything but the server, which is PID 1 there:
    one `kill(-1)` reaches all of them, forks in flight included. Elsewhere the server is their subreaper and walks
    the process table.
    """

    def __init__(self, alone: bool) -> None:
        self.alone = alone
        self.first = 0
        """In a world, the first process of the running check's PID namespace; 0 when none is running."""
        self.shared_before = 0
        """Shared memory on the machine when the check began, in bytes."""

    def pids(self) -> list[int]:
        """Return the ids of the check's processes."""
        me = os.getpid()
        every = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (me, self.first)]
        if self.alone:
            return every
        children: dict[int, list[int]] = {}
        for pid in every:
            try:
                with open(f"/proc/{pid}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            children.setdefault(parent, []).append(pid)
        found, waiting = [], [me]
        while waiting:
            below = children.get(waiting.pop(), [])
            found += below
            waiting += below
        return found

    def usage(self, base: int) -> tuple[int, int]:
        """Return the memory that the processes hold beyond the `base` that each inherited, and the number of tasks."""
        found = {pid: _usage(pid) for pid in self.pids()}
        total = sum(max(0, one.private - base) for one in found.values())
        all_shared = sum(one.shared for one in found.values())
        largest_shared = max((one.shared for one in found.values()), default=0)
        # From here one cannot see whether processes share the same pages or hold their own. What the whole machine
        # holds can be seen, and the true figure is below both.
        shared = max(largest_shared, min(all_shared, shared_memory() - self.shared_before))
        return total + shared, sum(one.threads for one in found.values())

    def sockets(self) -> int:
        """Return how many sockets there are. Zero where others have theirs in the same network namespace."""
        if not self.alone:
            return 0
        try:
            with open("/proc/net/sockstat") as file:
                return int(file.readline().split()[2])
        except (OSError, ValueError, IndexError):
            return 0

    def end(self, patience: float = 10.0) -> bool:
        """Kill and reap all of them. Returns False if some remain: then this server must not be used again."""
        if self.first:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.first, signal.SIGKILL)
            self.first = 0
            # What is in its namespace is killed with it, and it is the last to be waited for.
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.waitpid(-1, 0)
        deadline = time.monotonic() + patience
        while True:
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return True  # orphans come to us, so without children there is nobody
            self._kill()
            if time.monotonic() > deadline:
                return False
            time.sleep(0.0002)

    def _kill(self) -> None:
        for pid in [-1] if self.alone else self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


class ProcessUsage(NamedTuple):
    """What one process uses: resident bytes, and threads."""

    private: int
    shared: int
    threads: int


def _usage(pid: int) -> ProcessUsage:
    """Return what a process uses; zeros for one that is gone."""
    found = {"RssAnon": 0, "RssShmem": 0, "Threads": 0}
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name in found:
                    found[name] = int(value.split()[0])
    except (OSError, ValueError):
        pass
    return ProcessUsage(found["RssAnon"] * 1024, found["RssShmem"] * 1024, found["Threads"])


def shared_memory() -> int:
    """Return the bytes of shared memory and tmpfs on the whole machine."""
    found = _SystemInformation()
    if _sysinfo is None or _sysinfo(ctypes.byref(found)) != 0:
        return 0
    return int(found.shared) * int(found.unit)


def collect_sockets() -> None:
    """Make the kernel collect closed sockets that hold each other, and files, by messages nobody received.

    It looks when a Unix socket is closed, whoever's that is; without this one they may stay until it is switched off.
    """
    _socket.socket(_socket.AF_UNIX).close()


class _SystemInformation(ctypes.Structure):
    """See sysinfo(2): the same figures as in /proc/meminfo, for a thirtieth of the time."""

    _fields_ = [
        ("uptime", ctypes.c_long),
        ("loads", ctypes.c_ulong * 3),
        ("total", ctypes.c_ulong),
        ("free", ctypes.c_ulong),
        ("shared", ctypes.c_ulong),
        ("buffers", ctypes.c_ulong),
        ("swap", ctypes.c_ulong * 2),
        ("processes", ctypes.c_ushort),
        ("high", ctypes.c_ulong * 2),
        ("unit", ctypes.c_uint),
        ("rest", ctypes.c_char * 64),
    ]


_sysinfo = getattr(ctypes.CDLL(None), "sysinfo", None)


class Output:
    """What the check printed. However much that is, only its beginning and its end are kept."""

    def __init__(self, size: int) -> None:
        self._half = max(1, size // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Add what was printed next."""
        space = self._half - len(self._head)
        if space > 0:
            self._head += data[:space]
            data = data[space:]
        self._tail += data
        if len(self._tail) > 4 * self._half:
            self._trim()

    def _trim(self) -> None:
        extra = len(self._tail) - self._half
        if extra > 0:
            self._dropped += extra
            del self._tail[:extra]

    def text(self) -> str:
        """Return what was kept, with a mark where something was left out."""
        self._trim()
        middle = b"\n[... %d bytes left out ...]\n" % self._dropped if self._dropped else b""
        return bytes(self._head + middle + self._tail).decode("utf-8", "replace")
