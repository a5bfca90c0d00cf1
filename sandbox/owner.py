"""Who made a container or image: labels that let leftovers of dead harnesses be told from the work of living ones."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

HOST, PID, START, RUN, KIND = "viva.host", "viva.pid", "viva.start", "viva.run", "viva.kind"


def labels(kind: str, run_id: str = "") -> dict[str, str]:
    """`kind`: `room`, `builder`, `dependencies` or `base`."""
    pid = os.getpid()
    return {HOST: this_host(), PID: str(pid), START: start_of(pid) or "", RUN: run_id, KIND: kind}


@cache
def this_host() -> str:
    """Names the table of process ids that `pid` counts in: machine, boot and PID namespace.

    One daemon may serve several machines, or harnesses in containers, where the same number is another process.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()}/{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def start_of(pid: int) -> str | None:
    """When the process started, in clock ticks since boot; none when there is no such process.

    A process id comes back after a while; together with its start it names one process.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def is_leftover(found: dict[str, str] | None) -> bool:
    """Whether these labels are ours and their owner is certainly dead. An owner elsewhere counts as living."""
    if not found or found.get(HOST) != this_host():
        return False
    pid = found.get(PID, "")
    return pid.isdigit() and start_of(int(pid)) != found.get(START)
