"""Splits a trace into agent runs: usually one, several if the program ran agents repeatedly."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from viva.recordings.spans.model_calls import ModelCall
from viva.recordings.spans.names import agent_name
from viva.recordings.spans.outcomes.handovers import FirstCall, calls_outside, workflows_around
from viva.recordings.spans.span import Span, SpanKind
from viva.recordings.spans.tree import Outermost, Tree

LOOK_BACK = 64
"""Runs among which the one that an agent continues is looked for; beyond them, it begins one of its own."""


@dataclass(slots=True)
class Run:
    """One run of an agent, with the agents that it handed over to."""

    calls: list[ModelCall] = field(default_factory=list)
    """The calls, by start time."""
    spans: list[Span] = field(default_factory=list)
    """The spans, by start time. Each span of a trace is in one run."""
    agents: list[Span] = field(default_factory=list)
    """The spans of the agents that called models in it; none where the trace names no agent."""
    extents: Outermost = field(default_factory=Outermost)
    """The extents of the agents."""
    outside: frozenset[str] = frozenset()
    """Ids of the spans of model calls in the trace that are no agent's."""

    @property
    def begins(self) -> Span:
        """The span of its first agent, or of its first call where the trace names no agent."""
        return self.agents[0] if self.agents else self.calls[0].span


def runs_of(tree: Tree, calls: list[ModelCall]) -> list[Run]:
    """Split a trace into agent runs.

    An agent's span begins a run unless another agent's span is around it (an agent that a tool starts has a run of its
    own) or its first model call continues the conversation before it, as after a handoff. A span that belongs to no
    agent is in the run that began last before it. A model call beside the agents, as of a judge in the user's own
    outer span, is a call of none of the runs.
    """
    agents = tree.nearest(SpanKind.AGENT)
    anchors = _anchors(tree, calls, agents)
    outside = calls_outside(tree, calls, anchors)
    runs: list[Run] = []
    owner: dict[str, Run] = {}
    for call in calls:
        if call.span.id in outside:
            continue
        anchor = anchors.get(call.span.id)
        key = "" if anchor is None else anchor.id
        run = owner.get(key)
        if run is None:
            before = _before(runs, call, anchor, tree)
            run = before or Run(outside=outside)
            if before is None:
                runs.append(run)
            owner[key] = run
            if anchor is not None:
                run.agents.append(anchor)
                run.extents.add(tree.extents()[anchor.id])
        run.calls.append(call)
    runs = runs or _without_calls(tree, agents, owner) or [Run()]
    _share(tree, runs, owner)
    return runs


def _without_calls(tree: Tree, agents: dict[str, Span | None], owner: dict[str, Run]) -> list[Run]:
    """Return a run of each outermost agent, for traces that do not record what models said."""
    tops = [span for span in tree.spans if span.kind is SpanKind.AGENT and agents[span.id] is None]
    for span in tops:
        owner[span.id] = Run(agents=[span])
    return [owner[span.id] for span in tops]


def _anchors(tree: Tree, calls: list[ModelCall], agents: dict[str, Span | None]) -> dict[str, Span]:
    """Id of a model call's span to the outermost agent around it, up to a tool, that calls models itself."""
    direct = {call.span.id: agents[call.span.id] for call in calls}
    workflows = workflows_around(calls, agents)
    direct = {call: None if span is not None and span.id in workflows else span for call, span in direct.items()}
    active = {span.id for span in direct.values() if span is not None}

    def outermost(parent: Span, above: Span | None) -> Span | None:
        if parent.kind is SpanKind.TOOL:
            return None
        return above or (parent if parent.id in active else None)

    around = tree.inherited(outermost)
    anchors: dict[str, Span] = {}
    for call in calls:
        anchor = direct[call.span.id]
        if anchor is not None:
            anchors[call.span.id] = around[anchor.id] or anchor
    return anchors


def _before(runs: list[Run], call: ModelCall, anchor: Span | None, tree: Tree) -> Run | None:
    """Return the run that a new agent continues: one beside it, not one that a tool started or that is around it."""
    if anchor is None:
        return runs[-1] if runs else None
    extent = tree.extents()[anchor.id]
    tools, homes = tree.nearest(SpanKind.TOOL), tree.nearest(SpanKind.TOOL, SpanKind.AGENT)
    # Agents that call each other thousands deep are all around the last one.
    near = [run for run in reversed(runs[-LOOK_BACK:]) if not run.extents.holds(extent)]
    near = [run for run in near if tools[run.begins.id] is tools[anchor.id]]
    first = FirstCall(call, agent_name(anchor))
    for run in near:
        if run.agents and first.was_handed_over_by(run.calls):
            return run
    beside = [run for run in near if not run.agents or homes[run.agents[0].id] is homes[anchor.id]]
    last = next(iter(beside or near), None)
    return last if last is not None and (not last.agents or first.continues(last.calls)) else None


def _share(tree: Tree, runs: list[Run], owner: dict[str, Run]) -> None:
    """Assign each span of the trace to one run."""
    firsts = [run.calls[0].span if run.calls else run.agents[0] if run.agents else tree.spans[0] for run in runs]
    begins = [tree.places[span.id] for span in firsts]
    above = tree.inherited(lambda parent, found: owner.get(parent.id) or found)
    for place, span in enumerate(tree.spans):
        run = owner.get(span.id) or above[span.id] or runs[max(0, bisect_right(begins, place) - 1)]
        run.spans.append(span)
