"""The fork server of one run: it takes a workspace, and runs each check in a new process on a fresh copy of it.

When stdin ends, it ends all its processes and itself. It is started once for each run, or a keeper (`keeper.py`) makes
one for each run of itself. `frames.py` says how it is spoken to.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from importlib import import_module
from typing import Any

from viva.cases.check_code import own_faults
from viva.sandbox.inside import (
    check_run,
    child,
    conversation,
    files,
    frames,
    hardening,
    landlock,
    layers,
    namespaces,
    staging,
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

MANY_FILES = layers.MANY_FILES
"""Beyond it, a file system is replaced and not emptied, which costs more the more files there are. Replacing costs a
wait for the whole kernel, which is long on a busy machine."""


class Server:
    """One server, for one session.

    The options are `alone` (it has a PID namespace to itself), `root` (a directory for the copies), `mounts` (file
    systems that nobody else writes to), `sizes` (their MiB, in a world), `count_processes` (RLIMIT_NPROC counts only
    this server's processes), `site` (installed dependencies) and `way`: `world`, where each run has namespaces of its
    own, `fork`, where it has a process of its own, and `once` for a server that serves one run.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.world = options["way"] == "world"
        self.who = (os.getuid(), os.getgid())
        self.trusted: tuple[str, ...] = ()
        self.classes: dict[str, Any] = {}
        self.landlock_ruleset = -1
        self.filter = system_calls.Filter(system_calls.LAST)
        self.filtered = False
        self.masks: list[tuple[str, str]] = []
        self.devices: dict[str, int] = {}
        self.ceilings = hardening.resource_ceilings()
        self.can_layer = False
        """Whether the kernel has what `layers` need, which the keeper tries."""
        self.for_run(options)

    def for_run(self, options: dict[str, Any]) -> Server:
        """Forget what belongs to a run, and return this server, ready for one with these options."""
        self.options = options
        self.processes = watch.Processes(options["alone"])
        self.root = options["root"]
        self.home = self.root + "/work"
        self.scratch = child.Scratch(self.root + "/home", self.root + "/temporary")
        self.workspace: files.Workspace | None = None
        self.names: dict[str, Any] = {}
        self.disk_before = 0
        self.base = (0, 0, 0)
        self.wake_read = self.wake_write = self.own_pids = -1
        self.staged: staging.StagedCheck | None = None
        self.is_set_up = False
        self.layers = layers.Layers(self.root)
        return self

    def warm(self) -> None:
        """Do what every run needs alike, and harden this process."""
        hardening.set_dumpable(False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # PID 1 is only reached by signals that it handles
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        if self.options.get("site"):
            _add_packages(self.options["site"])
        for name in PRELOADED.split():
            import_module(name)
        self.classes = conversation.message_classes()
        self.trusted = witness.trusted_folders(sys.path)
        self.landlock_ruleset = landlock.create_ruleset(guards_settings=not self.options["alone"])
        # In a world each check adds the rest: this process has namespaces and mounts to make.
        self.filtered = system_calls.Filter(system_calls.SHARED if self.world else system_calls.WHOLE).install()
        if self.world:
            self.masks, self.devices = namespaces.masks(), namespaces.device_mounts()
        child.prepare(self.options.get("site"))
        if self.world:
            child.prepare_run(self.home, self.scratch)  # the same folders in every world
        gc.collect()
        gc.freeze()

    def start(self) -> None:
        """Do what this run needs."""
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_write, False)
        os.set_blocking(self.wake_read, False)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        if not self.options["alone"]:
            hardening.become_subreaper()
        if self.world:
            hardening.set_dumpable(True)  # for a moment, so that /proc/self is this process's own
            namespaces.settle(*self.who, self.devices)
            self.own_pids = namespaces.own_pids()
            hardening.set_dumpable(False)
            self.replace_file_systems(first=True)
        else:
            child.prepare_run(self.home, self.scratch)
            self.renew()

    def hello(self, **more: Any) -> None:
        """Report that this process is ready."""
        frames.send(b"H", {"python": sys.version.split()[0], "pid": os.getpid(), **more})

    def loop(self) -> None:
        """Answer frames until the run is over."""
        while True:
            kind, payload = frames.receive()
            if kind == b"O":
                self.load(payload)
                self.set_up()
                frames.send(b"R", {"layers": self.layers.are_offered})
                self.staged = self.stage()
            elif kind == b"C":
                request = json.loads(bytes(payload))
                frames.send(b"V", self.check(request))
                if request.get("more", True):
                    self.prepare_next()
            elif kind == b"P":
                frames.send(b"P", {})
            elif kind == b"X":
                return
            else:
                raise watch.ServerStop("unknown frame")

    def load(self, payload: memoryview) -> None:
        """Load a workspace and a conversation, and record the state that a fork of this process starts from."""
        self.workspace = files.Workspace(payload)
        if self.can_layer:
            self.layers.offer(self.workspace)
        self.names = conversation.names(self.workspace.header, self.classes)
        self.base = hardening.forks_memory(hardening.keep_from_forks(payload))

    def prepare_next(self) -> None:
        """Prepare the next check's process, and meanwhile its files."""
        full = [mount for mount in self.options["mounts"] if self.world and self.is_full(mount)]
        if full:
            self.replace_file_systems(full)  # first: that process has those that are mounted when it is forked
        if self.layers.are_wanted:
            self.renew()
            self.set_up()  # first: that process puts the layer on
            self.staged = self.stage()
            return
        self.staged = self.stage()
        self.renew()
        self.staged = self.staged or self.stage()
        self.set_up()

    def is_full(self, mount: str) -> bool:
        """Return whether emptying a file system would take longer than replacing it."""
        kept = self.layers.entries if mount == self.root else 0
        return files.used_entries([mount]) > kept + MANY_FILES

    def renew(self) -> None:
        """Remove everything the last check left."""
        mounts = self.options["mounts"]
        for mount in mounts or [self.root]:
            if mount == self.root and self.layers.entries:
                self.layers.wipe()
            else:
                files.wipe(mount)
        if not self.is_empty(mounts) and self.world:
            self.unstage()  # it has the file systems that are mounted now
            self.replace_file_systems()
        if self.options["alone"] and not self.world:  # where each check is filtered, there are none
            hardening.remove_sysv()

    def is_empty(self, mounts: list[str]) -> bool:
        """Return whether nothing but the mounted folders is left: files without a name can be held by sockets."""
        for _ in range(20):
            if files.used_entries(mounts) <= len(mounts) + self.layers.entries:
                return True
            watch.collect_sockets()
            time.sleep(0.001)
        return False

    def replace_file_systems(self, mounts: list[str] | None = None, *, first: bool = False) -> None:
        """Mount the file systems of a world, or some of them (`mounts`), `first`, or others in their stead."""
        if mounts is None or self.root in mounts:
            self.layers.entries = 0
        namespaces.refresh(
            [
                namespaces.FileSystem(mount, size, self.root == mount)
                for mount, size in zip(self.options["mounts"], self.options["sizes"])  # noqa: B905 - of Python 3.10
                if mounts is None or mount in mounts
            ],
            first=first,
        )

    def set_up(self) -> None:
        """Make a fresh copy of the workspace for the next check, or a fresh layer over the one that there is."""
        assert self.workspace is not None
        if not self.layers.entries:
            self.disk_before = files.used_bytes(self.options["mounts"])
        if self.layers.are_wanted:
            self.layers.set_up(self.workspace, self.scratch)
        else:
            self.workspace.lay_out(self.home)
            self.make_scratch()
        self.is_set_up = True

    def make_scratch(self) -> None:
        """Make the empty folders beside a check's workspace."""
        for folder in self.scratch:
            os.mkdir(folder, 0o700)

    def choose_form(self, request: dict[str, Any]) -> None:
        """Make the layer that was prepared a copy, for a check that could tell the difference."""
        assert self.workspace is not None
        self.layers.note(request, self.workspace)
        if self.layers.entries and not self.layers.are_wanted:
            self.unstage()  # it has put the layer on
            self.layers.become_copy()
            self.make_scratch()

    def stage(self) -> staging.StagedCheck:
        """Prepare the process of the next check."""
        helpers = 2 if self.world else 1  # this server; the first process of the check's namespace
        settings = {
            "base": self.base,
            "home": self.home,
            "names": self.names,
            "dumps": self.classes["dumps"],
            "trusted": self.trusted,
            "landlock_ruleset": self.landlock_ruleset,
            "helpers": helpers if self.options["count_processes"] else -1,
            "world": self.world,
            "own_pids": self.own_pids,
            "masks": self.masks,
            "layer": self.layers.place,
            "filtered": self.filtered,
            "filter": self.filter,
            "ceilings": self.ceilings,
        }
        return staging.stage(settings)

    def check(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run one check in a process of its own, and return how it ended."""
        limits, proof = request["limits"], os.urandom(32)
        if not self.is_set_up:
            self.renew()
            self.set_up()
        if self.layers.are_offered:
            self.choose_form(request)
        self.processes.shared_before = watch.shared_memory()
        started = time.monotonic()
        staged = self.begin(request, proof)
        self.is_set_up = False
        mounts = self.options["mounts"]
        location = check_run.CheckLocation(
            self.processes, self.root, mounts, self.disk_before, self.base[2], self.wake_read
        )
        check = check_run.CheckRun(location, staged, limits)
        stopped = check.follow(started + limits["seconds"])
        seconds = time.monotonic() - started
        if not self.processes.end():
            raise watch.ServerStop("processes of a check could not be ended")
        watch.collect_sockets()
        check.drain()
        staged.close()
        outcome = check.outcome(proof, stopped)
        if outcome["ending"] == "broken" and not self.is_broken(request["code"], outcome):
            # What the agent left brought it about, or code of the agent's says so. Nobody leaves the averages by that.
            outcome["ending"] = "failed"
        return {**outcome, "output": check.output.text(), "seconds": round(seconds, 6)}

    def begin(self, request: dict[str, Any], proof: bytes) -> staging.StagedCheck:
        """Hand a check over to the process that was prepared for it, or to a new one where that has died."""
        staged = self.staged
        self.staged = None
        for _ in range(2):
            staged = staged or self.stage()
            if staged.begin(request, proof):
                self.processes.first = staged.first
                return staged
            staged.end()  # whatever ended it while it waited, it was nothing of the check's
            staged = None
        raise watch.ServerStop("a check's process does not live until its request")

    def unstage(self) -> None:
        """End the process that was prepared, and that nobody needs."""
        if self.staged is not None:
            self.staged.end()
            self.staged = None

    def is_broken(self, code: str, outcome: dict[str, Any]) -> bool:
        """Return whether the check is broken in itself: whether it can never pass, whatever the agent left."""
        assert self.workspace is not None
        left = {entry[1].partition("/")[0].partition(".")[0] for entry in self.workspace.header["entries"]}
        path = [folder for folder in sys.path if folder != self.home]
        return own_faults.is_broken(code, outcome.get("exception"), self.names, left, path)


def _add_packages(folder: str) -> None:
    """Insert installed dependencies after the standard library, and before all other packages of the image."""
    before = list(sys.path)
    import_module("site").addsitedir(folder)
    added = [path for path in sys.path if path not in before]
    index = next((at for at, path in enumerate(before) if path.endswith("-packages")), len(before))
    sys.path[:] = before[:index] + added + before[index:]
