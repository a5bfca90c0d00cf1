"""Ownership labels of containers and images. They tell leftovers of dead harnesses from what living ones use."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

from viva.processes import process_is_alive

HOST, PID, START, RUN, KIND = "viva.host", "viva.pid", "viva.start", "viva.run", "viva.kind"
NAME = "viva.name"
"""The container's own name. What a user commits from one of ours has its labels, and so have the containers made from
that; but none of these has its name."""


IMAGE = "viva.image."
"""The prefix of labels on images. A container inherits its image's labels, no matter who starts it: without the
prefix, another user's container made from an image of ours would count as ours, and be removed with the leftovers."""
CONTAINERS = ("session", "builder")


def labels(kind: str, run_id: str = "", name: str = "") -> dict[str, str]:
    """Return the labels of a container; `kind` is `session` or `builder`, `name` the name that it gets."""
    pid = os.getpid()
    found = {HOST: this_host(), PID: str(pid), START: start_of(pid) or "", RUN: run_id, KIND: kind}
    return {**found, NAME: name} if name else found


def image_labels(kind: str) -> dict[str, str]:
    """Return the labels of an image; `kind` is `dependencies` or `base`."""
    return {image_key(key): value for key, value in labels(kind).items() if key != RUN}


def image_key(key: str) -> str:
    """Return the name of a label on an image."""
    return IMAGE + key.removeprefix("viva.")


@cache
def this_host() -> str:
    """Return a name for the table of process ids in which ours counts: machine, boot and PID namespace.

    One daemon may serve several machines, or harnesses in containers, where the same id means another process.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()}/{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def start_of(pid: int) -> str | None:
    """Return when the process started, in clock ticks since boot; none when there is no such process.

    Process ids are used again after a while; together with its start, an id names one process.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def is_ours(found: dict[str, str] | None, name: str | None = None) -> bool:
    """Return whether these are the labels of a container that a harness made, and gave this name."""
    return found is not None and found.get(KIND) in CONTAINERS and name in (None, found.get(NAME, name))


def is_leftover(found: dict[str, str] | None) -> bool:
    """Return whether a container is ours and its owner certainly dead. An owner elsewhere counts as living."""
    return found is not None and is_ours(found) and _is_dead(found.get(HOST), found.get(PID), found.get(START))


def is_leftover_image(found: dict[str, str] | None) -> bool:
    """Return whether an image is ours and its owner certainly dead."""
    return found is not None and _is_dead(*(found.get(image_key(key)) for key in (HOST, PID, START)))


def _is_dead(host: str | None, pid: str | None, start: str | None) -> bool:
    if host != this_host() or pid is None or not pid.isdigit() or start_of(int(pid)) == start:
        return False
    # A process that is not in /proc may be alive: it is another user's and `hidepid` is on, or there is no /proc.
    return os.path.exists(f"/proc/{pid}") or not process_is_alive(int(pid))
