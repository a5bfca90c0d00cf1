"""Handles Ctrl-C, SIGTERM and SIGHUP from the start of the process: they end it with 130, without a traceback.

While work is under way, `viva.cli.process.run_async` has handlers of its own, which let it clean up. Imported at every
start, so it imports nothing that costs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

STOPPED = 130
"""Exit code after Ctrl-C, SIGTERM or SIGHUP, as in shells."""
ONE_STOP_SECONDS = 1.0
"""Signals within this time count as one: a terminal may send two, and Ctrl-C may be held down."""
UNWIND_SECONDS = 5.0
"""Maximum time from a signal during set-up to the end: what it raises can be swallowed, by an agent's import too."""
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if sys.platform != "win32" else (signal.SIGINT, signal.SIGTERM)

_stops: list[float] = []
_on_stop: list[Callable[[], object]] = []
_before_leaving: list[Callable[[int], object]] = []


def heard_stops() -> tuple[signal.Signals, ...]:
    """Return the signals that stop this process; one that is ignored, as under `nohup`, stays ignored."""
    return tuple(number for number in STOPS if signal.getsignal(number) is not signal.SIG_IGN)


def handle_stops() -> None:
    """Let a signal raise KeyboardInterrupt wherever the process is; the second one within a moment changes nothing."""
    for number in heard_stops():
        signal.signal(number, _stop)


def forget_stops() -> None:
    """Let a signal end the process as it ends any other; its work is done, and nothing is left to clean up."""
    for number in STOPS:
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.SIG_DFL)


def was_stopped() -> bool:
    """Return whether a signal arrived, whatever became of the exception that it raised."""
    return bool(_stops)


def on_stop(function: Callable[[], object]) -> None:
    """Have a function called by whichever handler handles a signal that stops the process."""
    _on_stop.append(function)


def note_stop() -> None:
    """Call what `on_stop` was given. Every handler of a signal that stops the process does so first."""
    for function in _on_stop:
        function()


def on_leaving(function: Callable[[int], object]) -> None:
    """Have a function called with the exit code before `leave_at_once` ends the process."""
    _before_leaving.append(function)


def leave_at_once(words: str = "") -> NoReturn:
    """End the process without cleaning up: something blocks it."""
    for function in _before_leaving:
        function(STOPPED)
    with contextlib.suppress(OSError):  # the terminal may be gone
        os.write(2, f"viva: stopped at once{words}\n".encode())
    os._exit(STOPPED)


def _stop(number: int, _: object) -> None:
    note_stop()
    _stops.append(time.monotonic())
    if len(_stops) == 1:
        sys.unraisablehook = _nothing  # it may be raised where Python can only print it
        with contextlib.suppress(RuntimeError):  # no thread is left
            hard = threading.Timer(UNWIND_SECONDS, leave_at_once)
            hard.daemon = True
            hard.start()
        raise KeyboardInterrupt
    if number == signal.SIGINT and _stops[-1] - _stops[0] > ONE_STOP_SECONDS:
        leave_at_once()


def _nothing(_: Any) -> None:
    pass
