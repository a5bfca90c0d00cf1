"""Who made a container or image: labels that let leftovers of dead harnesses be told from the work of living ones."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

HOST, PID, START, RUN, KIND = "viva.host", "viva.pid", "viva.start", "viva.run", "viva.kind"


IMAGE = "viva.image."
"""Begins the labels of images. A container inherits its image's labels, whoever starts it: were they named alike,
a stranger's container made from an image of ours would be taken for ours, and removed with its maker's leftovers."""
CONTAINERS = ("room", "builder")


def labels(kind: str, run_id: str = "") -> dict[str, str]:
    """For a container; `kind` is `room` or `builder`."""
    pid = os.getpid()
    return {HOST: this_host(), PID: str(pid), START: start_of(pid) or "", RUN: run_id, KIND: kind}


def image_labels(kind: str) -> dict[str, str]:
    """For an image; `kind` is `dependencies` or `base`."""
    return {image_key(key): value for key, value in labels(kind).items() if key != RUN}


def image_key(key: str) -> str:
    """What a label is called on an image."""
    return IMAGE + key.removeprefix("viva.")


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


def is_ours(found: dict[str, str] | None) -> bool:
    """Whether these are the labels of a container that a harness made."""
    return bool(found) and found is not None and found.get(KIND) in CONTAINERS


def is_leftover(found: dict[str, str] | None) -> bool:
    """Whether a container with these labels is ours, and its owner certainly dead; one elsewhere counts as living."""
    return found is not None and is_ours(found) and _is_dead(found.get(HOST), found.get(PID), found.get(START))


def is_leftover_image(found: dict[str, str] | None) -> bool:
    """The same for an image."""
    return found is not None and _is_dead(*(found.get(image_key(key)) for key in (HOST, PID, START)))


def _is_dead(host: str | None, pid: str | None, start: str | None) -> bool:
    if host != this_host() or pid is None or not pid.isdigit() or start_of(int(pid)) == start:
        return False
    return not _is_hidden(int(pid))


def _is_hidden(pid: int) -> bool:
    """Whether a process lives though there is no sign of it: another user's under `hidepid`, or there is no `/proc`."""
    if os.path.exists(f"/proc/{pid}"):
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
