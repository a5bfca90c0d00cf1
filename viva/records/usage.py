"""Sums up the tokens and cost of a transcript's steps and rounds without counting anything twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from viva.records.transcript import NO_USAGE, UNREPORTED, Round, Step, StepKind, Transcript, Usage


def with_usage(transcript: Transcript) -> Transcript:
    """Return a recording's transcript with the usage of `target`, and of `examiner` if its rounds report it, by role.

    If the source itself has the total of a role, it is kept. Usage that was not reported is unknown: `UNREPORTED` if
    nothing was reported, else a sum that is marked as not fully reported.
    """
    usage = dict(transcript.usage)
    if "target" not in usage:
        parts = [round_usage(round_) for round_ in transcript.rounds]
        usage["target"] = sum(parts, NO_USAGE) if any(part.known for part in parts) else UNREPORTED
    if "examiner" not in usage and any(round_.examiner_usage.known for round_ in transcript.rounds):
        usage["examiner"] = sum([round_.examiner_usage for round_ in transcript.rounds], NO_USAGE)
    return replace(transcript, usage=usage)


def round_usage(round_: Round) -> Usage:
    """Return the agent's usage in one round, from the round and its steps, each counted once.

    Sources differ in whether the usage of a round, or of a step with steps below it (`parent_id`), includes the usage
    below. It is taken to include it if it is at least as large; otherwise, both are added.
    """
    below = _steps_usage(round_.steps)
    if not round_.usage.known and not below.known:
        took_part = round_.agent is not None or round_.error is not None or round_.steps
        return UNREPORTED if took_part else NO_USAGE
    return _merge(round_.usage, below)


def _steps_usage(steps: Sequence[Step]) -> Usage:
    first = {step.id: place for place, step in reversed(list(enumerate(steps)))}
    below: list[list[int]] = [[] for _ in steps]
    order = []
    for place, step in enumerate(steps):
        parent = first.get(step.parent_id) if step.parent_id is not None else None
        if parent is None or parent == place:
            order.append(place)
        else:
            below[parent].append(place)
    tops = len(order)
    # Deepest first, without recursion, because a source may nest steps arbitrarily deeply.
    for place in order:
        order.extend(below[place])
    sums: dict[int, Usage] = {}
    for place in reversed(order):
        sums[place] = _merge(_own(steps[place]), sum((sums[child] for child in below[place]), NO_USAGE))
    # Steps in a cycle have no root; each is counted on its own.
    circled = [_own(step) for place, step in enumerate(steps) if place not in sums]
    return sum([*(sums[place] for place in order[:tops]), *circled], NO_USAGE)


def _own(step: Step) -> Usage:
    if not step.usage.known and step.kind is StepKind.MODEL:
        return UNREPORTED
    return step.usage


def _merge(whole: Usage, parts: Usage) -> Usage:
    """Combine the usage of a whole with that of its parts."""
    if not whole.known:
        return parts if parts.known else whole + parts  # what is unknown stays unknown
    if not parts.known:
        return whole
    if whole.tokens < parts.tokens:
        return whole + parts
    return replace(whole, cost=parts.cost) if whole.cost is None else whole
