"""The end of a server or a keeper: what it leaves is always removed, and the harness is told why it ended."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from viva.sandbox.inside import files, frames, watch
from viva.sandbox.inside.server import Server


def run_to_its_end(server: Server, work: Callable[[], None]) -> None:
    """Do a server's work, clean up behind it, and end this process."""
    reason = ""
    try:
        work()
        server.unstage()
    except watch.ServerStop as stop:
        reason = str(stop)
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
    if not server.processes.end(2.0):
        reason = reason or "processes of a check could not be ended"
    if server.options.get("remove_root"):
        with contextlib.suppress(OSError):
            files.wipe(server.root)
            os.rmdir(server.root)
    if reason not in ("", "stdin ended"):
        with contextlib.suppress(OSError):
            frames.send(b"E", {"message": reason})
    os._exit(4 if reason not in ("", "stdin ended") else 0)
