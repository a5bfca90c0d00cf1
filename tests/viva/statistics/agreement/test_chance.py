"""A judge is called no better than chance only where enough data show it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from viva.judge.calibration.store import Calibration
from viva.reports.reliability.calibration_words import calibration_words
from viva.statistics.agreement.chance import NO_BETTER, NOT_SHOWN, chance_words
from viva.statistics.agreement.kappa import agreement_of
from viva.statistics.agreement.ratings import Pair


@pytest.mark.parametrize(
    ("interval", "points", "clusters", "words"),
    [
        ((0.01, 0.3), 10, 5, ""),
        ((0.0, 0.3), 10, 5, NOT_SHOWN),
        ((-0.4, 0.6), 20, 10, NOT_SHOWN),
        ((-0.1, 0.1), 500, 100, NO_BETTER),
        ((-0.1, 0.1), 99, 99, NOT_SHOWN),
        ((-0.1, 0.1), 500, 19, NOT_SHOWN),
        ((-0.1, 0.35), 500, 100, NOT_SHOWN),
        ((-0.6, -0.4), 500, 100, NO_BETTER),
        (None, 500, 100, NOT_SHOWN),
    ],
)
def test_no_better_than_chance_requires_data_that_show_it(
    interval: tuple[float, float] | None, points: int, clusters: int, words: str
) -> None:
    assert chance_words(interval, points, clusters).partition(":")[0] == words


def test_a_kappa_that_is_not_defined_asks_for_labels_of_both_kinds() -> None:
    assert chance_words(None, 500, 100).endswith("label both hits and misses")


def words_of(items: int, judge: Callable[[str], str]) -> str:
    drawn = random.Random(items)
    truths = [drawn.choice(("hit", "miss")) for _ in range(items)]
    found = agreement_of([Pair(str(place // 4), truth, judge(truth)) for place, truth in enumerate(truths)])
    assert found.kappa_interval is not None
    return chance_words((found.kappa_interval.low, found.kappa_interval.high), found.items, found.clusters)


def test_a_good_judge_with_few_labels_is_not_slandered_and_a_coin_with_many_is_found_out() -> None:
    coin, poor = random.Random(1), random.Random(2)
    assert words_of(1_000, lambda _: coin.choice(("hit", "miss"))) == NO_BETTER
    assert words_of(12, lambda truth: truth if poor.random() < 0.75 else "miss").startswith(NOT_SHOWN)


@pytest.mark.parametrize("kappa", [0.05, None])
def test_reports_say_it_in_the_same_words(kappa: float | None) -> None:
    interval = None if kappa is None else (-0.05, 0.15)
    found = Calibration(
        "m", {}, items=400, cases=40, kappa=kappa, kappa_interval=interval, accuracy=0.5, accuracy_interval=(0.45, 0.55)
    )
    assert calibration_words(found).endswith(f": {chance_words(interval, 400, 40)}")


@pytest.mark.parametrize(("labels", "least", "most"), [(40, 0.35, 0.75), (100, 0.9, 1.0)])
def test_how_many_labels_a_gate_of_point_four_requires_is_as_the_page_says(
    labels: int, least: float, most: float
) -> None:
    passed = 0
    for seed in range(100):
        drawn = random.Random(seed)
        truths = [drawn.random() < 0.5 for _ in range(labels)]
        said = [truth is (drawn.random() < 0.85) for truth in truths]  # a judge whose kappa is .7
        pairs = [
            Pair(str(place // 2), str(truth), str(verdict))
            for place, (truth, verdict) in enumerate(zip(truths, said, strict=True))
        ]
        interval = agreement_of(pairs).kappa_interval
        passed += interval is not None and interval.low >= 0.4
    assert least <= passed / 100 <= most
