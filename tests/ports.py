"""Ports for servers of other programs, which are told a number and bind it later."""

from __future__ import annotations

import contextlib
import secrets
import socket
from pathlib import Path

_GIVEN = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The range from which Linux gives a port to whoever connects, or asks for any."""


def free_port() -> int:
    """Return a port at which nothing listens, and which nobody is given who asks for any.

    A port of that range may be taken before the server has started, by any connection of a test beside this one.
    """
    first = int(_GIVEN.read_text().split()[0]) if _GIVEN.exists() else 32_768
    for _ in range(100):
        # Not by `random`, whose state is the same in each process of a test run.
        port = 20_000 + secrets.randbelow(max(first, 30_000) - 20_000)  # below them are the workers of Ray
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"no port from 20,000 to {first:,} is free")
