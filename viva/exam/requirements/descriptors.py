"""Checks before a suite that the limit of open files suffices for the requested number of concurrent conversations."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.errors import SetupError
from viva.exam.options import Options

OWN = 40
"""File descriptors that Viva always needs: for libraries, the journal, the event loop, and sinks."""
OF_A_RUN = {"python": 1, "example": 1, "replay": 1, "http": 4, "child": 8, "cmd": 8}
"""File descriptors of one conversation, by the kind of connector; a plugin's connector counts as the largest."""
OF_A_SANDBOX = 6


def raise_file_limit(options: Options, agents: Iterable[LoadedAgent], *, sandbox: bool) -> None:
    """Raise this process's limit of open files to what the requested concurrency requires.

    Args:
        options: They hold the maximum numbers of concurrent conversations and sandboxes.
        agents: The agents under test.
        sandbox: Whether checks run in a sandbox.

    Raises:
        SetupError: the hard limit is too low; the message says how many conversations fit.
    """
    if sys.platform == "win32":
        return
    import resource

    fixed = OWN + (OF_A_SANDBOX * min(options.sandboxes, options.concurrency) if sandbox else 0)
    each = max((OF_A_RUN.get(agent.kind, max(OF_A_RUN.values())) for agent in agents), default=1)
    needed = fixed + each * options.concurrency
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard == resource.RLIM_INFINITY or hard >= needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
        return
    fits = max(0, (hard - fixed) // each)
    advice = f"--concurrency {fits} fits" if fits else "that is too few for one conversation"
    raise SetupError(
        f"--concurrency {options.concurrency} requires about {needed:,} open files, and ulimit -n allows {hard:,}: "
        f"{advice}. Or raise the limit (ulimit -n {needed})."
    )
