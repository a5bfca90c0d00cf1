"""One check seen from the server: followed to its end or its limit, and what its process reported."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from dataclasses import dataclass
from typing import Any

from sandbox.inside import files, hardening, watch

RESULT_BYTES = 262144
WATCH_SECONDS = 0.05
MOST_FILES = 60_000


class Ending(Exception):
    """The server stops here; everything of the room's ends with it."""


@dataclass(frozen=True)
class Place:
    """Where a check runs: whose processes, which folder, which file systems and what was on them before it."""

    processes: watch.Processes
    root: str
    mounts: list[str]
    disk_before: int
    wake: int
    """Readable when a process has ended."""


class Run:
    """One check under way, as the server sees it."""

    def __init__(
        self, place: Place, pid: int, out_read: int, result_read: int, limits: dict[str, float], base: int
    ) -> None:
        self.place, self.pid, self.limits, self.base = place, pid, limits, base
        self.out_read, self.result_read = out_read, result_read
        self.output = watch.Output(int(limits["output_kb"] * 1024))
        self.result = bytearray()
        self.status: int | None = None
        self.cpu = 0.0
        for descriptor in (out_read, result_read):
            os.set_blocking(descriptor, False)

    def follow(self, deadline: float) -> str:
        """Read until the check's process has ended or must be. Returns why it must be, or an empty string."""
        poll = select.poll()
        poll.register(0, select.POLLRDHUP)  # only its hang-up
        for descriptor in (self.out_read, self.result_read, self.place.wake):
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
                    raise Ending("stdin ended")
                if descriptor in (self.out_read, self.result_read) and not self.read(descriptor):
                    poll.unregister(descriptor)
                elif descriptor == self.place.wake:
                    _read(descriptor)
            self.reap()
        return ""

    def over_limit(self) -> str:
        used, count = self.place.processes.usage(self.base)
        if used > self.limits["memory_mb"] * hardening.MIB:
            return "memory"
        if count > self.limits["processes"]:
            return "processes"
        mounts = self.place.mounts
        written = files.used_bytes(mounts) - self.place.disk_before if mounts else files.size_of(self.place.root)
        if written > self.limits["disk_mb"] * hardening.MIB:
            return "disk space"
        return "number of files" if files.used_entries(mounts) > MOST_FILES else ""

    def read(self, descriptor: int) -> bool:
        data = _read(descriptor)
        if descriptor == self.out_read:
            self.output.add(data or b"")
        elif data and len(self.result) <= RESULT_BYTES:
            self.result += data
        return data != b""

    def drain(self) -> None:
        """What is left in the pipes once every process is gone."""
        for descriptor in (self.out_read, self.result_read):
            for _ in range(64):  # a pipe holds 64 KiB; nobody writes any more
                if not _read_into(self, descriptor):
                    break

    def reap(self) -> None:
        while self.status is None:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                self.status = -1
                return
            if not pid:
                return
            if pid == self.pid:
                self.status, self.cpu = status, usage.ru_utime + usage.ru_stime

    def outcome(self, proof: bytes, stopped: str) -> dict[str, Any]:
        """The ending, and what was flagged on the way to it."""
        flags, ending = read_report(bytes(self.result), proof)
        return {**self.ending(ending, stopped), "imported": flags}

    def ending(self, ending: dict[str, Any] | None, stopped: str) -> dict[str, Any]:
        """A pass needs all three: the proof, a whole report, and a process that ended by itself."""
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
        if number == signal.SIGXCPU or (number == signal.SIGKILL and self.cpu >= self.limits["cpu_seconds"]):
            return {"ending": "timeout", "message": f"used {self.limits['cpu_seconds']:g} seconds of CPU"}
        if number == signal.SIGKILL:
            return {"ending": "limit", "message": "killed: memory, or by itself"}
        return {"ending": "limit", "message": f"its process died of signal {number}"}


def read_report(data: bytes, proof: bytes) -> tuple[list[str], dict[str, Any] | None]:
    """The flags and the ending that a check's process sent. What is behind anything unproven is not read."""
    flags: list[str] = []
    while data.startswith(proof) and len(data) >= len(proof) + 5:
        at = len(proof) + 5
        size = int.from_bytes(data[at - 4 : at], "big")
        kind, text, data = data[at - 5 : at - 4], data[at : at + size], data[at + size :]
        try:
            said = json.loads(text) if len(text) == size else None
        except ValueError:
            break
        if kind == b"F" and isinstance(said, str):
            flags.append(said)
        elif kind == b"E" and isinstance(said, dict) and not data:
            return flags, said
        else:
            break
    return flags, None


def _read_into(run: Run, descriptor: int) -> bool:
    before = _read(descriptor)
    if not before:
        return False
    if descriptor == run.out_read:
        run.output.add(before)
    elif len(run.result) <= RESULT_BYTES:
        run.result += before
    return True


def _read(descriptor: int) -> bytes | None:
    """Bytes, empty at the end, none when there is nothing to read yet."""
    try:
        return os.read(descriptor, 65536)
    except BlockingIOError:
        return None
