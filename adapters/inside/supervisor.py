"""The process between Viva and the agent, which ensures that no process of the agent outlives the session or Viva.

On Linux it is a subreaper (prctl(2), PR_SET_CHILD_SUBREAPER): a daemon that the agent leaves behind becomes its child,
however often it forked and whatever session it is in. When it has no children, no process of the agent is left.
On other systems the agent's process group is killed; a daemon in its own session escapes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .descendants import KILL_SECONDS, adopt_orphans, children, end_with_parent, is_linux
from .surroundings import TAIL, limit, set_memory_limit, wire_up
from .wire import send

TERMINATE = b"T"
"""What Viva sends to ask the agent's process group to end."""
SPARE_RUNS = b"R"
"""What Viva sends to say that runs are forked from the worker, whose supervisors must go on when this one ends."""
_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_MARK = b"VIVA_CHILD="


class Forked:
    """What differs for a supervisor that is forked from a process with the agent's module."""

    def __init__(self, viva: int, printed: tuple[bytes, bytes]) -> None:
        self.viva = viva
        self.printed = printed
        """What the import has printed to stdout and stderr."""


def fork_worker(
    control: int,
    data: int,
    memory: int | None,
    files: int | None,
    forked: Forked | None = None,
    wire: Callable[[int, int], None] | None = None,
    theirs: Sequence[int] = (),
) -> int:
    """Fork the worker, where this returns the descriptor of its socket to Viva; it never returns in the supervisor.

    Args:
        control: The descriptor of the supervisor's socket to Viva.
        data: The descriptor of the worker's socket to Viva.
        memory: Maximum address space of each process, in bytes.
        files: The soft limit of open files to restore.
        forked: What differs for one that is forked from a process with the agent's module.
        wire: Sets up the worker's standard streams; it gets the pipes for stdout and stderr to the supervisor.
        theirs: Further descriptors that belong to the worker alone.
    """
    adopt_orphans()
    if forked is None:
        # Viva's death closes `control`; should anybody else hold its other end, this wakes us as well. It also
        # wakes us when only the thread ends that started us, which is no reason to end.
        end_with_parent(signal.SIGTERM)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    before = _handlers(forked)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    ignored = (signal.SIGINT, signal.SIGHUP)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    outputs = (os.pipe(), os.pipe())
    viva, supervisor = os.getppid(), os.getpid()
    worker = os.fork()
    if worker == 0:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.setsid()  # signals of the agent to its own process group do not reach the supervisor
        if is_linux:
            end_with_parent(signal.SIGKILL)
            if os.getppid() != supervisor:
                os._exit(1)
        # Not from the supervisor: code of the agent may kill that before it has said a word, which would look like an
        # interpreter that did not start.
        _tell(control, up=True, pid=supervisor)
        if wire is None:
            wire_up(outputs[0][1], outputs[1][1], streams=forked is None)
        else:
            wire(outputs[0][1], outputs[1][1])
        for descriptor in (control, woken, wake, *outputs[0], *outputs[1]):
            os.close(descriptor)
        limit(memory, files)
        if forked is not None:
            set_memory_limit(memory, for_good=True)
        return _out_of_the_way(data)
    for descriptor in (data, *theirs):
        os.close(descriptor)
    for pair in outputs:
        os.close(pair[1])
        os.set_blocking(pair[0], False)
    return _Supervisor(viva, control, woken, worker, (outputs[0][0], outputs[1][0]), forked).run()


def _handlers(forked: Forked | None) -> dict[signal.Signals, Any]:
    """Return what the agent's process does with signals: Python's own, or what the import of its module has set."""
    usual: dict[signal.Signals, Any] = dict.fromkeys(_SIGNALS, signal.SIG_DFL)
    usual[signal.SIGINT] = signal.default_int_handler
    if forked is None:
        return usual
    found = {number: signal.getsignal(number) for number in _SIGNALS if number != signal.SIGCHLD}
    return {**usual, **{number: handler for number, handler in found.items() if handler is not None}}


class _Supervisor:
    def __init__(
        self, viva: int, control: int, woken: int, worker: int, outputs: tuple[int, int], forked: Forked | None
    ) -> None:
        self.viva = viva if forked is None else None
        """The parent whose end is the end of Viva."""
        self.watched = None if forked is None else _watch(forked.viva)
        self.control = control
        self.spares_runs = False
        """Whether children with the mark of another run may be other runs. Agents can give that mark to any process."""
        self.woken = woken
        self.worker = worker
        printed = (b"", b"") if forked is None else forked.printed
        self.tails = {outputs[number]: bytearray(printed[number]) for number in range(2)}
        self.cut = dict.fromkeys(outputs, False)
        self.outputs = outputs
        self.status: int | None = None

    def run(self) -> NoReturn:
        poller = select.poll()
        for descriptor in (self.control, self.woken, *self.outputs):
            poller.register(descriptor, select.POLLIN)
        if self.watched is not None:
            poller.register(self.watched, select.POLLIN)
        going = True
        while going and self.status is None:
            for descriptor, _ in poller.poll():
                if descriptor == self.control:
                    going = self.heed()
                elif descriptor == self.watched:
                    going = False  # Viva has died
                elif descriptor == self.woken:
                    os.read(self.woken, 4096)
                    going = going and self.viva in (None, os.getppid())
                    self.reap()
                elif not self.drain(descriptor):
                    poller.unregister(descriptor)
        for descriptor in self.outputs:
            for _ in range(16):  # 1 MiB: enough for the last output, and a limit for what a daemon still writes
                if not self.drain(descriptor):
                    break
        texts, cut = [_text(self.tails[each]) for each in self.outputs], [self.cut[each] for each in self.outputs]
        _tell(self.control, worker=self.status, output=texts, cut=cut)
        _tell(self.control, left=self.kill())
        os._exit(0)

    def heed(self) -> bool:
        """Do what Viva asks for; return False if it has closed its end, or died."""
        try:
            asked = os.read(self.control, 1)
        except OSError:
            return False
        if asked == TERMINATE:
            with contextlib.suppress(OSError):
                os.killpg(self.worker, signal.SIGTERM)
        self.spares_runs = self.spares_runs or asked == SPARE_RUNS
        return asked in (TERMINATE, SPARE_RUNS)

    def drain(self, descriptor: int) -> bool:
        """Read the available output, keep its end, and return False if there was none."""
        try:
            part = os.read(descriptor, 65536)
        except BlockingIOError:
            return False
        tail = self.tails[descriptor]
        tail += part
        self.cut[descriptor] = self.cut[descriptor] or len(tail) > TAIL
        del tail[:-TAIL]
        return bool(part)

    def reap(self) -> bool:
        """Reap every child that has died, and return False if none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.worker:
                self.status = status

    def kill(self) -> list[int]:
        """Kill the agent and all its descendants; return the ids of those that could not be killed.

        The supervisors of other runs, which were forked from a process that stood ready, go on.

        Only own children are killed: their ids cannot be reused before they are reaped, and the children of dead
        processes become own children.
        """
        pause, until = 0.0005, time.monotonic() + KILL_SECONDS
        if not is_linux:
            with contextlib.suppress(OSError):
                os.killpg(self.worker, signal.SIGKILL)
        while self.reap():
            left = self.own_children() if is_linux else [self.worker]
            if not left:
                return []
            if time.monotonic() > until:
                return left
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        return []

    def own_children(self) -> list[int]:
        """Return the ids of the children that are to end with this process."""
        return [pid for pid in children() if not (self.spares_runs and _is_other_run(pid))]


def _tell(control: int, **notice: Any) -> None:
    with contextlib.suppress(OSError):
        send(control, json.dumps(notice).encode())


def _is_other_run(pid: int) -> bool:
    """Return whether a process has the mark of another run than this process: see `forks.py`."""
    own, other = _mark_of("self"), _mark_of(str(pid))
    return bool(own and other and own != other)


def _mark_of(pid: str) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return next((item for item in file.read().split(b"\0") if item.startswith(_MARK)), b"")
    except OSError:
        return b""


def _watch(viva: int) -> int | None:
    """Return a descriptor that tells when Viva's process ends, if the system has such descriptors."""
    try:
        return os.pidfd_open(viva)
    except (AttributeError, OSError):
        return None


def _out_of_the_way(descriptor: int) -> int:
    """Move a descriptor to a high number, which an agent that closes all its files like a daemon hardly reaches."""
    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 700)
    except OSError:
        os.set_inheritable(descriptor, False)
        return descriptor
    os.close(descriptor)
    return high


def _text(tail: bytearray) -> str:
    return tail.decode("utf-8", "replace")
