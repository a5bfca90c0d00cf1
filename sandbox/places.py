"""Where a check can write inside a container or a bwrap, and how much."""

from __future__ import annotations

from viva.sandbox.limits import SandboxLimits

PLACES = ("/box", "/tmp", "/dev/shm")  # noqa: S108 - inside the sandbox
"""Each a file system in memory: the check's copy of the workspace is in the first."""
_SHARED_MB = 64


def sizes(limits: SandboxLimits, workspace_mb: int) -> list[int]:
    """Return the size of each place in MiB, so that it holds the largest of these checks."""
    return [limits.disk_mb + workspace_mb, limits.disk_mb, _SHARED_MB]
