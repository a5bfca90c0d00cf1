"""The limits of a check: their defaults, what a case or the user asks for instead, and the largest of several.

The highest values that a case may ask for are declared with its field `check_limits`, in `cases/check_limits.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viva.cases.check_limits import CheckLimits  # importing `cases` loads a YAML parser, which no sandbox needs


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What one check may use. A check that exceeds one of these is ended."""

    seconds: float = 30.0
    """Wall-clock seconds."""
    cpu_seconds: float = 30.0
    """Seconds of processor time for each of the check's processes. A case and the user set it through `seconds`."""
    memory_mb: int = 512
    """Memory of all the check's processes together, in MiB."""
    processes: int = 64
    """Processes and threads at the same time."""
    open_files: int = 256
    """Open files and sockets of each process."""
    file_mb: int = 64
    """Size of each file that the check writes, in MiB."""
    disk_mb: int = 256
    """Size of everything that the check writes, in MiB, including its copy of the workspace."""
    output_kb: int = 64
    """Printed output that is kept, in KiB: its beginning and its end."""


DEFAULTS = SandboxLimits()


def limits_for(case: CheckLimits, command_line: CheckLimits | None = None) -> SandboxLimits:
    """Return the limits of one case's checks: each from the command line, else from the case, else the default.

    What a case asks for is kept within the range allowed to cases: a case that was stored in a journal has not gone
    through the loader, and may be untrusted. The user's own wishes are taken as they are.
    """
    asked: dict[str, float] = {}
    for field in fields(case):
        value = getattr(case, field.name)
        if value is not None and not math.isnan(value):
            asked[field.name] = field.metadata["allowed"].clamp(value)
    for field in fields(command_line) if command_line is not None else ():
        if (value := getattr(command_line, field.name)) is not None:
            asked[field.name] = value
    if "seconds" in asked:
        asked["cpu_seconds"] = asked["seconds"]  # a check that computes all the time must get all of its time
    return replace(DEFAULTS, **asked)  # type: ignore[arg-type]


def largest(limits: Iterable[SandboxLimits]) -> SandboxLimits:
    """Return the highest value of each limit: enough for every one of these checks. None: the defaults."""
    several = list(limits) or [DEFAULTS]
    return SandboxLimits(**{field.name: max(getattr(one, field.name) for one in several) for field in fields(DEFAULTS)})
