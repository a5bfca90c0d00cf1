"""The field `check_limits` of a case: which limits of its checks a case may set, and how far.

Cases may be untrusted, so each limit has a maximum: what a case asks for must not use up the machine. The defaults
are the sandbox's (`sandbox/limits.py`), and the user's options go before both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ALLOWED = "allowed"
"""Key in a field's metadata: the `Range` of values that a case may give to this limit."""


@dataclass(frozen=True, slots=True)
class Range:
    """The values that a case may give to one limit, both ends included."""

    minimum: int
    maximum: int
    whole: bool = True

    def holds(self, value: Any) -> bool:
        """Return whether a value from a case file is one of these."""
        kind = int if self.whole else (int, float)
        return isinstance(value, kind) and not isinstance(value, bool) and self.minimum <= value <= self.maximum

    def clamp(self, value: float) -> float:
        """Return the value, or the end of the range that is nearest to it."""
        return max(self.minimum, min(value, self.maximum))

    def __str__(self) -> str:
        return f"a {'whole ' if self.whole else ''}number from {self.minimum} to {self.maximum}"


def _limit(minimum: int, maximum: int, *, whole: bool = True) -> Any:
    return field(default=None, metadata={ALLOWED: Range(minimum, maximum, whole)})


@dataclass(frozen=True, slots=True)
class CheckLimits:
    """What a case asks for. None leaves a limit at the sandbox's default."""

    seconds: float | None = _limit(1, 600, whole=False)
    """Wall-clock seconds of one check, and seconds of processor time of each of its processes."""
    memory_mb: int | None = _limit(32, 2048)
    """Memory of all its processes together, in MiB."""
    processes: int | None = _limit(1, 256)
    """Processes and threads at the same time."""
    open_files: int | None = _limit(16, 1024)
    """Open files and sockets of each process."""
    file_mb: int | None = _limit(1, 1024)
    """Size of each file that it writes, in MiB."""
    disk_mb: int | None = _limit(1, 1024)
    """Size of everything that it writes, in MiB, including its copy of the workspace."""
    output_kb: int | None = _limit(1, 1024)
    """Printed output that is kept, in KiB: its beginning and its end."""
