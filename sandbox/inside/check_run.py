"""One check as the server sees it: watched until its end or a limit, with what its process reported."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from dataclasses import dataclass
from typing import Any, Protocol

from viva.sandbox.inside import files, hardening, watch

RESULT_BYTES = 262144
WATCH_SECONDS = 0.05
MAX_FILES = 60_000
MAX_SOCKETS = 512
"""Maximum number of sockets of all the check's processes. Data in flight is kernel memory, which may be charged to no
process."""
MAX_FLAGS = 50
REPORTED = ("passed", "failed", "broken", "limit")


class WaitingCheck(Protocol):
    """See `staging.StagedCheck`."""

    @property
    def pid(self) -> int: ...
    @property
    def output(self) -> int: ...
    @property
    def result(self) -> int: ...


@dataclass(frozen=True)
class CheckLocation:
    """Where a check runs: its processes, its folder, its file systems and what was on them before it."""

    processes: watch.Processes
    root: str
    mounts: list[str]
    disk_before: int
    base: int
    """Bytes of private memory that each of its processes begins with."""
    wake: int
    """A descriptor that becomes readable when a process has ended."""


class CheckRun:
    """One check under way."""

    def __init__(self, location: CheckLocation, staged: WaitingCheck, limits: dict[str, float]) -> None:
        self.location, self.staged, self.limits = location, staged, limits
        self.out_read, self.result_read = staged.output, staged.result
        self.output = watch.Output(int(limits["output_kb"] * 1024))
        self.result = bytearray()
        self.status: int | None = None
        self.cpu = 0.0
        for descriptor in (self.out_read, self.result_read):
            os.set_blocking(descriptor, False)

    def follow(self, deadline: float) -> str:
        """Read until the check's process has ended or must be ended.

        Returns the limit that was exceeded, or an empty string.
        """
        poll = select.poll()
        poll.register(0, select.POLLRDHUP)  # only its hang-up
        for descriptor in (self.out_read, self.result_read, self.location.wake):
            poll.register(descriptor, select.POLLIN)
        next_look = time.monotonic() + WATCH_SECONDS
        while self.status is None:
            now = time.monotonic()
            if now >= deadline:
                return "time"
            if now >= next_look:
                over = self.over_limit()
                if over:
                    return over
                next_look = time.monotonic() + WATCH_SECONDS
            for descriptor, event in poll.poll(max(0.0, min(deadline, next_look) - now) * 1000 + 0.5):
                if descriptor == 0 and event & (select.POLLHUP | select.POLLERR | select.POLLRDHUP):
                    raise watch.ServerStop("stdin ended")
                if descriptor in (self.out_read, self.result_read) and not self.read(descriptor):
                    poll.unregister(descriptor)
                elif descriptor == self.location.wake:
                    _read(descriptor)
            self.reap()
        return ""

    def over_limit(self) -> str:
        """Return the limit that is exceeded now, or an empty string."""
        used, count = self.location.processes.usage(self.location.base)
        if used > self.limits["memory_mb"] * hardening.MIB:
            return "memory"
        if count > self.limits["processes"]:
            return "processes"
        mounts = self.location.mounts
        written = files.used_bytes(mounts) - self.location.disk_before if mounts else files.size_of(self.location.root)
        if written > self.limits["disk_mb"] * hardening.MIB:
            return "disk space"
        if self.location.processes.sockets() > MAX_SOCKETS:
            return "sockets"
        return "number of files" if files.used_entries(mounts) > MAX_FILES else ""

    def read(self, descriptor: int) -> bool:
        """Read what a pipe holds. Returns False at its end."""
        data = _read(descriptor)
        if descriptor == self.out_read:
            self.output.add(data or b"")
        elif data and len(self.result) <= RESULT_BYTES:
            self.result += data
        return data != b""

    def drain(self) -> None:
        """Read what is left in the pipes once every process is gone."""
        for descriptor in (self.out_read, self.result_read):
            for _ in range(64):  # a pipe holds 64 KiB; nobody writes any more
                if not _read_into(self, descriptor):
                    break

    def reap(self) -> None:
        """Collect the processes that have ended, and note how the check's own did."""
        while self.status is None:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                self.status = -1
                return
            if not pid:
                return
            if pid == self.staged.pid:
                self.status, self.cpu = status, usage.ru_utime + usage.ru_stime

    def outcome(self, proof: bytes, stopped: str) -> dict[str, Any]:
        """Return the ending, and what was flagged before it."""
        flags, ending = read_report(bytes(self.result), proof)
        found = self.ending(ending, stopped)
        if found["ending"] == "failed" and found.get("exception") == "SystemExit" and not flags:
            flags = ["text: left by SystemExit"]
        return {**found, "imported": flags}

    def ending(self, ending: dict[str, Any] | None, stopped: str) -> dict[str, Any]:
        """Return the ending. A pass requires the proof, a whole report, and a process that ended by itself."""
        if stopped == "time":
            return {"ending": "timeout", "message": f"still running after {self.limits['seconds']:g} seconds"}
        if stopped:
            return {"ending": "limit", "message": stopped}
        status = self.status if self.status is not None else -1
        if status == 0 and ending is not None:
            return ending
        if os.WIFSIGNALED(status):
            return self.died(os.WTERMSIG(status))
        return {
            "ending": "limit",
            "message": f"its process ended (status {status >> 8}) without the server seeing the end of the check",
        }

    def died(self, number: int) -> dict[str, Any]:
        """Return the ending of a check whose process was killed by a signal."""
        if number == signal.SIGXCPU or (number == signal.SIGKILL and self.cpu >= self.limits["cpu_seconds"]):
            return {"ending": "timeout", "message": f"used {self.limits['cpu_seconds']:g} seconds of CPU"}
        if number == signal.SIGKILL:
            return {"ending": "limit", "message": "killed: memory, or by itself"}
        return {"ending": "limit", "message": f"its process was killed by signal {number}"}


def read_report(data: bytes, proof: bytes) -> tuple[list[str], dict[str, Any] | None]:
    """Return the flags and the ending that a check's process sent. Reading stops at the first record that lacks the
    proof."""
    flags: list[str] = []
    while data.startswith(proof) and len(data) >= len(proof) + 5:
        at = len(proof) + 5
        size = int.from_bytes(data[at - 4 : at], "big")
        kind, text, data = data[at - 5 : at - 4], data[at : at + size], data[at + size :]
        try:
            said = json.loads(text) if len(text) == size else None
        except (ValueError, RecursionError):  # the agent's code can write here: see `child.Report`
            break
        if kind == b"F" and isinstance(said, str):
            flags += [said] if len(flags) < MAX_FLAGS else []
        elif kind == b"E" and isinstance(said, dict) and said.get("ending") in REPORTED and not data:
            return flags, said
        else:
            break
    return flags, None


def _read_into(run: CheckRun, descriptor: int) -> bool:
    before = _read(descriptor)
    if not before:
        return False
    if descriptor == run.out_read:
        run.output.add(before)
    elif len(run.result) <= RESULT_BYTES:
        run.result += before
    return True


def _read(descriptor: int) -> bytes | None:
    """Return bytes: empty at the end of the pipe, none when there is nothing to read yet."""
    try:
        return os.read(descriptor, 65536)
    except BlockingIOError:
        return None
