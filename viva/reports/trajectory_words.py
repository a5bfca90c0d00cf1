"""Puts the figures of trajectories into lines of text, as the GitHub Agent Evaluation Framework prints them."""

from __future__ import annotations

from collections.abc import Iterator

from viva.judge.trajectory import QUERY_TO_THOUGHT, SEQUENCE, STEP_EVALUATORS, THOUGHT_TO_TOOL
from viva.records.text import one_line
from viva.records.wording import counted
from viva.statistics.trajectory_figures import COMBINED_STEPS, COMBINED_TRACES, Rate, ToolUse, TrajectoryFigures

MOST_TOOLS_SHOWN = 30
NAMES = {
    QUERY_TO_THOUGHT: "Query-to-Thought accuracy",
    THOUGHT_TO_TOOL: "Thought-to-Tool accuracy",
    SEQUENCE: "Sequence Optimality accuracy",
    COMBINED_STEPS: "Combined accuracy (both correct)",
    COMBINED_TRACES: "Combined accuracy (whole trace)",
    "parameter_quality": "Parameter quality",
    "plan_and_recovery": "Plan and recovery",
    "alignment": "Alignment",
    "repeated_calls": "Calls without repetition",
    "tool_success": "Tool success",
    "loops": "Traces without a loop",
    "known_tools": "Calls of known tools",
    "argument_schema": "Arguments that fit their schema",
    "match_strict": "Reference match, strict",
    "match_in_order": "Reference match, in order",
    "match_any_order": "Reference match, any order",
    "match_subset": "Reference match, subset",
    "match_superset": "Reference match, superset",
}
"""Name of a rate to what it is called, in the order in which they are shown."""


def trajectory_lines(figures: TrajectoryFigures) -> Iterator[str]:
    """Write the figures, a line each; the names of tools are harmless on a terminal, and may be hostile elsewhere."""
    rates = {each.name: each for each in figures.rates}
    for name in NAMES:
        if name in rates:
            yield rate_line(rates[name])
    for each in figures.agreements:
        kappa = "" if each.kappa is None else f", kappa {each.kappa:.2f}"
        agreed = f"{each.both_right + each.both_wrong} of {each.runs}{kappa}"
        yield f"Agreement of {each.name} with reward: {percent(each.value)} ({agreed})"
    if not figures.tools:
        yield "Tool Usage Breakdown: no tool was used"
        return
    yield "Tool Usage Breakdown:"
    for tool in figures.tools[:MOST_TOOLS_SHOWN]:
        yield f"  {one_line(tool.tool, 80)}: {_use(tool)}"
    if len(figures.tools) > MOST_TOOLS_SHOWN:
        yield f"  … {len(figures.tools) - MOST_TOOLS_SHOWN} more: viva report --format json"


def rate_line(rate: Rate) -> str:
    """Write one rate, with what could not be judged: `Thought-to-Tool accuracy: 87.50% (7 of 8 steps; 2 skipped)`."""
    unit = "step" if rate.name in (*STEP_EVALUATORS, COMBINED_STEPS) else "trace"
    if rate.name == "plan_and_recovery":
        unit = "answer"
    beside = [(rate.unsure, "unsure"), (rate.errors, "not judged"), (rate.skipped, "skipped")]
    told = [f"{number} {what}" for number, what in beside if number]
    if rate.failed:
        told.append(f"the agent failed in {counted(rate.failed, 'run')}")
    words = f"; {', '.join(told)}" if told else ""
    if rate.value is None:
        return f"{NAMES[rate.name]}: nothing was judged (0 {unit}s{words})"
    return f"{NAMES[rate.name]}: {percent(rate.value)} ({rate.right:g} of {counted(rate.judged, unit)}{words})"


def percent(value: float | None) -> str:
    """Write a rate with two decimals, as the document does."""
    return "-" if value is None else f"{value:.2%}"


def _use(tool: ToolUse) -> str:
    uses = counted(tool.uses, "use")
    if tool.success is None:
        return uses
    known = tool.succeeded + tool.failed
    left = f", {tool.uses - known} unknown" if known < tool.uses else ""
    return f"{uses}, {tool.succeeded} succeeded, {tool.failed} failed{left} ({percent(tool.success)} success)"
