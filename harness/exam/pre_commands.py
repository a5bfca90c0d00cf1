"""Runs a case's `pre_command`, and kills it if the run is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

from adapters.errors import SetupError
from cases import Case


async def run_pre_commands(case: Case) -> None:
    """Run a case's `pre_command` in the current folder, as TaskWeaver does; `build_resources` has checked permission.

    Raises:
        SetupError: a command failed.
    """
    for command in case.pre_command:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_shell(command, stdout=pipe, stderr=pipe, start_new_session=True)
        try:
            stdout, stderr = await process.communicate()
        finally:
            if process.returncode is None:  # the run was stopped meanwhile
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        if process.returncode != 0:
            output = (stderr or stdout).decode(errors="replace").strip()[-300:]
            raise SetupError(f"pre_command of {case.name!r} exited with code {process.returncode}: {command}\n{output}")
