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
        usage["target"] = _sum(parts) if any(_tells(part) for part in parts) else UNREPORTED
    if "examiner" not in usage and any(_tells(round_.examiner_usage) for round_ in transcript.rounds):
        usage["examiner"] = _sum([round_.examiner_usage for round_ in transcript.rounds])
    return replace(transcript, usage=usage)


def round_usage(round_: Round) -> Usage:
    """Return the agent's usage in one round, from the round and its steps, each counted once.

    Sources differ in whether the usage of a round, or of a step with steps below it (`parent_id`), includes the usage
    below. It is taken to include it if it is at least as large; otherwise, both are added.
    """
    below = _steps_usage(round_.steps)
    if not _tells(round_.usage) and not _tells(below):
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
        sums[place] = _merge(_own(steps[place]), _sum([sums[child] for child in below[place]]))
    # Steps in a cycle have no root; each is counted on its own.
    circled = [_own(step) for place, step in enumerate(steps) if place not in sums]
    return _sum([*(sums[place] for place in order[:tops]), *circled])


def _own(step: Step) -> Usage:
    if not _tells(step.usage) and step.kind is StepKind.MODEL:
        return UNREPORTED
    return step.usage


def _merge(whole: Usage, parts: Usage) -> Usage:
    """Combine the usage of a whole with that of its parts."""
    if not _tells(whole):
        return parts
    if not _tells(parts):
        return whole
    if _tokens(whole) < _tokens(parts):
        return whole + parts
    return replace(whole, cost=parts.cost) if whole.cost is None else whole


def _sum(parts: Sequence[Usage]) -> Usage:
    total = NO_USAGE
    for part in parts:
        total += part
    return total


def _tells(usage: Usage) -> bool:
    """Return whether a usage contains any information; the usage of a role without calls does not."""
    return bool(_tokens(usage) or usage.calls or usage.cost)


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens
