"""Runs in the agent's own interpreter, without Viva: it uses only the standard library of Python 3.8 or newer.

`adapters/connectors/child/spawn.py` loads it as the package `viva_inside`, whatever its folder is called.
"""

from __future__ import annotations

import json
import sys


def main(options: str) -> None:
    """Become the supervisor of one agent, and in the forked process, the agent.

    Args:
        options: JSON with `control` and `data`, the descriptors of two inherited sockets; `memory`, the maximum address
            space in bytes, or null; `files`, the soft limit of open files to restore, or null; `program`, if the agent
            is a program and not a class (see `program.py`).
    """
    given = json.loads(options)
    if given.get("program") is not None:
        from .program import become_program

        become_program(given)

    from .supervisor import fork_worker

    data = fork_worker(given["control"], given["data"], given["memory"], given["files"])
    sys.argv = [""]

    from .worker import AgentServer

    AgentServer(data, given["memory"], given["files"]).run()
