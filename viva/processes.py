"""Checks whether a process is alive."""

from __future__ import annotations

import os
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
