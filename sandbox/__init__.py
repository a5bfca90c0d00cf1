"""Runs untrusted Python (a case's `eval_code`) against what an agent left behind."""

from sandbox.interface import (
    CheckResult,
    DependencyError,
    Ending,
    Limits,
    Room,
    RunView,
    Sandbox,
    SandboxError,
    SandboxLost,
    SandboxUnavailable,
)

__all__ = [
    "CheckResult",
    "DependencyError",
    "Ending",
    "Limits",
    "Room",
    "RunView",
    "Sandbox",
    "SandboxError",
    "SandboxLost",
    "SandboxUnavailable",
]
