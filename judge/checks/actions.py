"""Evaluates the checks of what the agent did: its calls of tools, its steps, and figures of the conversation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from viva.cases.checks.data import (
    ActionCheck,
    LimitCheck,
    StepsCheck,
    ToolCheck,
    ToolOrderCheck,
    ToolShareCheck,
)
from viva.cases.text import number_text
from viva.judge.checks.conversation import CheckedConversation, InspectedSteps
from viva.judge.checks.found import MOST_EVIDENCE, CheckFound, unknown, within
from viva.judge.checks.looked_at import Allowance, excerpt
from viva.judge.checks.same import same_json
from viva.judge.trajectory.decisions import StepDecision
from viva.records.text import counted
from viva.records.transcript import NO_USAGE, UNREPORTED, Usage
from viva.records.usage import round_usage
from viva.records.verdict import Evidence, Label

CALL_COST = 20
"""As how many characters a call counts that is inspected."""
LONGEST_ARGUMENTS = 50_000
"""Maximum number of characters of arguments that are written as text."""
MOST_NAMED = 8
ROUNDING = 1e-9
NO_STEPS = "no steps were recorded"


def check_action(
    check: ActionCheck, conversation: CheckedConversation, place: int | None, allowance: Allowance
) -> CheckFound:
    """Return what a check finds in the round at a place, or in the whole conversation."""
    if isinstance(check, LimitCheck):
        return _limit(check, conversation, place)
    if conversation.unread:
        return unknown(conversation.unread)
    steps = conversation.inspected(environment=check.environment)
    made = steps.calls_in(place)
    if not allowance.spend(CALL_COST * len(made)):
        return unknown(f"{counted(len(made), 'step')}, more than are inspected")
    found = _KINDS[type(check)](check, conversation, place, made)
    if not steps.is_cut(place):
        return found
    label = _whatever_follows(check, conversation, place, found.number if steps.rest_only_adds else None)
    return CheckFound(label, f"{found.got}; there are more steps than are inspected", found.evidence)


def _whatever_follows(
    check: ActionCheck, conversation: CheckedConversation, place: int | None, number: int | None
) -> Label:
    """Return what steps that are not inspected cannot change: that there are enough of something, or too many.

    Args:
        check: The check.
        conversation: The conversation.
        place: The place of the round; None for all.
        number: How many of the inspected steps count; None if one that is left out may take the place of one of them.
            Those that the environment recorded always count.
    """
    if isinstance(check, ToolCheck):
        if number is None:
            recorded = conversation.inspected(environment=True).calls_in(place)
            number = sum(is_named(check.name, each.tool) and _fits(check, each) is True for each in recorded)
        return within(number, math.inf, check.times.least, check.times.most)
    if isinstance(check, StepsCheck):
        if number is None:
            number = _number_of_steps(check, conversation.inspected(environment=True), place)
        return within(number, math.inf, check.allowed.least, check.allowed.most)
    return Label.UNSURE


def _tool(
    check: ToolCheck, conversation: CheckedConversation, place: int | None, made: Sequence[StepDecision]
) -> CheckFound:
    named = [each for each in made if is_named(check.name, each.tool)]
    fitting = [(each, _fits(check, each)) for each in named]
    sure = [each for each, fits in fitting if fits]
    maybe = sum(fits is None for _, fits in fitting)
    label = within(len(sure), len(sure) + maybe, check.times.least, check.times.most)
    evidence = tuple(Evidence(each.id, excerpt(each.input)) for each in (sure or named)[:MOST_EVIDENCE])
    got = _calls_words(sure or named or made)
    if maybe:
        got += "; the arguments of a call were not recorded"
    if sure or maybe or _is_complete(check, conversation):
        return CheckFound(label, got, evidence, number=len(sure))
    # Nothing was recorded of an agent that may report nothing: no hit, and its opposite is none either.
    return CheckFound(Label.UNSURE if label is Label.HIT else label, NO_STEPS, assumed=True, number=0)


def _is_complete(check: ToolCheck | ToolOrderCheck | ToolShareCheck | StepsCheck, of: CheckedConversation) -> bool:
    """Return whether calls that were not recorded did not take place."""
    if check.environment:
        return of.is_recorded_by_environment
    return of.has_steps or (isinstance(check, ToolCheck) and of.is_of_environment(check.name))


def _fits(check: ToolCheck, call: StepDecision) -> bool | None:
    """Return whether a call has the arguments; None if they are not known."""
    if check.arguments is None:
        return True
    given = call.step.tool_input
    if (given is None and check.arguments) or (isinstance(given, str) and len(given) > LONGEST_ARGUMENTS):
        return None
    arguments = call.arguments
    if not isinstance(arguments, Mapping) or (check.exact and len(arguments) != len(check.arguments)):
        return False
    return all(key in arguments and same_json(value, arguments[key]) for key, value in check.arguments.items())


def is_named(pattern: str, name: str) -> bool:
    """Return whether a tool's name is the pattern, in which `*` stands for any characters."""
    if "*" not in pattern:
        return pattern == name
    first, *middle, last = pattern.split("*")
    if len(name) < len(first) + len(last) or not name.startswith(first) or not name.endswith(last):
        return False
    position, end = len(first), len(name) - len(last)
    for part in middle:
        found = name.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True


def _order(
    check: ToolOrderCheck, conversation: CheckedConversation, place: int | None, made: Sequence[StepDecision]
) -> CheckFound:
    names, step = [each.tool for each in made], 0
    for name in names:
        if step < len(check.tools) and is_named(check.tools[step], name):
            step += 1
        elif check.exact:
            step = -1
            break
    fulfilled = step == len(check.tools)
    return _of_names(check, conversation, made, fulfilled)


def _share(
    check: ToolShareCheck, conversation: CheckedConversation, place: int | None, made: Sequence[StepDecision]
) -> CheckFound:
    names = {each.tool for each in made}
    wanted = set(check.tools)
    called = sum(any(is_named(tool, name) for name in names) for tool in wanted)
    expected = sum(any(is_named(tool, name) for tool in wanted) for name in names)
    recall, precision = called / len(wanted), expected / len(names) if names else 0.0
    share = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    found = _of_names(check, conversation, made, share >= check.at_least - ROUNDING)
    return CheckFound(found.label, f"{found.got} (F1 {share:.2f})", found.evidence, found.assumed)


def _of_names(
    check: ToolOrderCheck | ToolShareCheck, conversation: CheckedConversation, made: Sequence[StepDecision], hit: bool
) -> CheckFound:
    if not made and not _is_complete(check, conversation):
        return CheckFound(Label.UNSURE if hit else Label.MISS, NO_STEPS, assumed=True)
    evidence = tuple(Evidence(each.id, excerpt(each.input)) for each in made[:MOST_EVIDENCE]) if hit else ()
    return CheckFound(Label.HIT if hit else Label.MISS, _calls_words(made), evidence)


def _steps(
    check: StepsCheck, conversation: CheckedConversation, place: int | None, made: Sequence[StepDecision]
) -> CheckFound:
    count = _number_of_steps(check, conversation.inspected(environment=check.environment), place)
    label = within(count, count, check.allowed.least, check.allowed.most)
    if not count and not _is_complete(check, conversation):
        return CheckFound(Label.UNSURE if label is Label.HIT else label, NO_STEPS, assumed=True, number=0)
    return CheckFound(label, counted(count, "step"), number=count)


def _number_of_steps(check: StepsCheck, steps: InspectedSteps, place: int | None) -> int:
    return sum(not check.kind or step.kind.value == check.kind for step in steps.steps_in(place))


def _calls_words(made: Sequence[StepDecision]) -> str:
    if not made:
        return "no call of a tool"
    shown = ", ".join(f"{excerpt(each.tool)}({_arguments_words(each)})" for each in made[:MOST_NAMED])
    return f"{counted(len(made), 'call')}: {shown}{', …' if len(made) > MOST_NAMED else ''}"


def _arguments_words(call: StepDecision) -> str:
    given = call.step.tool_input
    if given in (None, "", {}):
        return ""
    words = given[:80] if isinstance(given, str) else call.input
    return words if len(words) <= 60 else words[:59] + "…"


def _limit(check: LimitCheck, conversation: CheckedConversation, place: int | None) -> CheckFound:
    if check.figure == "rounds":
        count = len(conversation.transcript.rounds)
        return CheckFound(Label.HIT if count <= check.most else Label.MISS, counted(count, "round"))
    if check.figure == "seconds":
        return _seconds(check, conversation, place)
    usage = _usage(conversation, place)
    cost = usage.known_cost
    if cost is None:
        return unknown("the cost is not known: no usage with a price was reported")
    got = f"{cost:.6g} US dollars"
    if cost > check.most:
        return CheckFound(Label.MISS, got)
    return CheckFound(Label.HIT, got) if usage.reported else unknown(f"at least {got}: not all usage was reported")


def _seconds(check: LimitCheck, conversation: CheckedConversation, place: int | None) -> CheckFound:
    rounds = conversation.rounds if place is None else [conversation.rounds[place]]
    seconds = sum(each.agent_seconds for each in rounds)
    got = f"{number_text(round(seconds, 3))} seconds"
    if not rounds or seconds != seconds or seconds < 0:
        return unknown("no time was recorded")
    if seconds > check.most:
        return CheckFound(Label.MISS, got)
    # A recording may leave out how long the agent took.
    if not conversation.is_live and any(not each.agent_seconds for each in rounds):
        return unknown(f"at least {got}: the time of a round was not recorded")
    return CheckFound(Label.HIT, got)


def _usage(conversation: CheckedConversation, place: int | None) -> Usage:
    if place is not None:
        return round_usage(conversation.rounds[place])
    whole = conversation.transcript.usage.get("target")
    if whole is None and conversation.steps_cut:
        return UNREPORTED
    return sum(map(round_usage, conversation.rounds), NO_USAGE) if whole is None else whole


_KINDS: dict[type, Callable[[Any, CheckedConversation, int | None, Sequence[StepDecision]], CheckFound]] = {
    ToolCheck: _tool,
    ToolOrderCheck: _order,
    ToolShareCheck: _share,
    StepsCheck: _steps,
}
