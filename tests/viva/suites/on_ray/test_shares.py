"""How many workers a suite gets, and what each of them may use: the limits hold across the cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from viva.cases import Case, ScoringPoint
from viva.errors import SetupError
from viva.exam.options import Options
from viva.suites.job import WorkOrder
from viva.suites.on_ray.shares import needs_sandbox_of, share_out


def case(name: str, code: str | None) -> Case:
    return Case(name, Path(name, "case.yaml"), name * 2, "task", (ScoringPoint("p", "good", 1.0, eval_code=code),))


CHECKED, UNCHECKED = case("checked", "assert rounds"), case("unchecked", None)


def order(*cases: Case, recordings: bool = False, **options: Any) -> WorkOrder:
    return WorkOrder(options=Options(**options), cases=cases, recordings=recordings, agents=("a",))


def shares(work: WorkOrder, slots: int, sandboxes: int, most: int | None = None) -> list[tuple[bool, int, int]]:
    """Checks, places and model calls of each worker."""
    found = share_out(work, needs_sandbox_of(work), (slots, sandboxes), most)
    return [(each.checks, each.places, each.order.options.model_calls) for each in found]


@pytest.mark.parametrize(("slots", "calls"), [(3, 64), (5, 64), (100, 64), (7, 3)])
def test_calls_to_a_provider_never_exceed_the_limit_however_many_workers(slots: int, calls: int) -> None:
    found = shares(order(UNCHECKED, model="openai:m", model_calls=calls, concurrency=1000), slots, 0)
    assert sum(each[2] for each in found) == calls
    assert all(each[2] >= 1 for each in found)


@pytest.mark.parametrize(("concurrency", "slots", "workers", "places"), [(4, 100, 4, 1), (50, 4, 4, 13), (1, 8, 1, 1)])
def test_workers_share_the_concurrency(concurrency: int, slots: int, workers: int, places: int) -> None:
    found = shares(order(UNCHECKED, concurrency=concurrency), slots, 0)
    assert (len(found), {each[1] for each in found}) == (workers, {places})


def test_only_workers_with_a_sandbox_get_cases_with_checks() -> None:
    work = order(CHECKED, UNCHECKED, concurrency=8)
    found = share_out(work, needs_sandbox_of(work), (4, 1))
    assert [(each.checks, [case.name for case in each.order.cases]) for each in found] == [
        (True, ["checked", "unchecked"]), (False, ["unchecked"]), (False, ["unchecked"]), (False, ["unchecked"]),
    ]  # fmt: skip
    assert len(shares(order(CHECKED, concurrency=8), 4, 2)) == 2, "workers without a sandbox could do nothing"
    assert shares(order(recordings=True, evaluators=("reward",), concurrency=2), 4, 0) == [(False, 1, 32)] * 2


def test_the_number_of_workers_can_be_limited() -> None:
    assert len(shares(order(UNCHECKED, concurrency=8), 4, 0, 2)) == 2


def test_a_suite_of_which_nothing_is_left_gets_one_worker() -> None:
    assert shares(order(concurrency=8), 4, 2) == [(False, 8, 64)]


@pytest.mark.parametrize(
    ("slots", "sandboxes", "words"), [(0, 0, "has no CPU"), (4, 0, r"viva_sandbox.*the case 'checked'")]
)
def test_a_cluster_that_can_do_nothing_is_told(slots: int, sandboxes: int, words: str) -> None:
    with pytest.raises(SetupError, match=words):
        shares(order(CHECKED), slots, sandboxes)
