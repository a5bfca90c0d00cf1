"""Peak memory of this process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_mb() -> float:
    """The most that was resident at once, in MB.

    On Linux from proc_pid_status(5), which begins anew with the program: getrusage(2) counts what the process that
    started this one held.
    """
    if sys.platform.startswith("linux"):
        lines = Path("/proc/self/status").read_text().splitlines()
        return round(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2, 1)  # bytes on macOS
