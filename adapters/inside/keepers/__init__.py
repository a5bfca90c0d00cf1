"""Programs that start one command of a case and kill what it started, at the latest when Viva dies.

Each is a process between Viva and the command, runs in Viva's interpreter, and uses only the standard library.
"""

from __future__ import annotations

import os
from typing import NoReturn

SERVER, COMMAND = "server", "command"
"""What is kept: an MCP server of a case (`server.py`), or a shell command of its `pre_command` (`command.py`)."""
_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_BOOT = "import sys; sys.path.append(sys.argv[1]); from inside.keepers import become; become(*sys.argv[2:])"


def arguments_of(keeper: str, *arguments: str) -> list[str]:
    """Return the arguments with which Viva's interpreter becomes a keeper.

    Args:
        keeper: `SERVER` or `COMMAND`.
        arguments: What the keeper's `main` takes.
    """
    return ["-I", "-S", "-c", _BOOT, _FOLDER, keeper, *arguments]


def become(keeper: str, *arguments: str) -> NoReturn:
    """Run a keeper in this process, and exit with it."""
    if keeper == SERVER:
        from .server import main as keep_server

        keep_server(list(arguments))
    from .command import main as keep_command

    keep_command(int(arguments[0]), int(arguments[1]), arguments[2])
