"""What the user asked for: plain data that commands, plugin and suites fill in, and records keep."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from examiner.conversation import REPLY_SECONDS
from judge.scoring_points.scoring import JudgeKind

SandboxKind = Literal["auto", "docker", "bwrap", "process"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for. None means: not said."""

    agent: str | None = None
    """Agent SPEC; None is the bundled careful agent."""
    examiner: str | None = None
    """`script`, `model` or `replay:JOURNAL`."""
    judge: JudgeKind | None = None
    model: str | None = None
    """For both roles, where no other is named."""
    examiner_model: str | None = None
    judge_model: str | None = None
    sandbox: SandboxKind = "auto"
    max_rounds: int | None = None
    reply_seconds: float = REPLY_SECONDS
    run_seconds: float | None = None
    app_dir: str | None = None
    allow_pre_command: bool = False
    isolate: bool = False
    """Agents from modules and files run in a process of their own."""
    agent_memory_mb: int | None = None
    """Of each of these processes, in MiB."""
    concurrency: int = 1
    """Conversations at once."""
    rooms: int = 4
    """Sandbox rooms at once."""
    model_calls: int = 64
    """Calls under way at once to one provider."""
    judgings: int = 2
    """How often the judging of one conversation is tried, where a failure may pass off."""

    @classmethod
    def names(cls) -> frozenset[str]:
        """Names of all options."""
        return frozenset(field.name for field in fields(cls))
