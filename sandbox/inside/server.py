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
import signal
import sys
import time
from importlib import import_module
from typing import Any

from sandbox.inside import check_run, child, files, hardening, talk, watch

# Imported before the first fork, so that no check waits for them. Not `random` and `threading`, nor what imports them:
# their hooks cost every fork 0.4 ms, which is more than most checks have from them.
PRELOADED = """
ast base64 bisect collections contextlib csv dataclasses datetime decimal fractions functools glob hashlib itertools
math numbers operator pathlib re shutil string textwrap time typing
"""


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
        self.fence = -1
        self.wake_read, self.wake_write = os.pipe()

    def start(self) -> None:
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
        self.classes = talk.message_classes()
        child.prepare(self.home, self.options.get("site"))
        self.fence = hardening.landlock()
        filtered = hardening.forbid_system_calls()
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
                raise check_run.Ending("unknown frame")

    def set_up(self) -> None:
        """Leave nothing of the last check, and lay out the copy for the next one."""
        assert self.workspace is not None
        for mount in [self.root] if not self.options["mounts"] else self.options["mounts"]:
            files.wipe(mount)
        if self.options["alone"]:
            hardening.remove_sysv()
        self.disk_before = files.used_bytes(self.options["mounts"])
        self.workspace.lay_out(self.home)

    def check(self, request: dict[str, Any]) -> dict[str, Any]:
        limits, proof = request["limits"], os.urandom(32)
        base = hardening.own_memory()
        stage = {
            "home": self.home,
            "names": self.names,
            "base": base,
            "mounts": self.options["mounts"],
            "fence": self.fence,
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
            place = check_run.Place(self.processes, self.root, self.options["mounts"], self.disk_before, self.wake_read)
            check = check_run.Run(place, pid, out_read, result_read, limits, base[2])
            stopped = check.follow(started + limits["seconds"])
            seconds = time.monotonic() - started
            if not self.processes.end():
                raise check_run.Ending("processes of a check could not be ended")
            check.drain()
            return {**check.outcome(proof, stopped), "output": check.output.text(), "seconds": round(seconds, 6)}
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
                raise check_run.Ending("stdin ended")
            at += got
        view.release()
        return bytes(data) if size < 65536 else data  # type: ignore[return-value]

    def send(self, kind: bytes, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode("utf-8")
        data = len(data).to_bytes(4, "big") + kind + data
        while data:
            data = data[os.write(1, data) :]


def _add_packages(folder: str) -> None:
    """Installed dependencies come after the standard library, and before what the image happens to have."""
    before = list(sys.path)
    import_module("site").addsitedir(folder)
    added = [path for path in sys.path if path not in before]
    place = next((at for at, path in enumerate(before) if path.endswith("-packages")), len(before))
    sys.path[:] = before[:place] + added + before[place:]


def serve(options: dict[str, Any]) -> None:
    server = Server(options)
    reason = "left"
    try:
        server.start()
        server.loop()
    except check_run.Ending as ending:
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
