"""The check's processes seen from the server: who they are, what they use, and how all of them are ended."""

from __future__ import annotations

import os
import signal
import time


class Processes:
    """All processes of the running check.

    With a PID namespace of the room's own (`alone`), that is everything but the server, which is PID 1 there: one
    `kill(-1)` reaches all of it, forks in flight included. Without one, the server is their subreaper and walks
    the process table.
    """

    def __init__(self, alone: bool) -> None:
        self.alone = alone
        self.shared_before = 0
        """Shared memory on the machine when the check began, in bytes."""

    def pids(self) -> list[int]:
        me = os.getpid()
        every = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != me]
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
        """Memory that the check's processes hold beyond the `base` each inherited, and how many tasks they are."""
        total = largest_shared = all_shared = tasks = 0
        for pid in self.pids():
            private, shared, threads = _usage(pid)
            total += max(0, private - base)
            largest_shared = max(largest_shared, shared)
            all_shared += shared
            tasks += threads
        # Whether processes hold the same shared pages or each their own is not to be seen from here; how much there
        # is on the whole machine is, and the truth lies below both.
        return total + max(largest_shared, min(all_shared, shared_memory() - self.shared_before)), tasks

    def end(self, patience: float = 10.0) -> bool:
        """Kill and reap every one. False when some would not go: then this room must not be used again."""
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


def _usage(pid: int) -> tuple[int, int, int]:
    """Private and shared resident bytes, and threads; zeros for a process that is gone."""
    found = {"RssAnon": 0, "RssShmem": 0, "Threads": 0}
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name in found:
                    found[name] = int(value.split()[0])
    except (OSError, ValueError):
        pass
    return found["RssAnon"] * 1024, found["RssShmem"] * 1024, found["Threads"]


def shared_memory() -> int:
    """Bytes of shared memory and tmpfs on the whole machine."""
    try:
        with open("/proc/meminfo") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("Shmem:")), 0)
    except (OSError, ValueError):
        return 0


class Output:
    """What the check printed: the head and the tail are kept, however much it was."""

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
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
        self._trim()
        middle = b"\n[... %d bytes left out ...]\n" % self._dropped if self._dropped else b""
        return bytes(self._head + middle + self._tail).decode("utf-8", "replace")
