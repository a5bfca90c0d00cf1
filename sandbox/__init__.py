"""Runs untrusted Python (a case's `eval_code`) on a copy of what an agent left."""

from viva.sandbox.interface import (
    CheckResult,
    DaemonGone,
    DependencyError,
    Ending,
    Isolation,
    RunView,
    Sandbox,
    SandboxError,
    SandboxLost,
    SandboxSession,
    SandboxUnavailable,
    WorkspaceTooLarge,
)
from viva.sandbox.limits import SandboxLimits

__all__ = [
    "CheckResult",
    "DaemonGone",
    "DependencyError",
    "Ending",
    "Isolation",
    "RunView",
    "Sandbox",
    "SandboxError",
    "SandboxLimits",
    "SandboxLost",
    "SandboxSession",
    "SandboxUnavailable",
    "WorkspaceTooLarge",
]
