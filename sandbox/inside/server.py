"""The fork server: takes a workspace, then runs each check in a process of its own on a copy of its own.

It speaks frames on stdin and stdout: four bytes of length (big-endian), one byte of kind, then the payload.
In: `O` (a workspace and what the check sees of the run), `C` (a check, JSON), `P` (are you there?).
Out: `H` (hello), `R` (ready), `V` (an ending), `P` (I am), `E` (it cannot go on), all JSON.
When stdin ends, it ends everything and itself.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
from importlib import import_module
from typing import Any

from sandbox.inside import child, files, guard, talk, watch

# Imported before the first fork, so that no check waits for them. Not `random` and `threading`, nor what imports them:
# their hooks cost every fork 0.4 ms, which is more than most checks have from them.
PRELOADED = """
ast base64 bisect collections contextlib csv dataclasses datetime decimal fractions functools glob hashlib itertools
math numbers operator pathlib re shutil string textwrap time typing
"""
RESULT_BYTES = 262144
WATCH_SECONDS = 0.05
MOST_FILES = 60_000


class Ending(Exception):
    """The server stops here; everything of the room's ends with it."""


class Server:
    """`options`: `alone` (own PID namespace), `root` (a directory for the copies), `mounts` (file systems that only
    this room writes to), `count_processes` (RLIMIT_NPROC counts this room alone), `site` (installed dependencies)."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.processes = watch.Processes(options["alone"])
        self.root = options["root"]
        self.home = self.root + "/work"
        self.workspace: files.Workspace | None = None
        self.names: dict[str, Any] = {}
        self.classes: dict[str, Any] = {}
        self.disk_before = 0
        self.wake_read, self.wake_write = os.pipe()

    def start(self) -> None:
        guard.set_dumpable(False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # PID 1 is only reached by signals that it handles
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        os.set_blocking(self.wake_write, False)
        os.set_blocking(self.wake_read, False)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        if not self.options["alone"]:
            guard.become_subreaper()
        if self.options.get("site"):
            _add_packages(self.options["site"])
        for name in PRELOADED.split():
            import_module(name)
        self.classes = talk.message_classes()
        child.prepare(self.home, self.options.get("site"))
        filtered = guard.forbid_system_calls()
        gc.collect()
        gc.freeze()
        self.send(b"H", {"python": sys.version.split()[0], "pid": os.getpid(), "filtered": filtered})

    def loop(self) -> None:
        while True:
            kind, payload = self.receive()
            if kind == b"O":
                self.workspace = files.Workspace(payload)
                self.names = talk.names(self.workspace.header, self.classes)
                self.set_up()
                self.send(b"R", {})
            elif kind == b"C":
                self.send(b"V", self.check(json.loads(bytes(payload))))
                self.set_up()
            elif kind == b"P":
                self.send(b"P", {})
            else:
                raise Ending("unknown frame")

    def set_up(self) -> None:
        """Leave nothing of the last check, and lay out the copy for the next one."""
        assert self.workspace is not None
        for mount in [self.root] if not self.options["mounts"] else self.options["mounts"]:
            files.wipe(mount)
        if self.options["alone"]:
            guard.remove_sysv()
        self.disk_before = files.used_bytes(self.options["mounts"])
        self.workspace.lay_out(self.home)

    def check(self, request: dict[str, Any]) -> dict[str, Any]:
        limits, proof = request["limits"], os.urandom(32)
        base = guard.own_memory()
        stage = {
            "home": self.home,
            "names": self.names,
            "base": base,
            "count_processes": self.options["count_processes"],
        }
        out_read, out_write = os.pipe()
        result_read, result_write = os.pipe()
        started = time.monotonic()
        leave = os._exit
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                child.run(request, stage, out_write, result_write, proof)
            finally:
                leave(70)
        os.close(out_write)
        os.close(result_write)
        try:
            run = Run(self, pid, out_read, result_read, limits, base[2])
            stopped = run.follow(started + limits["seconds"])
            seconds = time.monotonic() - started
            if not self.processes.end():
                raise Ending("processes of a check could not be ended")
            run.drain()
            return {**run.outcome(proof, stopped), "output": run.output.text(), "seconds": round(seconds, 6)}
        finally:
            os.close(out_read)
            os.close(result_read)

    def receive(self) -> tuple[bytes, memoryview]:
        head = self.take(5)
        return bytes(head[4:5]), memoryview(self.take(int.from_bytes(head[:4], "big")))

    def take(self, size: int) -> bytes:
        data = bytearray(size)
        view, at = memoryview(data), 0
        while at < size:
            got = os.readv(0, [view[at:]])
            if not got:
                raise Ending("stdin ended")
            at += got
        view.release()
        return bytes(data) if size < 65536 else data  # type: ignore[return-value]

    def send(self, kind: bytes, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode("utf-8")
        data = len(data).to_bytes(4, "big") + kind + data
        while data:
            data = data[os.write(1, data) :]


class Run:
    """One check under way, as the server sees it."""

    def __init__(
        self, server: Server, pid: int, out_read: int, result_read: int, limits: dict[str, float], base: int
    ) -> None:
        self.server, self.pid, self.limits, self.base = server, pid, limits, base
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
        for descriptor in (self.out_read, self.result_read, self.server.wake_read):
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
                elif descriptor == self.server.wake_read:
                    _read(descriptor)
            self.reap()
        return ""

    def over_limit(self) -> str:
        used, count = self.server.processes.usage(self.base)
        if used > self.limits["memory_mb"] * guard.MIB:
            return "memory"
        if count > self.limits["processes"]:
            return "processes"
        mounts = self.server.options["mounts"]
        written = files.used_bytes(mounts) - self.server.disk_before if mounts else files.size_of(self.server.root)
        if written > self.limits["disk_mb"] * guard.MIB:
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


def _add_packages(folder: str) -> None:
    """Installed dependencies come after the standard library, and before what the image happens to have."""
    before = list(sys.path)
    import_module("site").addsitedir(folder)
    added = [path for path in sys.path if path not in before]
    place = next((at for at, path in enumerate(before) if path.endswith("-packages")), len(before))
    sys.path[:] = before[:place] + added + before[place:]


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


def serve(options: dict[str, Any]) -> None:
    server = Server(options)
    reason = "left"
    try:
        server.start()
        server.loop()
    except Ending as ending:
        reason = str(ending)
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
    server.processes.end(2.0)
    if options.get("remove_root"):
        with contextlib.suppress(OSError):
            files.wipe(server.root)
            os.rmdir(server.root)
    if reason != "stdin ended":
        with contextlib.suppress(OSError):
            server.send(b"E", {"message": reason})
    os._exit(0 if reason == "stdin ended" else 4)
