"""Decides how many workers a suite gets, and what share of the limits each of them has."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from viva.cases import Case
from viva.errors import SetupError
from viva.judge.registry import DEFAULT, Need, find_evaluators
from viva.suites.job import WorkOrder
from viva.suites.on_ray.cluster import RESOURCE

NeedsSandbox = Callable[[Case | None], bool]
"""Tells whether runs of a case (None: of no case) can only be judged where there is a sandbox."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one worker gets."""

    order: WorkOrder
    """The work order, with the worker's share of the limits, and without cases that it cannot judge."""
    places: int
    """Number of jobs at a time."""
    checks: bool
    """Whether it has a sandbox."""


def needs_sandbox_of(order: WorkOrder) -> NeedsSandbox:
    """Return the function that tells which runs of a work order require a sandbox.

    Raises:
        SetupError: there is no such evaluator, or it has an unknown need.
    """
    options = order.options
    evaluators = find_evaluators(options.evaluators or (DEFAULT,))

    def needs_sandbox(case: Case | None) -> bool:
        return any(Need.SANDBOX in each.needs((case,), options.judge or "code") for each in evaluators)

    return needs_sandbox


def share_out(
    order: WorkOrder, needs_sandbox: NeedsSandbox, slots: tuple[int, int], most: int | None = None
) -> list[Share]:
    """Return the share of each worker.

    Each worker has a slot of the cluster. The limit on calls to a provider is divided among the workers, so that it
    holds across the cluster however they are distributed.

    Args:
        order: The work order, as the nodes get it.
        needs_sandbox: Tells which runs require a sandbox.
        slots: The cluster's slots, and how many of them may have a sandbox.
        most: Maximum number of workers; None means no other limit.

    Raises:
        SetupError: the cluster has no slot, or none for the checks.
    """
    options, (all_slots, sandbox_slots) = order.options, slots
    checked = [case for case in order.subjects if needs_sandbox(case)]
    unchecked = [case for case in order.subjects if not needs_sandbox(case)]
    if not all_slots:
        raise SetupError("the Ray cluster has no CPU for a worker: start a node with ray start --address=HOST:PORT.")
    if checked and not sandbox_slots:
        of = "recordings" if checked[0] is None else f"the case {checked[0].name!r}"
        asked = f"--resources='{{\"{RESOURCE}\": 4}}'"
        raise SetupError(
            f"no node of the Ray cluster offers {RESOURCE}, which the checks of {of} require: start the nodes that "
            f"have Docker with ray start … {asked}, where 4 is the maximum number of workers with a sandbox."
        )
    uses_model = any((options.model, options.judge_model, options.examiner_model))
    number = max(1, min(all_slots, options.concurrency, most or all_slots))
    if uses_model:
        number = min(number, options.model_calls)
    with_checks = min(number, sandbox_slots) if checked else 0
    if checked and not unchecked:
        number = with_checks
    if not order.subjects:  # nothing is left to do, and one worker will do
        number = 1
    places = math.ceil(options.concurrency / number)
    plain = replace(
        order,
        cases=tuple(case for case in unchecked if case is not None),
        recordings=order.recordings and None in unchecked,
    )
    return [
        Share(_limited(order if index < with_checks else plain, places, index, number), places, index < with_checks)
        for index in range(number)
    ]


def _limited(order: WorkOrder, places: int, index: int, number: int) -> WorkOrder:
    whole, rest = divmod(order.options.model_calls, number)
    options = replace(order.options, concurrency=places, model_calls=max(1, whole + (index < rest)))
    return replace(order, options=options)
