"""Notes how Viva's process ended while an agent was examined in it, so that the next start can tell.

An agent that calls `os._exit` or crashes the interpreter takes Viva with it. While agents are examined in Viva's own
process, the journal has a file that a normal end removes. A crash, or a call of `os._exit`, is written there, and
whatever code the agent chose, the process leaves with the one for runs that could not be scored. An empty file means
that the process was killed from outside, or that its machine was. Replacing the process by another program (`os.execv`)
is refused, which is an exception in the agent.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from viva.adapters.crash_dump import OWN, read_dump
from viva.exam.outcome import EXIT_NOT_SCORED
from viva.journal.errors import JournalError
from viva.journal.paths import RUNS
from viva.journal.writer import scan
from viva.records.text import one_line

FILE = "last-words.txt"
MAX_BYTES = 256 * 1024
RUNS_NAMED = 3
_SECOND = len("20260101-000000")
REMEDY = "With --isolate, each agent has a process of its own, and Viva continues when it ends."


@dataclass(frozen=True, slots=True)
class LastWords:
    """How a process ended that did not end its work."""

    folder: Path
    how: str
    """How it ended, in words that follow `Viva's process`."""
    runs: tuple[tuple[str, str], ...]
    """Id and agent of the runs that were under way in that process."""

    def __str__(self) -> str:
        named = ", ".join(f"{one_line(run, 80)} ({one_line(agent, 80)})" for run, agent in self.runs[:RUNS_NAMED])
        more = len(self.runs) - RUNS_NAMED
        which = f" while it examined {named}{f' and {more} more' if more > 0 else ''}" if named else ""
        return f"{one_line(str(self.folder), 300)}: Viva's process {self.how}{which}. {REMEDY}"


@contextlib.contextmanager
def noting_last_words(folder: Path) -> Iterator[None]:
    """Note in a journal's folder how this process ends, if it does so before this returns.

    If the process already has a fault handler (that of pytest, say), crashes stay with it.
    """
    try:
        descriptor = os.open(folder / FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError:  # what cannot be noted must not stop the exam
        yield
        return
    handles = not faulthandler.is_enabled()
    real, me, ended = os._exit, os.getpid(), threading.Event()

    def leave(status: int) -> NoReturn:
        caller = sys._getframe(1)
        if os.getpid() != me or ended.is_set():
            pass  # forked processes end in this way; and another suite of this process may have kept this function
        elif Path(caller.f_code.co_filename).is_relative_to(OWN):  # the user insisted on stopping
            with contextlib.suppress(OSError):
                os.unlink(folder / FILE)
        else:
            words: dict[str, Any] = {"os._exit": status, "at": _place(caller)}
            with contextlib.suppress(OSError):
                os.write(descriptor, json.dumps(words).encode() + b"\n")
                last = f"viva: {words['at']} called os._exit({status}). It ended Viva as well. {REMEDY}"
                os.write(2, one_line(last, 500).encode("utf-8", "replace") + b"\n")
            real(EXIT_NOT_SCORED)
        real(status)

    os._exit = leave
    refusal = _refusing_exec()
    if handles:
        faulthandler.enable(descriptor, all_threads=False)
    try:
        yield
    finally:
        ended.set()
        refusal.close()
        if handles:
            faulthandler.disable()
        if os._exit is leave:
            os._exit = real
        os.close(descriptor)
        with contextlib.suppress(OSError):
            os.unlink(folder / FILE)


def _refusing_exec() -> contextlib.ExitStack:
    """Refuse execve(2) in this process until the result is closed; its forked children may call it."""
    global _hooked
    if not _hooked:
        sys.addaudithook(_refuse_exec)
        _hooked = True
    _exams.append(os.getpid())
    stack = contextlib.ExitStack()
    stack.callback(_exams.pop)
    return stack


def _refuse_exec(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook, which cannot be removed (PEP 578)."""
    if event == "os.exec" and os.getpid() in _exams:
        raise RuntimeError(f"{one_line(os.fsdecode(arguments[0]), 200)} would replace Viva's own process. {REMEDY}")


_hooked = False
_exams: list[int] = []
"""The process of each journal for which last words are being noted."""


def forget_last_words(folder: Path) -> None:
    """Remove what an earlier process left in a journal's folder; the caller goes on with its work."""
    with contextlib.suppress(OSError):
        os.unlink(folder / FILE)


def read_last_words(folder: Path, *, busy: bool = False) -> LastWords | None:
    """Return how the process ended that was writing a journal; None if it ended its work, or is still at work.

    The file may come from anywhere, so what it says is shown, and never believed beyond that.

    Args:
        folder: The journal's folder.
        busy: Whether the caller itself holds the journal's lock.
    """
    try:
        descriptor = os.open(folder / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        if not busy and _is_being_written(folder):
            return None
        with contextlib.suppress(OSError):
            how = _how(file.read(MAX_BYTES).decode("utf-8", "replace"))
            return LastWords(folder, how, _under_way(folder))
    return None


def last_words_of_newest() -> LastWords | None:
    """Return how the process ended that wrote the newest journal under `runs/`, as `read_last_words` does."""
    with contextlib.suppress(OSError):
        # By name, which begins with the time: looking into each would take longer with every run.
        names = [name for name in os.listdir(RUNS) if name[:1].isdigit()]
        second = max((name[:_SECOND] for name in names), default="")
        newest = max(
            (RUNS / name for name in names if name.startswith(second)),
            key=lambda folder: folder.stat().st_mtime_ns,
            default=None,
        )
        return None if newest is None else read_last_words(newest)
    return None


def _how(text: str) -> str:
    for line in text.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            words: Any = json.loads(line)
            if isinstance(words, dict) and "os._exit" in words:
                where = one_line(str(words.get("at")), 200)
                return f"was ended by os._exit({one_line(str(words['os._exit']), 20)}) at {where}"
    crash = read_dump(text)[1]
    if crash is not None:
        at = f" at {one_line(crash.place, 200)}" if crash.place else ""
        return f"crashed ({one_line(crash.what, 100)}{at})"
    return "ended without a message (it was killed, ran out of memory, or the machine stopped)"


def _under_way(folder: Path) -> tuple[tuple[str, str], ...]:
    begun: dict[str, str] = {}
    with contextlib.suppress(JournalError):
        for event in scan(folder, kinds=frozenset({"setting", "run"})):
            if event.kind == "run":
                begun.pop(event.run, None)
            elif event.data.get("in_process"):
                begun[event.run] = str(event.data.get("agent") or "")
    return tuple(begun.items())


def _is_being_written(folder: Path) -> bool:
    from viva.file_locks import try_lock
    from viva.journal.lock import holder

    try:
        lock = os.open(folder / ".lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        free = try_lock(lock, shared=True)
    except OSError:
        return True
    finally:
        os.close(lock)
    return holder(folder) is not None if free is None else not free


def _place(frame: Any) -> str:
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} in {frame.f_code.co_name}"
