"""Runs a program, which Viva talks to over its standard streams, instead of an agent's class."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import termios
from typing import Any, NoReturn

from .supervisor import fork_worker


def become_program(given: dict[str, Any]) -> NoReturn:
    """Run a program under a supervisor. Once it runs, its socket `data` is closed; before, that tells what went wrong.

    Args:
        given: As in `main`. Its `program` has the `path` of the file, its `arguments`, the `folder` to run in, the
            device and inode that it must be (`is_folder`; None for any), further `variables` of its environment, the
            descriptors `stdin` and `stdout`, whether they are a `terminal`, and whether `stderr` goes there, too.
    """
    program = given["program"]
    theirs = sorted({program["stdin"], program["stdout"]})

    def wire(_: int, err: int) -> None:
        if program["terminal"]:
            fcntl.ioctl(program["stdin"], termios.TIOCSCTTY, 0)
        copies = [os.dup(each) for each in (program["stdin"], program["stdout"], err)]
        if program["stderr"]:
            os.dup2(copies[1], copies[2])
        for target, copy in enumerate(copies):
            os.dup2(copy, target)
        for each in (*copies, *theirs):
            os.close(each)

    status = fork_worker(given["control"], given["data"], given["memory"], given["files"], wire=wire, theirs=theirs)
    try:
        os.chdir(program["folder"])
        if program["is_folder"] and program["is_folder"] != [os.stat(".").st_dev, os.stat(".").st_ino]:
            raise OSError(errno.ELOOP, "the folder was replaced")
        # Python ignores them, and an ignored signal stays ignored in the program.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execve(program["path"], program["arguments"], {**os.environ, **program["variables"]})  # noqa: S606
    except (OSError, ValueError) as error:
        os.write(status, str(getattr(error, "errno", None) or 0).encode())
    os._exit(127)
