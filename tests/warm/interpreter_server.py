"""The process from which `tests/warm/interpreters.py` forks: an interpreter with what agents import.

It runs in the interpreter of the agents, without Viva. The arguments are a file, whose imports are made, and the
number of the connection.
"""

from __future__ import annotations

import ctypes
import gc
import os
import runpy
import sys
from functools import partial
from types import CodeType, ModuleType

sys.path.insert(0, os.path.dirname(__file__))  # not there with Python's option -I
from forks import run_and_leave, serve_forks

del sys.path[0]

MARK = b"VIVA_CHILD="
"""The variable by which Viva finds the processes of a run; it is read where it was at the process's start."""


def main() -> CodeType:
    """Import, and fork for each request. In the forked processes, return the program after Python's option -c."""
    _, file, handle = sys.argv
    if not sys.flags.isolated:
        del sys.path[0]
    before = dict(os.environ)
    runpy.run_path(file, run_name="warm")
    changed = {name: value for name, value in os.environ.items() if before.get(name) != value}
    gc.collect()
    gc.freeze()
    place = _place_of_mark()
    fork = serve_forks(int(handle))
    os.environ.update(changed)
    mark = os.environ[MARK[:-1].decode()].encode()
    ctypes.memmove(place, mark, len(mark))
    del sys.modules["forks"]
    sys.argv = ["-c", *fork.words[3:]]
    if not sys.flags.isolated:
        sys.path.insert(0, "")
    sys.modules["__main__"] = ModuleType("__main__")
    return compile(fork.words[2], "<string>", "exec")


def _place_of_mark() -> int:
    """Return the address of the mark's value, as `adapters/inside/forks.py` does."""
    with open("/proc/self/environ", "rb") as file:
        environment = b"\0" + file.read()
    with open("/proc/self/stat", "rb") as file:
        begins = int(file.read().rpartition(b")")[2].split()[47])
    return begins + environment.index(b"\0" + MARK) + len(MARK)


if __name__ == "__main__":
    program = main()
    run_and_leave(partial(exec, program, sys.modules["__main__"].__dict__))
