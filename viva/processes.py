"""Checks whether a process is alive, and names the signals that end processes."""

from __future__ import annotations

import os
import signal
import sys


def process_is_alive(pid: int) -> bool:
    """Return whether a process has this id. One that only another user may signal lives, and so does a zombie."""
    if sys.platform == "win32":
        return True  # there, os.kill ends a process whatever the signal
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def signal_name(number: int) -> str:
    """Return the name of a signal, such as SIGKILL; most of the real-time signals have none: `signal 40`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
