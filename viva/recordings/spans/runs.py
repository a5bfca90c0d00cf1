"""Splits a trace into agent runs: usually one, several if the program ran agents repeatedly."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from viva.recordings.spans.messages import Message
from viva.recordings.spans.model_calls import ModelCall
from viva.recordings.spans.questions import is_question
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


def runs_of(tree: Tree, calls: list[ModelCall]) -> list[Run]:
    """Split a trace into agent runs.

    An agent's span begins a run unless another agent's span is around it (an agent that a tool starts has a run of its
    own) or its first model call continues the conversation before it, as after a handoff. A span that belongs to no
    agent is in the run that began last before it.
    """
    agents = tree.nearest(SpanKind.AGENT)
    anchors = _anchors(tree, calls, agents)
    runs: list[Run] = []
    owner: dict[str, Run] = {}
    for call in calls:
        anchor = anchors.get(call.span.id)
        key = "" if anchor is None else anchor.id
        run = owner.get(key)
        if run is None:
            before = _before(runs, anchor, tree)
            run = before if before is not None and _goes_on(before, call, anchor) else Run()
            if run is not before:
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


def _before(runs: list[Run], anchor: Span | None, tree: Tree) -> Run | None:
    """Return the run that a new agent may continue: the last one that does not enclose it."""
    if anchor is None:
        return runs[-1] if runs else None
    extent = tree.extents()[anchor.id]
    # Agents that call each other thousands deep are all around the last one.
    near = reversed(runs[-LOOK_BACK:])
    return next((run for run in near if not run.extents.holds(extent)), None)


def _goes_on(run: Run, call: ModelCall, anchor: Span | None) -> bool:
    if anchor is None or not run.agents:
        return True  # calls outside of any agent, before or after it, are part of what it does
    last = run.calls[-1]
    messages = call.inputs
    if not messages:
        return bool(last.output.calls)
    said = [message for message in messages if message.role == "assistant" or message.answers]
    if not said:
        return False
    return not is_question(messages[-1]) or _text(messages[-1]) == _first_question(run)


def _first_question(run: Run) -> str | None:
    return next((_text(message) for message in reversed(run.calls[0].inputs) if is_question(message)), None)


def _text(message: Message) -> str:
    return (message.text or "").strip()


def _share(tree: Tree, runs: list[Run], owner: dict[str, Run]) -> None:
    """Assign each span of the trace to one run."""
    firsts = [run.calls[0].span if run.calls else run.agents[0] if run.agents else tree.spans[0] for run in runs]
    begins = [tree.places[span.id] for span in firsts]
    above = tree.inherited(lambda parent, found: owner.get(parent.id) or found)
    for place, span in enumerate(tree.spans):
        run = owner.get(span.id) or above[span.id] or runs[max(0, bisect_right(begins, place) - 1)]
        run.spans.append(span)
