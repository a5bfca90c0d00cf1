"""Makes recordings of a trace: every span becomes a step, and those in which the agent decided are marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from viva.recordings.recording import Recording
from viva.recordings.spans.about import about
from viva.recordings.spans.conventions.known import placed
from viva.recordings.spans.decisions import SpanDecision, acts_in_words, decide
from viva.recordings.spans.earlier_turns import earlier_rounds
from viva.recordings.spans.model_calls import total_usage, usage_of
from viva.recordings.spans.names import agent_name, first_text, plain
from viva.recordings.spans.outcomes.answers import own_answer, parsed_by_framework
from viva.recordings.spans.outcomes.decided_steps import decided
from viva.recordings.spans.outcomes.not_recorded import as_notes, not_recorded
from viva.recordings.spans.outcomes.single_calls import model_calls
from viva.recordings.spans.outcomes.tool_run import ToolRun
from viva.recordings.spans.outcomes.unread import why_unread
from viva.recordings.spans.questions import question_of
from viva.recordings.spans.runs import Run, runs_of
from viva.recordings.spans.span import Span, SpanKind
from viva.recordings.spans.tool_runs import ToolRuns
from viva.recordings.spans.tree import Outermost, Tree, tree_of
from viva.recordings.subjects import subject_of
from viva.recordings.tool_definitions import listed_tools, with_tools_that_ran
from viva.records.trajectory import MARK, UNREAD
from viva.records.transcript import NO_USAGE, UNREPORTED, Round, Step, StepKind, Transcript
from viva.records.usage import with_usage

_KINDS = {SpanKind.LLM: StepKind.MODEL, SpanKind.TOOL: StepKind.TOOL}


def read_trace(spans: Iterable[Span], place: str, source: str) -> Iterator[Recording]:
    """Make one recording of each agent run of a trace.

    Args:
        spans: Those of one trace, in any order.
        place: Where the trace was found, for messages.
        source: The reader's name.
    """
    tree = tree_of(placed(list(spans)))
    calls = model_calls(tree)
    runs = runs_of(tree, calls)
    for number, run in enumerate(runs, 1):
        alone = len(runs) == 1
        yield _recording(
            run, tree, place if alone else f"{place}, run {number}", source, alone=alone, first=number == 1
        )


def _recording(run: Run, tree: Tree, place: str, source: str, *, alone: bool, first: bool) -> Recording:
    spans = run.spans
    trace_id = spans[0].trace_id
    agent = run.agents[0] if run.agents else None
    inputs = run.calls[0].inputs if run.calls else []
    top = _top(run, tree, alone)
    question = question_of(top, inputs)
    stated = own_answer(spans[0] if alone else agent) or own_answer(agent)
    in_words = acts_in_words(run.calls, stated)
    earlier = earlier_rounds(inputs, top, question, in_words=in_words)
    listed = listed_tools(spans, run.calls)
    decisions, steps = _steps(run, tree, stated, frozenset(listed), in_words=in_words)
    read = any(MARK in step.attributes for step in steps)
    answer = decisions[-1].answer if decisions else None
    answer = answer or stated or answer
    began = spans[0].start_ns
    round_ = Round(
        len(earlier) + 1,
        question,
        answer,
        tuple(steps),
        error=_failure(spans[0], answer) if alone else None,
        usage=_sum_of(run, tree),
        started=None if began is None else began / 1e9,
        agent_seconds=(spans[0] if alone or agent is None else agent).seconds or 0.0,
    )
    missing = not_recorded(round_)
    systems = (call.system for call in run.calls)
    transcript = Transcript(
        (*earlier, round_),
        source=source,
        trace_id=trace_id,
        system=next((text for text in systems if text), None),
        tools=with_tools_that_ran(listed, spans),
        notes=(*(tree.notes if first else ()), *as_notes(missing)),
        attributes={**about(run, decisions), **({} if read else {UNREAD: why_unread(spans)})},
    )
    resource = {key: value for span in spans[:1] for key, value in span.resource.items()}
    version = first_text([*run.agents, *spans[:1]], ("gen_ai.agent.version", "agent.version")) or resource.get(
        "service.version"
    )
    name = agent_name(agent) or plain(resource.get("service.name"))
    return Recording(
        with_usage(transcript),
        place=place,
        run_key=trace_id if alone else f"{trace_id}.{(agent or run.calls[0].span).id}",
        subject=subject_of(question) if question and question.strip() else None,
        agent=name,
        agent_version=plain(version),
        damage={**(tree.damage if first else {}), **missing},
        lost=(f"{place}: spans left out that say something else than another one with their id: {tree.lost}",)
        if first and tree.lost
        else (),
    )


def _top(run: Run, tree: Tree, alone: bool) -> list[Span]:
    """The spans that may hold the question of a run, the outermost first."""
    if not alone:
        return run.agents[:1]
    inner = run.agents[0] if run.agents else run.spans[0]
    return [*reversed(list(tree.ancestors(inner))), inner]


def _steps(
    run: Run, tree: Tree, stated: str | None, listed: frozenset[str], *, in_words: bool
) -> tuple[list[SpanDecision], list[Step]]:
    tools = ToolRuns(run.spans, run.calls, tree)
    parsed = parsed_by_framework(run.spans, run.calls, tree) if in_words else {}
    decisions: list[SpanDecision] = []
    for place, call in enumerate(run.calls):
        final = place + 1 == len(run.calls)
        decisions += decide(
            call,
            place,
            tools,
            in_words=in_words,
            parsed=parsed.get(call.span.id),
            final=final,
            stated=stated if final else None,
        )
    by_span: dict[str, list[SpanDecision]] = {}
    for decision in decisions:
        by_span.setdefault(decision.call.span.id, []).append(decision)
    counted = {call.span.id for call in run.calls}
    repeats = {span.id: call.span.id for call in run.calls for span in call.others}
    parents, agents = {span.id for span in run.spans}, tree.nearest(SpanKind.AGENT)
    steps = []
    for span in run.spans:
        step = _step(span, agents, span.parent_id if span.parent_id in parents else None, tools.by_span.get(span.id))
        if span.id in repeats:
            step = replace(step, kind=StepKind.AGENT, usage=NO_USAGE)
            step = replace(step, attributes={**step.attributes, "repeats": repeats[span.id]})
        elif span.id in run.outside:
            step = replace(step, kind=StepKind.AGENT, usage=NO_USAGE)
            step = replace(step, attributes={**step.attributes, "outside": True})
        elif span.id in tools.left:
            step = replace(step, attributes={**step.attributes, MARK: {}})
        elif span.kind is SpanKind.LLM and span.id not in counted and usage_of(span) is UNREPORTED:
            step = replace(step, kind=StepKind.AGENT, usage=NO_USAGE)  # no call: it prepared one, or broke off
        made = by_span.get(span.id, [])
        steps.append(decided(step, made[0], 1, listed) if made else step)
        steps += [decided(_beside(step, number), each, number, listed) for number, each in enumerate(made[1:], 2)]
    return decisions, steps


def _step(span: Span, agents: Mapping[str, Span | None], parent_id: str | None, ran: ToolRun | None) -> Step:
    model_usage = usage_of(span) if span.kind is SpanKind.LLM else NO_USAGE
    return Step(
        span.id,
        _KINDS.get(span.kind, StepKind.AGENT),
        parent_id,
        agent=agent_name(span if span.kind is SpanKind.AGENT else agents[span.id]),
        tool=None if ran is None else ran.name or span.name,
        tool_input=None if ran is None else ran.arguments,
        result=None if ran is None else ran.result,
        error=(None if ran is None else ran.error) or (span.message or "failed" if span.failed else None),
        usage=model_usage,
        started=None if span.start_ns is None else span.start_ns / 1e9,
        seconds=span.seconds,
        attributes={"span": span.raw, "name": span.name, **_times(span)},
    )


def _times(span: Span) -> dict[str, int]:
    """Nanoseconds, which a float of seconds loses."""
    times = {"start_ns": span.start_ns, "end_ns": span.end_ns}
    return {name: value for name, value in times.items() if value is not None}


def _beside(step: Step, number: int) -> Step:
    """A further call that the same model call asked for: a step beside that of the span, which costs nothing more."""
    named = {"name": step.attributes["name"]}
    return replace(step, id=f"{step.id}#{number}", kind=StepKind.ACTION, usage=NO_USAGE, seconds=None, attributes=named)


def _failure(root: Span, answer: str | None) -> str | None:
    return root.message or "failed" if root.failed and answer is None else None


def _sum_of(run: Run, tree: Tree) -> Any:
    """The sum that an outer span reports; NO_USAGE where the model calls report their own, of which it is the sum."""
    if any(call.usage is not UNREPORTED for call in run.calls):
        return NO_USAGE
    inside = {span.id for span in run.spans}
    outer = [span for span in run.spans if span.kind is not SpanKind.LLM and span.kind is not SpanKind.TOOL]
    extents = tree.extents()
    counted = Outermost()
    total = UNREPORTED
    for span in outer:
        if counted.holds(extents[span.id]):
            continue
        usage = total_usage(span)
        if usage is not UNREPORTED and span.id in inside:
            counted.add(extents[span.id])
            total = usage if total is UNREPORTED else total + usage
    return NO_USAGE if total is UNREPORTED else total
