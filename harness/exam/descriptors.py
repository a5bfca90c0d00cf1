"""Sees before a suite that as many conversations as were asked for can be open at once."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from adapters.connectors.loaded_agent import LoadedAgent
from adapters.errors import SetupError
from harness.exam.options import Options

OWN = 40
"""Descriptors that Viva needs whatever it does: libraries, journal, loop, sinks."""
OF_A_RUN = {"python": 1, "example": 1, "replay": 1, "http": 4, "child": 8}
"""Descriptors of one conversation, by who connects to the agent; of a plugin's as many as the most."""
OF_A_SANDBOX = 6


def make_room(options: Options, agents: Iterable[LoadedAgent], *, sandbox: bool) -> None:
    """Raise the limit of open files as far as it takes and goes.

    Raises:
        SetupError: it does not go far enough for so many conversations at once; says how many fit.
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
        f"--concurrency {options.concurrency} takes about {needed:,} open files, and ulimit -n allows {hard:,}: "
        f"{advice}. Or raise the limit (ulimit -n {needed})."
    )
