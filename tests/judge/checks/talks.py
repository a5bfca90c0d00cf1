"""Conversations for the tests of checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from viva.cases.checks.reader import read_check
from viva.judge.checks.conversation import CheckedConversation
from viva.judge.checks.evaluation import evaluate_check
from viva.judge.checks.found import CheckFound
from viva.records.transcript import ENVIRONMENT, LIVE, SERVERS, Reply, Round, Step, StepKind, Transcript, Usage

Turn = str | Reply | None


def call(tool: str, arguments: Any = None, *, environment: bool = False) -> Step:
    """Return a call of a tool."""
    recorded_by = ENVIRONMENT if environment else "agent"
    name = f"environment:{tool}" if environment else f"{tool}-call"
    return Step(name, tool=tool, tool_input=arguments or {}, result="done", recorded_by=recorded_by)


def thought(words: str = "I think.") -> Step:
    """Return a step that calls nothing."""
    return Step("thought", StepKind.THINK, thought=words)


def does(*steps: Step, says: str = "Done.") -> Reply:
    """Return a reply with steps."""
    return Reply(says, tuple(steps))


def talk(
    *turns: Turn,
    seconds: float = 0.5,
    cost: float | None = None,
    source: str = LIVE,
    servers: dict[str, Sequence[str]] | None = None,
) -> Transcript:
    """Return a conversation with one round for each turn of the agent's."""
    rounds = []
    for number, turn in enumerate(turns, 1):
        reply = turn if isinstance(turn, Reply) else Reply(turn or "")
        said = None if turn is None else reply.text
        usage = Usage(10, 5, calls=1, cost=cost) if cost is not None else reply.usage
        rounds.append(Round(number, "Go on.", said, reply.steps, usage=usage, agent_seconds=seconds))
    attributes = {} if servers is None else {SERVERS: servers}
    return Transcript(tuple(rounds), source, attributes=attributes)


def check(form: dict[str, Any], given: Transcript | str, workspace: Path | None = None) -> CheckFound:
    """Return what a check finds."""
    transcript = talk(given) if isinstance(given, str) else given
    return evaluate_check(read_check(form), CheckedConversation(transcript, workspace))
