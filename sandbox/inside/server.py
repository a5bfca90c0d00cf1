"""The fork server: it takes a workspace, and runs each check in a new process on a fresh copy of it.

It reads and writes frames on stdin and stdout: four bytes of length (big-endian), one byte of kind, the payload.
In: `O` (a workspace and what the check sees of the run), `C` (a check, JSON), `P` (are you there?).
Out: `H` (hello), `R` (ready), `V` (an ending), `P` (I am), `E` (it cannot go on), all JSON.
When stdin ends, it ends all its processes and itself.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import time
from importlib import import_module
from typing import Any

from sandbox.inside import (
    check_run,
    child,
    conversation,
    files,
    hardening,
    landlock,
    own_faults,
    system_calls,
    watch,
    witness,
)

# Imported before the first fork, so that no check waits for them. Not `random` and `threading`, nor what imports them:
# their hooks cost every fork 0.4 ms, which is more than most checks have from them.
PRELOADED = """
ast base64 bisect collections contextlib csv dataclasses datetime decimal fractions functools glob hashlib itertools
math numbers operator pathlib re shutil string textwrap time typing
"""


class Server:
    """One server, for one session.

    The options are `alone` (it has a PID namespace to itself), `root` (a directory for the copies), `mounts` (file
    systems that nobody else writes to), `count_processes` (RLIMIT_NPROC counts only this server's processes) and
    `site` (installed dependencies).
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.processes = watch.Processes(options["alone"])
        self.root = options["root"]
        self.home = self.root + "/work"
        self.scratch = child.Scratch(self.root + "/home", self.root + "/temporary")
        self.trusted: tuple[str, ...] = ()
        self.workspace: files.Workspace | None = None
        self.names: dict[str, Any] = {}
        self.classes: dict[str, Any] = {}
        self.disk_before = 0
        self.landlock_ruleset = -1
        self.wake_read, self.wake_write = os.pipe()

    def start(self) -> None:
        """Do once what every check needs, harden this process, and say hello."""
        hardening.set_dumpable(False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # PID 1 is only reached by signals that it handles
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        os.set_blocking(self.wake_write, False)
        os.set_blocking(self.wake_read, False)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        if not self.options["alone"]:
            hardening.become_subreaper()
        if self.options.get("site"):
            _add_packages(self.options["site"])
        for name in PRELOADED.split():
            import_module(name)
        self.classes = conversation.message_classes()
        self.trusted = witness.trusted_folders(sys.path)
        child.prepare(self.home, self.scratch, self.options.get("site"))
        self.landlock_ruleset = landlock.create_ruleset(guards_settings=not self.options["alone"])
        filtered = system_calls.forbid()
        gc.collect()
        gc.freeze()
        self.send(b"H", {"python": sys.version.split()[0], "pid": os.getpid(), "filtered": filtered})

    def loop(self) -> None:
        """Answer frames until stdin ends."""
        while True:
            kind, payload = self.receive()
            if kind == b"O":
                self.workspace = files.Workspace(payload)
                self.names = conversation.names(self.workspace.header, self.classes)
                self.set_up()
                self.send(b"R", {})
            elif kind == b"C":
                self.send(b"V", self.check(json.loads(bytes(payload))))
                self.set_up()
            elif kind == b"P":
                self.send(b"P", {})
            else:
                raise check_run.ServerStop("unknown frame")

    def set_up(self) -> None:
        """Remove everything the last check left, and write a fresh copy of the workspace for the next one."""
        assert self.workspace is not None
        for mount in [self.root] if not self.options["mounts"] else self.options["mounts"]:
            files.wipe(mount)
        if self.options["alone"]:
            hardening.remove_sysv()
        self.disk_before = files.used_bytes(self.options["mounts"])
        self.workspace.lay_out(self.home)
        for folder in self.scratch:
            os.mkdir(folder, 0o700)

    def check(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run one check in a process of its own, and return how it ended."""
        limits, proof = request["limits"], os.urandom(32)
        base = hardening.own_memory()
        stage = {
            "home": self.home,
            "names": self.names,
            "base": base,
            "trusted": self.trusted,
            "landlock_ruleset": self.landlock_ruleset,
            "count_processes": self.options["count_processes"],
        }
        out_read, out_write = os.pipe()
        result_read, result_write = os.pipe()
        self.processes.shared_before = watch.shared_memory()
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
            mounts = self.options["mounts"]
            location = check_run.CheckLocation(self.processes, self.root, mounts, self.disk_before, self.wake_read)
            check = check_run.CheckRun(location, pid, out_read, result_read, limits, base[2])
            stopped = check.follow(started + limits["seconds"])
            seconds = time.monotonic() - started
            if not self.processes.end():
                raise check_run.ServerStop("processes of a check could not be ended")
            check.drain()
            outcome = check.outcome(proof, stopped)
            if outcome["ending"] == "broken" and outcome["imported"] and not self.is_broken(request["code"], outcome):
                # The agent's code ran, and says that the check is broken. Nobody leaves the averages by saying so.
                outcome["ending"] = "failed"
            return {**outcome, "output": check.output.text(), "seconds": round(seconds, 6)}
        finally:
            os.close(out_read)
            os.close(result_read)

    def is_broken(self, code: str, outcome: dict[str, Any]) -> bool:
        """Tell whether the check is broken in itself, without regard to what the agent left."""
        assert self.workspace is not None
        left = {entry[1].partition("/")[0].partition(".")[0] for entry in self.workspace.header["entries"]}
        path = [folder for folder in sys.path if folder != self.home]
        return own_faults.is_broken(code, outcome.get("exception"), self.names, left, path)

    def receive(self) -> tuple[bytes, memoryview]:
        """Return the kind and the payload of the next frame."""
        head = self.take(5)
        return bytes(head[4:5]), memoryview(self.take(int.from_bytes(head[:4], "big")))

    def take(self, size: int) -> bytes:
        """Read exactly `size` bytes."""
        data = bytearray(size)
        view, at = memoryview(data), 0
        while at < size:
            got = os.readv(0, [view[at:]])
            if not got:
                raise check_run.ServerStop("stdin ended")
            at += got
        view.release()
        return bytes(data) if size < 65536 else data  # type: ignore[return-value]

    def send(self, kind: bytes, message: dict[str, Any]) -> None:
        """Write one frame."""
        data = json.dumps(message).encode("utf-8")
        data = len(data).to_bytes(4, "big") + kind + data
        while data:
            data = data[os.write(1, data) :]


def _add_packages(folder: str) -> None:
    """Put installed dependencies behind the standard library, and before whatever else the image has."""
    before = list(sys.path)
    import_module("site").addsitedir(folder)
    added = [path for path in sys.path if path not in before]
    index = next((at for at, path in enumerate(before) if path.endswith("-packages")), len(before))
    sys.path[:] = before[:index] + added + before[index:]


def serve(options: dict[str, Any]) -> None:
    """Run a server until it ends, clean up behind it, and end this process."""
    server = Server(options)
    reason = "left"
    try:
        server.start()
        server.loop()
    except check_run.ServerStop as stop:
        reason = str(stop)
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
