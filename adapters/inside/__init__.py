"""Runs in the agent's own interpreter, with nothing of Viva's installed: pure standard library, Python 3.8 or newer.

Loaded by `adapters/connectors/child/process.py` as the package `viva_inside`, whatever else its folder is called.
"""

from __future__ import annotations

import json
import sys


def main(options: str) -> None:
    """Become the supervisor of one agent; in the process that it forks, become the agent.

    Args:
        options: JSON: `control` and `data`, the numbers of two inherited sockets; `memory`, bytes of address space
            at most, or null; `files`, the soft limit of open files to go back to, or null.
    """
    from .supervisor import fork_worker

    given = json.loads(options)
    data = fork_worker(given["control"], given["data"], given["memory"], given["files"])
    sys.argv = [""]

    from .worker import Worker

    Worker(data).run()
