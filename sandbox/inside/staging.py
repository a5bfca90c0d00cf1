"""The process of a session's next check, prepared before anybody asks for it, and its way to end.

In a world it has PID and mount namespaces of its own: their first process is a fork of the server that waits for the
check's process, says how that ended, and ends, which ends whatever else is in them.
"""

from __future__ import annotations

import json
import os
import select
import signal
import struct
from dataclasses import dataclass
from typing import Any

from sandbox.inside import child, hardening, namespaces
from sandbox.inside.watch import ServerStop

READY_SECONDS = 20.0
_STATUS = struct.Struct("<id")


@dataclass(frozen=True)
class Staged:
    """A check's process that waits for its request, as the server sees it."""

    pid: int
    """The check's process, or in a world the first process of the check's namespaces."""
    request: int
    output: int
    result: int
    status: int
    """Where the first process says how the check's ended; -1 without one."""
    base: int
    """Bytes of private memory that each of its processes begins with."""

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
        data = json.dumps({**request, "proof": proof.hex()}).encode()
        data = len(data).to_bytes(4, "big") + data
        try:
            while data:
                data = data[os.write(self.request, data) :]
        except BrokenPipeError:
            return False
        return True

    def ended(self, status: int, usage: Any) -> tuple[int, float]:
        """Return how the check's process ended, as wait(2) has it, and the seconds of processor time that it used."""
        if self.status < 0:
            return status, usage.ru_utime + usage.ru_stime
        try:
            return _STATUS.unpack(os.read(self.status, _STATUS.size))
        except (struct.error, BlockingIOError):
            return signal.SIGKILL, 0.0  # the first process was killed, and all others with it

    def end(self) -> None:
        """End a process that has started nothing yet, and wait for it: nobody has to look for others."""
        os.kill(self.pid, signal.SIGKILL)  # where it has ended, it has not been waited for
        os.waitpid(self.pid, 0)
        self.close()

    def close(self) -> None:
        """Close the server's ends of the pipes."""
        for descriptor in (self.request, self.output, self.result, self.status):
            if descriptor >= 0:
                os.close(descriptor)


def _ready(descriptor: int) -> bytes:
    if not select.select([descriptor], [], [], READY_SECONDS)[0]:
        raise ServerStop("a check's process did not become ready")
    said = os.read(descriptor, 1)
    return said if said in (b"", child.READY) else said + os.read(descriptor, 500)


def stage(settings: dict[str, Any]) -> Staged:
    """Fork the process of the next check.

    Raises:
        OSError: the kernel forbids it.
    """
    world = settings["world"]
    request, output, result = os.pipe(), os.pipe(), os.pipe()
    status = os.pipe() if world else (-1, -1)
    base = hardening.own_memory()
    leave = os._exit
    pid = namespaces.clone(namespaces.OF_A_CHECK) if world else os.fork()
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            os.close(request[1])  # else nobody would notice that the server has closed its own
            if world:
                _first_process(status[1], result[1], settings["masks"])
            child.run({**settings, "base": base}, child.Pipes(request[0], output[1], result[1]))
        finally:
            leave(70)
    for ours in (request[0], output[1], result[1], status[1]):
        if ours >= 0:
            os.close(ours)
    return Staged(pid, request[1], output[0], result[0], status[0], base[2])


def _first_process(status: int, result: int, masks: list[tuple[str, str]]) -> None:
    """Furnish the check's namespaces, and fork its process, in which alone this returns."""
    try:
        namespaces.close_off(masks)
        pid = os.fork()
    except BaseException as error:
        os.write(result, b"-" + str(error).encode("utf-8", "replace")[:500])
        os._exit(71)
    if pid == 0:
        return
    hardening.drop_capabilities()
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    status = os.dup2(status, 100)
    os.closerange(3, 100)  # a pipe of the check's ends when its own processes have closed it
    while True:
        ended, how, usage = os.wait4(-1, 0)
        if ended == pid:
            os.write(status, _STATUS.pack(how, usage.ru_utime + usage.ru_stime))
            os._exit(0)
