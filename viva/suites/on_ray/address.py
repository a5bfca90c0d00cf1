"""Checks the address of a cluster before Ray does: Ray waits for minutes where nobody, or somebody else, listens."""

from __future__ import annotations

import os
import socket

from viva.errors import SetupError

CONNECT_SECONDS = 5.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client begins to speak HTTP/2, with empty settings."""
SETTINGS = 4
"""The type of the frame with which each server of HTTP/2 answers; it is the frame's fourth byte."""


def require_head(address: str) -> None:
    """Check that the head of a cluster can be at an address.

    Raises:
        SetupError: nobody listens there, or something else does, or it is not an address.
    """
    if address == "auto":
        return
    host, colon, port = address.rpartition(":")
    if "://" in address or not colon or not port.isdecimal():
        raise SetupError(
            f"--ray-address {address!r} is not HOST:PORT of a Ray head (port 6379 unless you chose another), "
            "auto or local."
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS) as connection:
            is_head = _can_be_head(connection)
    except (OSError, OverflowError) as error:
        raise SetupError(
            f"there is no Ray cluster at {address}: {error}. Start one with ray start --head; the address "
            "is that of its head (port 6379 unless you chose another)."
        ) from error
    if not is_head:
        raise SetupError(
            f"what listens at {address} is not the head of a Ray cluster. The address is the one that ray start --head "
            "shows (port 6379 unless you chose another), not that of its dashboard."
        )


def _can_be_head(connection: socket.socket) -> bool:
    """Return whether a server speaks gRPC, as the head does: it begins with its HTTP/2 settings."""
    if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
        return True  # only a client with the user's certificates could tell
    try:
        connection.sendall(PREFACE)
        return connection.recv(4)[3:] == bytes((SETTINGS,))
    except OSError:
        return False
