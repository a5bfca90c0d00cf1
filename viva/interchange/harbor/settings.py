"""`task.toml`: what of it is in a case, and what is about the container in which Harbor runs the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

KEPT = ("schema_version", "version", "source")
CONTAINER = "is about the container of the source: the agent works where its adapter runs it"
REWARDS = ("multi_step_reward_strategy", "multi_step_reward_mode")
LONGEST = 1_000_000.0


def add_settings(draft: CaseDraft, root: Source, steps: Sequence[Source]) -> None:
    """Add the settings of a task to its case."""
    metadata: dict[str, Any] = {name: value.take() for name in KEPT if (value := root.get(name)) is not None}
    kept, task = root.get("metadata"), root.get("task")
    for name, value in kept.items() if kept is not None else ():
        taken = value.take()
        metadata[name] = taken
        if name == "tags":
            _tag(draft, taken)
    if task is not None:
        metadata["task"] = task.take()
        _tag(draft, metadata["task"].get("keywords") if isinstance(metadata["task"], dict) else None)
    if metadata:
        draft.metadata = metadata
    _agent(draft, root.get("agent"), [step.get("agent") for step in steps])
    for name in ("environment", "artifacts", "solution"):
        value = root.get(name)
        if value is not None:
            value.report(Gap.NO_HOME, CONTAINER)
    for name in REWARDS:
        value = root.get(name)
        if value is not None and value.peek() == "mean":
            value.express("the score is the mean of the points")
        elif value is not None:
            value.report(Gap.NEEDS_A_PERSON, "the score is the mean of the points: give them weights")
    for step in steps:
        for name, value in step.items():
            if name not in ("name", "agent", "verifier", "min_reward"):
                value.report(Gap.NO_HOME, CONTAINER)


def _tag(draft: CaseDraft, tags: Any) -> None:
    if isinstance(tags, list):
        draft.tags += [tag.strip() for tag in tags if isinstance(tag, str) and tag.strip()]


def _agent(draft: CaseDraft, agent: Source | None, of_steps: Sequence[Source | None]) -> None:
    limits = []
    for each in (agent, *of_steps):
        for name, value in each.items() if each is not None else ():
            limit = value.peek()
            if name == "timeout_sec" and isinstance(limit, int | float) and 0 < limit <= LONGEST:
                limits.append((each is agent, value.express("timeout"), value))
            else:
                value.report(Gap.NO_HOME, CONTAINER)
    whole = [limit for is_whole, limit, _ in limits if is_whole]
    parts = [limit for is_whole, limit, _ in limits if not is_whole]
    if len(parts) == len(of_steps) and parts:
        draft.fields["timeout"] = float(sum(parts))
    elif whole:
        draft.fields["timeout"] = float(whole[0] * max(1, len(of_steps)))
