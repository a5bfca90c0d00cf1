"""The process of a session's next check, prepared before anybody asks for it, and its way to end.

In a world it has PID and mount namespaces of its own, whose first process waits until it is killed, and everything in
them with it.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
from dataclasses import dataclass
from typing import Any

from viva.sandbox.inside import child, namespaces
from viva.sandbox.inside.watch import ServerStop

READY_SECONDS = 20.0


@dataclass(frozen=True)
class StagedCheck:
    """A check's process that waits for its request, as the server sees it."""

    pid: int
    first: int
    """In a world, the first process of its PID namespace; else 0."""
    request: int
    output: int
    result: int

    def begin(self, request: dict[str, Any], proof: bytes) -> bool:
        """Hand over the request. Returns False where the process has died meanwhile, and cannot take it.

        Raises:
            ServerStop: it could not be prepared, so that no check can run here.
        """
        said = _ready(self.result)
        if said != child.READY:
            if said == b"":
                return False
            raise ServerStop(f"a check could not be prepared: {said[1:].decode('utf-8', 'replace')}")
        data = marshal.dumps({**request, "proof": proof})  # all of it in C, which costs the check's process least
        data = len(data).to_bytes(4, "big") + data
        try:
            while data:
                data = data[os.write(self.request, data) :]
        except BrokenPipeError:
            return False
        return True

    def end(self) -> None:
        """End a process that has started nothing yet, and wait for it: nobody has to look for others."""
        for pid in (self.pid, self.first):
            if pid:
                os.kill(pid, signal.SIGKILL)  # where it has ended, it has not been waited for
                os.waitpid(pid, 0)
        self.close()

    def close(self) -> None:
        """Close the server's ends of the pipes."""
        for descriptor in (self.request, self.output, self.result):
            os.close(descriptor)


def _ready(descriptor: int) -> bytes:
    if not select.select([descriptor], [], [], READY_SECONDS)[0]:
        raise ServerStop("a check's process did not become ready")
    said = os.read(descriptor, 1)
    return said if said in (b"", child.READY) else said + os.read(descriptor, 500)


def stage(settings: dict[str, Any]) -> StagedCheck:
    """Fork the process of the next check.

    Raises:
        OSError: the kernel forbids it.
    """
    request, output, result = os.pipe(), os.pipe(), os.pipe()
    leave = os._exit
    pid, first = namespaces.fork_apart(settings["own_pids"]) if settings["world"] else (os.fork(), 0)
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            os.close(request[1])  # else nobody would notice that the server has closed its own
            child.run(settings, child.Pipes(request[0], output[1], result[1]))
        finally:
            leave(70)
    for theirs in (request[0], output[1], result[1]):
        os.close(theirs)
    return StagedCheck(pid, first, request[1], output[0], result[0])
