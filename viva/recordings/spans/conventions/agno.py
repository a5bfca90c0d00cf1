"""Agno by OpenInference (`agno.*`): a team's members run beside the tool with which the leader hands them a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from viva.recordings.spans.conventions.convention import Convention
from viva.recordings.spans.conventions.written_values import read_object

if TYPE_CHECKING:
    from viva.recordings.spans.span import Span

_DELEGATES = ("delegate_task_to_member", "delegate_task_to_members", "transfer_task_to_member")
_AGENT, _TEAM = "agno.agent", "agno.team"


def place(spans: Sequence[Span]) -> Sequence[Span]:
    """Return the spans with the runs of members below the tools that started them."""
    waiting = sorted((span for span in spans if span.attributes.get("tool.name") in _DELEGATES), key=_start)
    moved: dict[str, str] = {}
    for member in sorted((span for span in spans if _AGENT in span.attributes), key=_start):
        tool = next((tool for tool in waiting if _starts(tool, member)), None)
        if tool is not None:
            moved[member.id] = tool.id
            if tool.attributes["tool.name"] != "delegate_task_to_members":  # which starts all of them
                waiting.remove(tool)
    return [replace(span, parent_id=moved[span.id]) if span.id in moved else span for span in spans] if moved else spans


def _start(span: Span) -> int:
    return span.start_ns or 0


def _starts(tool: Span, member: Span) -> bool:
    """Return whether a tool started a member: they are siblings, and it was told the member's task."""
    if tool.parent_id != member.parent_id or _start(tool) > _start(member):
        return False
    given = read_object(tool.attributes.get("input.value"))
    known = [member.attributes.get(key) for key in (_AGENT, "agno.agent.id", "agent.name")]
    return given.get("member_id", member.attributes.get(_AGENT)) in known


AGNO = Convention("Agno (OpenInference)", ("agno.",), keys=frozenset({_AGENT, _TEAM}), place=place)
