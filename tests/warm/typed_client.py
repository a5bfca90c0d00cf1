"""Run by the programs of `tests/warm/typed.py`: has a command run in a warm process, and ends as that process ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys


def main() -> int:
    """Return the exit code, as a shell would."""
    place, *words = sys.argv[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(place)
        with os.fdopen(os.memfd_create("command"), "w", buffering=1 << 20) as file:
            json.dump([words, os.getcwd(), dict(os.environ)], file)
            file.flush()
            socket.send_fds(connection, [b"c"], [file.fileno(), 0, 1, 2])
        pid = int(connection.recv(64))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda told, _: os.kill(pid, told))
        ended = int(connection.recv(64))
    return ended if ended >= 0 else 128 - ended


if __name__ == "__main__":
    sys.exit(main())
