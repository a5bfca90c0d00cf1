"""The parent of Viva's process, which knows whether Viva itself ended the work.

An agent, an evaluator or native code in Viva's process can end it with any exit code (`os._exit(0)`), replace it by
another program (execve(2)), or keep it from ending (threads that never return). So the commands that run such code work
in a forked process. Its exit code counts only if Viva's own code has left it in memory that both processes share, where
another program no longer reaches it; then the process has a few seconds left to end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from viva.cli.stopping import heard_stops, on_leaving, on_stop

if TYPE_CHECKING:
    import mmap

SUPERVISED = frozenset({"run", "suite", "replay", "judge", "trace", "doctor"})
"""The commands that run the code of agents or evaluators."""
END_SECONDS = 3.0
"""Maximum time from Viva's last word to the end of its process."""
REPEAT_SECONDS = 0.25
"""Until a signal is sent again that no handler of the process has noted. One that arrives just before a blocking system
call leaves that call blocked, and Python runs the handler after it."""
REPEATS = 40
NOT_ENDED = 3
"""Exit code if the process ended without Viva: some runs were not scored."""
_SET_PDEATHSIG = 1
_WAKE = signal.SIGUSR1 if sys.platform != "win32" else signal.SIGTERM

_shared: mmap.mmap | None = None
"""Byte 0: whether Viva has ended its work; byte 1: with which code; byte 2: whether a handler noted a signal."""
_worker = 0
"""The id of the process that does the work; 0 if nobody supervises this one."""
_parent = 0


def supervise() -> None:
    """Fork, and return in the process that does the work; its parent waits for it, and exits with its code.

    Where no process can be forked, this process does the work without a parent.
    """
    global _shared, _worker, _parent
    if sys.platform == "win32":
        return
    import mmap  # here, because `viva --help` supervises nothing

    shared = mmap.mmap(-1, 3)
    stops = heard_stops()
    # Blocked from before the fork: what arrives in between is passed on.
    waited = {*stops, signal.SIGCHLD, signal.SIGALRM, _WAKE}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    viva = os.getpid()
    try:
        worker = os.fork()
    except OSError:
        worker = 0
        viva = 0
    if worker:
        os._exit(_wait(worker, shared, waited, frozenset(stops)))
    if viva:
        _die_with(viva)
        _shared, _worker, _parent = shared, os.getpid(), viva
        on_leaving(end_work)
        on_stop(_note_stop)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_work(code: int) -> None:
    """Notify the parent that Viva has ended its work. What keeps the process from ending now no longer matters."""
    if _shared is None or os.getpid() != _worker:
        return
    for number in heard_stops():
        with contextlib.suppress(ValueError):  # not on the main thread, which something blocks
            signal.signal(number, signal.SIG_IGN)
    _shared[:2] = bytes((1, code & 0xFF))
    if os.getppid() == _parent:
        os.kill(_parent, _WAKE)


def _note_stop() -> None:
    if _shared is not None and os.getpid() == _worker:
        _shared[2] = 1


def _wait(worker: int, shared: mmap.mmap, waited: set[signal.Signals], stops: frozenset[int]) -> int:
    """Pass signals on until the process has ended; return the exit code."""
    ends: float | None = None
    killed, unnoted, repeats = False, 0, 0
    while True:
        number, sent_to_group = _next_signal(waited)
        if shared[0]:
            if ends is None:
                ends = time.monotonic() + END_SECONDS
                signal.setitimer(signal.ITIMER_REAL, END_SECONDS)
            elif not killed and (number in stops or time.monotonic() >= ends):
                killed = True
                _send(worker, signal.SIGKILL)
        elif number in stops:
            if not sent_to_group:
                _send(worker, number)
            if not shared[2]:
                unnoted, repeats = number, REPEATS
                signal.setitimer(signal.ITIMER_REAL, REPEAT_SECONDS)
        elif number == signal.SIGALRM and not shared[2] and repeats:
            repeats -= 1
            _send(worker, unnoted)
            signal.setitimer(signal.ITIMER_REAL, REPEAT_SECONDS)
        ended, status = os.waitpid(worker, os.WNOHANG)
        if ended:
            return shared[1] if shared[0] else _unfinished(os.waitstatus_to_exitcode(status))


def _next_signal(waited: set[signal.Signals]) -> tuple[int, bool]:
    """Return the next signal, and whether a terminal sent it, to the process that does the work as well."""
    if sys.platform == "linux":
        found = signal.sigwaitinfo(waited)
        return found.si_signo, found.si_code > 0
    return signal.sigwait(waited), False


def _unfinished(code: int) -> int:
    if code != NOT_ENDED:  # Viva itself has said what happened
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        words = (
            f"viva: Viva's process {how} before Viva had ended its work. An agent or evaluator in the same process "
            "can do that. What was saved is kept; --isolate gives each agent a process of its own.\n"
        )
        with contextlib.suppress(OSError):
            os.write(2, words.encode())
    return NOT_ENDED


def _send(worker: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(worker, number)


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent is killed (prctl(2), Linux only)."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it died before the kernel knew
        os._exit(NOT_ENDED)
