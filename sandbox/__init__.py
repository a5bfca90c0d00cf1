"""Runs untrusted Python (a case's `eval_code`) against what an agent left behind."""

from sandbox.interface import (
    CheckResult,
    DaemonGone,
    DependencyError,
    Ending,
    Room,
    RunView,
    Sandbox,
    SandboxError,
    SandboxLimits,
    SandboxLost,
    SandboxUnavailable,
    WorkspaceTooLarge,
)

__all__ = [
    "CheckResult",
    "DaemonGone",
    "DependencyError",
    "Ending",
    "Room",
    "RunView",
    "Sandbox",
    "SandboxError",
    "SandboxLimits",
    "SandboxLost",
    "SandboxUnavailable",
    "WorkspaceTooLarge",
]
