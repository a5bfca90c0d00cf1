"""Tells whose model call one is: that of an agent to which another one handed over, or that of no agent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from viva.recordings.spans.model_calls import ModelCall
from viva.recordings.spans.names import AGENT_NAMES, first_text
from viva.recordings.spans.questions import last_question, question_places
from viva.recordings.spans.span import Span, SpanKind, is_agent_run
from viva.recordings.spans.tree import Tree

_HANDOVER = re.compile(r"(?:transfer|hand_?off|delegate)(?:_?(?:back_?)?to)?_*", re.IGNORECASE)
_PLAIN = re.compile(r"[\W_]+")


def calls_outside(tree: Tree, calls: Sequence[ModelCall], anchors: Mapping[str, Span]) -> frozenset[str]:
    """Return the ids of the spans of model calls beside all agents: they ask for no tool, and no agent is around them.

    In a trace without agents, or whose agents are all started by tools, the calls are those of an agent without a span.
    What lost its parents may have belonged to any agent.

    Args:
        tree: The trace.
        calls: All of its model calls.
        anchors: The agents around them, by id of the call's span.
    """
    tools = tree.nearest(SpanKind.TOOL)
    if all(tools[anchor.id] is not None for anchor in anchors.values()):
        return frozenset()
    lost = tree.inherited(lambda parent, above: above or _lost(parent, tree))
    found: set[str] = set()
    for call in calls:
        span = call.span
        if span.id in anchors or tools[span.id] is not None or lost[span.id] or _lost(span, tree):
            continue
        if _is_plain(call):
            found |= {span.id, *(other.id for other in call.others)}
    return frozenset(found)


def workflows_around(calls: Sequence[ModelCall], agents: Mapping[str, Span | None]) -> frozenset[str]:
    """Return the ids of the spans that are called agents and only hold agents: they have no name and call no tool.

    That is the span of a whole trace of the OpenAI Agents SDK. A model call right below it is no agent's.

    Args:
        calls: The model calls of a trace.
        agents: The nearest agent above each span, by the span's id.
    """
    callers: dict[str, tuple[Span, bool]] = {}
    for call in calls:
        if (caller := agents[call.span.id]) is not None:
            plain = callers.get(caller.id, (caller, True))[1] and _is_plain(call)
            callers[caller.id] = (caller, plain)
    around = {outer.id for span, _ in callers.values() if (outer := agents[span.id]) is not None}
    return frozenset(
        span.id
        for span, plain in callers.values()
        if plain and span.id in around and not is_agent_run(span.name) and first_text([span], AGENT_NAMES) is None
    )


def _is_plain(call: ModelCall) -> bool:
    """Return whether a model call neither asks for a tool nor was given the result of one."""
    return not call.output.calls and not any(message.answers for message in call.inputs)


def _lost(span: Span, tree: Tree) -> bool | None:
    return True if span.parent_id is not None and span.id not in tree.parents else None


class FirstCall:
    """The first model call of an agent, compared with the runs before it."""

    def __init__(self, call: ModelCall, agent: str | None) -> None:
        """Args:
        call: The model call.
        agent: The agent's name.
        """
        self._call = call
        self._agent = agent

    def was_handed_over_by(self, before: Sequence[ModelCall]) -> bool:
        """Return whether the last of a run's model calls asked for this agent."""
        asked = before[-1].output.calls
        if self._agent and any(_names(each.name, self._agent) for each in asked):
            return True
        return any((each.id, each.name) in self._known for each in asked) and _first_question(before) in self._texts

    def continues(self, before: Sequence[ModelCall]) -> bool:
        """Return whether it continues the conversation of a run."""
        messages = self._call.inputs
        if not messages:
            return bool(before[-1].output.calls)
        if not any(message.role == "assistant" or message.answers for message in messages):
            return False
        asked = question_places(messages)
        return not asked or asked[-1] + 1 < len(messages) or last_question(messages) == _first_question(before)

    @cached_property
    def _known(self) -> frozenset[tuple[str | None, str | None]]:
        """Id and name of the calls in the messages that it was given."""
        calls = (each for message in self._call.inputs for each in message.calls)
        return frozenset((each.id, each.name) for each in calls if each.id is not None)

    @cached_property
    def _texts(self) -> frozenset[str | None]:
        return frozenset(message.text for message in self._call.inputs if message.role == "user")


def _names(tool: str | None, agent: str) -> bool:
    found = _HANDOVER.match(tool or "")
    return found is not None and _PLAIN.sub("", (tool or "")[found.end() :]).lower() == _PLAIN.sub("", agent).lower()


def _first_question(calls: Sequence[ModelCall]) -> str | None:
    return last_question(calls[0].inputs)
