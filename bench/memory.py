"""Reads the peak memory of this process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_mb() -> float:
    """Return the maximum resident memory in MB.

    On Linux it comes from proc_pid_status(5), which is reset when a program starts; getrusage(2) includes the memory of
    the process that started this one.
    """
    if sys.platform.startswith("linux"):
        lines = Path("/proc/self/status").read_text().splitlines()
        return round(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2, 1)  # bytes on macOS
