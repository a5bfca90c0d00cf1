"""What an attack is, and the code that all of them begin with.

An attack's code calls `refused(what, function, ...)` around the forbidden act: it prints what the kernel said, or
raises when the act succeeded. So an attack that ends `passed` was refused; the others name the ending they must have.
`{...}` are filled in by the test: its own listeners on this machine, a file it planted on the host, a marker.
The system call numbers are those of x86_64; an attack that needs them is for that machine only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PRELUDE = """
import ctypes, os, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def refused(what, act, *arguments):
    try:
        got = act(*arguments)
    except OSError as error:
        print("refused: %s: %s" % (what, error.strerror or error))
    else:
        raise AssertionError("SUCCEEDED: %s gave %r" % (what, got))
def call(number, *arguments):
    got = libc.syscall(number, *arguments)
    if got == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return got
def readable(path):
    with open(path, "rb") as file:
        return file.read(64)
def everything():
    for top, folders, files in os.walk("/"):
        if top == "/":
            folders[:] = [name for name in folders if name not in ("sys", "usr")]
        if top.startswith("/proc") and top.count("/") > 3:
            folders[:] = []
        for name in files:
            yield os.path.join(top, name)
"""

PASSED, FAILED, LIMIT, TIMEOUT, BROKEN = "passed", "failed", "limit", "timeout", "broken"
X86 = "x86_64"


@dataclass(frozen=True)
class Attack:
    """One attempt. `endings` are those it may have; whatever it is, the session must then serve an honest check."""

    group: str
    name: str
    code: str
    endings: tuple[str, ...] = (PASSED,)
    files: dict[str, str | bytes] = field(default_factory=dict)
    machine: str = ""
    """The only machine it is written for; elsewhere it is skipped."""
    flagged: bool = False
    """Whatever its ending, the result must say that the agent's code ran."""
    bare: bool = False
    """Without the prelude: the check itself is an honest one, the attack lies in the files."""
