"""The keeper: a warm process that makes the server of each run of itself, one run after the other.

A run's server has the keeper's stdin and stdout as long as it lives, so that the keeper never holds anything of a run.
In a world the server is PID 1 of namespaces of its own: when it ends, the kernel ends every process in them, and their
file systems are removed. The next world is made as soon as the last run is over, and its server waits for an order, so
that no run waits for its world.

Before a run: `W` (begin a run; `nonce`, and without worlds in `options` what differs between runs), answered by the
run's server with `W` and the same `nonce`. After it: `X` with the nonce, and `worn` where the container was hit by a
limit of its own.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from typing import Any

from viva.sandbox.inside import ending, files, frames, hardening, layers, namespaces, watch
from viva.sandbox.inside.server import Server

NONCE_BYTES = 256
"""More than a run's nonce has."""
LAST_SECONDS = 5.0
"""How long a run's server has to end itself when its harness is gone."""
# Counters of the container's control group, in version 1 and in version 2: how often it was hit by a limit.
_COUNTERS = (
    "/sys/fs/cgroup/memory/memory.failcnt",
    "/sys/fs/cgroup/memory.events.local",
    "/sys/fs/cgroup/pids/pids.events",
    "/sys/fs/cgroup/pids.events",
)
_HITS = ("max", "oom", "oom_kill")
_TRIAL_LIMITS = {
    "seconds": 20.0, "cpu_seconds": 20.0, "memory_mb": 64, "processes": 4, "open_files": 64, "file_mb": 1,
    "disk_mb": 16, "output_kb": 1,
}  # fmt: skip
_TRIAL = "import os\nassert os.getpid() == 2 and os.getppid() == 0"


_WHOLE, _LAYERS = b"+", b"+layers"
"""What a trial says: a world works here, without or with layers."""


class Keeper:
    """Makes servers of `template`, which is warm and serves no run itself."""

    def __init__(self, template: Server) -> None:
        self.template = template
        self.world = template.world
        self.hits = 0
        self.counters: list[str] = []
        self.wake_read, self.wake_write = os.pipe()

    def start(self) -> None:
        """Get ready, and say hello: with `why` where no world can be made here."""
        self.template.warm()
        if not self.template.options["alone"]:
            hardening.become_subreaper()
        for descriptor in (self.wake_read, self.wake_write):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        why = self.why_no_world() if self.world else ""
        self.counters = [path for path in _COUNTERS if os.path.exists(path)]
        self.hits = hits(self.counters)
        self.template.hello(keeps=not why, why=why, filtered=self.template.filtered)

    def loop(self) -> None:
        """Serve one run after the other, until stdin ends."""
        while True:
            # A world is the same for every run. Otherwise, the order says where the run has its folder.
            self.run(None if self.world else receive_order())

    def run(self, order: dict[str, Any] | None) -> None:
        """Serve one run: make its server, and wait for its end. Without an order, the server receives it."""
        options = {} if order is None else order.get("options") or {}
        told, tell = os.pipe()
        pid = self.fork()
        if pid == 0:
            os.close(told)
            server = self.server(options)

            def work() -> None:
                server.start()
                begin(order or receive_order(), tell)
                server.loop()

            ending.run_to_its_end(server, work)
        os.close(tell)
        status = self.wait_for(pid)
        nonce = os.read(told, NONCE_BYTES).decode()
        os.close(told)
        if not self.template.processes.end():
            raise watch.ServerStop("processes of a run could not be ended")
        watch.collect_sockets()  # they would hold the namespaces of the run, too
        if options.get("remove_root") and os.path.lexists(options["root"]):  # its server could not
            files.wipe(options["root"])
            os.rmdir(options["root"])
        if status != 0:
            raise watch.ServerStop("the server of a run was lost")
        if not nonce:
            raise watch.ServerStop("stdin ended")
        before, self.hits = self.hits, hits(self.counters)
        frames.send(b"X", {"nonce": nonce, "worn": self.hits > before})

    def fork(self) -> int:
        """Make the process of a run's server: in a world PID 1 of its own namespaces."""
        keeper = os.getpid()
        pid = namespaces.clone(namespaces.OF_A_RUN) if self.world else os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                os.close(self.wake_read)
                os.close(self.wake_write)
                if not self.world:
                    _end_with(keeper)
            except BaseException:
                os._exit(72)
        return pid

    def server(self, options: dict[str, Any]) -> Server:
        """Return a server with the template's warmth, for one run."""
        return self.template.for_run({**self.template.options, **options})

    def wait_for(self, pid: int) -> int:
        """Wait for the end of a run's server, and end it where its harness is gone and it does not end itself."""
        poll = select.poll()
        poll.register(0, select.POLLRDHUP)  # only its hang-up
        poll.register(self.wake_read, select.POLLIN)
        deadline = None
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended == pid:
                return status
            if deadline is not None and time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                return os.waitpid(pid, 0)[1]
            for descriptor, _event in poll.poll(None if deadline is None else 100):
                if descriptor == 0:
                    poll.unregister(0)
                    deadline = time.monotonic() + LAST_SECONDS
                else:
                    _drain(self.wake_read)

    def why_no_world(self) -> str:
        """Test a complete world with a check in it. Returns an empty string, or why it does not work here."""
        read, write = os.pipe()
        try:
            pid = self.fork()
        except OSError as error:
            return str(error)
        if pid == 0:
            os.write(write, _trial(self.server({})).encode("utf-8", "replace")[:500])
            os._exit(0)
        os.close(write)
        said = b""
        while piece := os.read(read, 500):
            said += piece
        os.close(read)
        os.waitpid(pid, 0)
        self.template.can_layer = said == _LAYERS
        return "" if said in (_WHOLE, _LAYERS) else said.decode("utf-8", "replace") or "its server died"


def receive_order() -> dict[str, Any]:
    """Return the order of the next run.

    Raises:
        ServerStop: stdin has ended, or something else was received.
    """
    while True:
        kind, payload = frames.receive()
        if kind == b"W":
            order: dict[str, Any] = json.loads(bytes(payload))
            return order
        if kind != b"P":
            raise watch.ServerStop("unknown frame")
        frames.send(b"P", {})


def begin(order: dict[str, Any], tell: int) -> None:
    """Answer an order, and tell the keeper its nonce; nothing of the run has the way there any more."""
    os.write(tell, order["nonce"].encode())
    os.close(tell)
    frames.send(b"W", {"nonce": order["nonce"]}, with_next=True)


def _trial(server: Server) -> str:
    try:
        server.start()
        header = json.dumps({"entries": [], "chat_history": [], "rounds": []}).encode()
        server.load(memoryview(len(header).to_bytes(4, "big") + header))
        for _ in range(2):
            server.set_up()
            found = server.check({"code": _TRIAL, "limits": _TRIAL_LIMITS})
            if found["ending"] != "passed":
                return str(found.get("message") or found["ending"])
            server.replace_file_systems()
        return (_LAYERS if layers.work(server.root) else _WHOLE).decode()
    except BaseException as error:
        return str(error) or type(error).__name__


def _end_with(keeper: int) -> None:
    """Make the kernel signal this process when its keeper ends, which stops it as if stdin had ended."""

    def stop(number: int, frame: object) -> None:
        raise watch.ServerStop("stdin ended")

    signal.signal(signal.SIGTERM, stop)
    hardening.end_with_parent(signal.SIGTERM)
    if os.getppid() != keeper:
        os._exit(0)


def hits(counters: list[str]) -> int:
    """Return how often this container was hit by a limit of its control group; 0 where that cannot be seen."""
    total = 0
    for path in counters:
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            lines = os.read(descriptor, 4096).decode("ascii", "replace").splitlines()
        except OSError:
            continue
        finally:
            os.close(descriptor)
        for line in lines:
            name, _, number = line.rpartition(" ")
            total += int(number) if name in ("", *_HITS) and number.isdigit() else 0
    return total


def _drain(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        return


def serve(options: dict[str, Any]) -> None:
    """Run a keeper until its stdin ends, or with `once` the server of one run, and end this process."""
    server = Server(options)
    keeper = None if options["way"] == "once" else Keeper(server)

    def work() -> None:
        if keeper is not None:
            keeper.start()
            keeper.loop()
        else:
            server.warm()
            server.start()
            server.hello(keeps=False, filtered=server.filtered)
            server.loop()

    ending.run_to_its_end(server, work)
