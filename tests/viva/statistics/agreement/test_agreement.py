"""Agreement is what textbooks and public data say it is, and its intervals hold what they promise."""

from __future__ import annotations

import csv
import math
import random
import sys
from collections.abc import Callable, Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.recordings import DATA, shared_file
from viva.errors import SetupError
from viva.statistics.agreement.alpha import _alphas, _coincidences, krippendorff_alpha
from viva.statistics.agreement.by_label import accuracy_of, confusion_of
from viva.statistics.agreement.kappa import agreement_of, cohen_kappa, kappa_error, kappa_interval
from viva.statistics.agreement.ratings import Pair, Ratings, in_order, ratings_of

Row = dict[str, str]


def _table(name: str, where: Callable[[Row], bool] = lambda row: True, *, aside: Sequence[str] = ("item",)) -> Ratings:
    with shared_file(DATA / "labels" / name).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if where(row)]
    raters = [column for column in rows[0] if column not in aside]
    return ratings_of(
        ((row["item"], rater, row[rater]) for row in rows for rater in raters if row[rater]), None, raters
    )


def _pairs(*counts: tuple[str, str, int]) -> list[Pair]:
    """So many pairs of two labels, each item by itself."""
    labels = [(first, second) for first, second, number in counts for _ in range(number)]
    return [Pair(str(place), first, second) for place, (first, second) in enumerate(labels)]


def test_three_annotators_of_public_data_agree_in_pairs_as_published() -> None:
    table = _table("pandalm_annotators.csv")
    found = [agreement_of(table.pairs(*both)).kappa for both in table.each_two()]
    assert [round(kappa or 0, 3) for kappa in found] == [0.852, 0.879, 0.862]


def test_a_judge_of_public_data_says_the_same_in_both_orders_in_95_of_100() -> None:
    table = _table("llmbar_natural_gpt4.csv")
    orders = agreement_of(table.pairs("judge", "judge_with_answers_swapped"))
    assert (orders.same, orders.items) == (95, 100)
    assert orders.kappa == pytest.approx(0.897709, abs=5e-7)
    assert [accuracy_of(table.pairs("gold", each)).right for each in table.raters[1:]] == [95, 96]


def test_alpha_of_123_raters_with_gaps_is_that_of_the_published_data() -> None:
    found = krippendorff_alpha(_table("dices_350_crowd.csv"))
    assert found.alpha == pytest.approx(0.160860, abs=5e-7)
    assert found.alpha == pytest.approx(_alpha_by_definition(_table("dices_350_crowd.csv"), _nominal), abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [("Informativeness", 0.284873), ("Relevance", 0.115121), ("Fluency", -0.015808), ("Coherence", 0.064972)],
)
def test_alpha_of_grades_is_that_of_the_published_data(metric: str, expected: float) -> None:
    table = _table("newsroom_graded.csv", lambda row: row["metric"] == metric, aside=("item", "metric"))
    found = krippendorff_alpha(table, table.labels)
    assert found.alpha == pytest.approx(expected, abs=5e-7)
    assert found.alpha == pytest.approx(_alpha_by_definition(table, _ordinal(table)), abs=1e-9)
    assert found.interval is not None
    assert found.interval.low < expected < found.interval.high


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_alphas_of_resamples_are_those_that_the_package_computes_one_by_one(level: str) -> None:
    import numpy as np
    from krippendorff import alpha

    counts = np.random.default_rng(7).multinomial(4, (0.5, 0.3, 0.2), (12, 20)) + np.array([1, 1, 0])
    at_once = _alphas(np.array([_coincidences(each).sum(axis=0).reshape(3, 3) for each in counts]), level == "ordinal")
    one_by_one = [float(alpha(value_counts=each, level_of_measurement=level)) for each in counts]
    assert at_once == pytest.approx(one_by_one, abs=1e-12)


def test_resamples_with_one_label_have_no_alpha() -> None:
    import numpy as np

    assert _alphas(np.array([np.diag([6.0, 0.0])]), is_ordinal=False) == []


def _alpha_by_definition(table: Ratings, distance: Callable[[str, str], float]) -> float:
    """Krippendorff 2004, chapter 11, from its definition: observed over expected disagreement of pairable labels."""
    units = [[label for label in row if label is not None] for row in table.rows]
    units = [unit for unit in units if len(unit) > 1]
    total = sum(len(unit) for unit in units)
    counts = _counts(units)
    observed = 0.0
    for unit in units:
        own = _counts([unit])
        observed += sum(own[a] * own[b] * distance(a, b) for a, b in product(own, own)) / (len(unit) - 1)
    expected = sum(counts[a] * counts[b] * distance(a, b) for a, b in product(counts, counts)) / (total - 1)
    return 1 - observed / expected


def _counts(units: Sequence[Sequence[str]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for unit in units:
        for label in unit:
            counts[label] = counts.get(label, 0) + 1
    return counts


def _nominal(a: str, b: str) -> float:
    return float(a != b)


def _ordinal(table: Ratings) -> Callable[[str, str], float]:
    units = [[label for label in row if label is not None] for row in table.rows]
    counts = _counts([unit for unit in units if len(unit) > 1])
    order = list(in_order(counts))

    def distance(a: str, b: str) -> float:
        low, high = sorted((order.index(a), order.index(b)))
        return (sum(counts[label] for label in order[low : high + 1]) - (counts[a] + counts[b]) / 2) ** 2

    return distance


def test_kappa_is_that_of_the_textbook() -> None:
    # Two readers of 50 proposals: the example of Cohen's kappa in Wikipedia.
    pairs = _pairs(("yes", "yes", 20), ("yes", "no", 5), ("no", "yes", 10), ("no", "no", 15))
    assert cohen_kappa(pairs) == pytest.approx(0.4)


def test_the_variance_of_kappa_is_that_of_fleiss_cohen_and_everitt() -> None:
    # Fleiss, Cohen and Everitt 1969, equation 13, written out for shares p and kappa k.
    pairs = _pairs(("a", "a", 53), ("a", "b", 5), ("a", "c", 2), ("b", "a", 11), ("b", "b", 14), ("b", "c", 5))
    pairs += [Pair(f"x{pair.cluster}", *pair[1:]) for pair in _pairs(("c", "a", 1), ("c", "b", 6), ("c", "c", 3))]
    n, kappa = len(pairs), cohen_kappa(pairs)
    assert kappa is not None
    shares = {(a, b): sum(pair[1:] == (a, b) for pair in pairs) / n for a, b in product("abc", repeat=2)}
    rows = {a: sum(shares[a, b] for b in "abc") for a in "abc"}
    columns = {b: sum(shares[a, b] for a in "abc") for b in "abc"}
    chance = sum(rows[a] * columns[a] for a in "abc")
    first = sum(shares[a, a] * (1 - (rows[a] + columns[a]) * (1 - kappa)) ** 2 for a in "abc")
    second = sum(shares[a, b] * (columns[a] + rows[b]) ** 2 for a, b in product("abc", repeat=2) if a != b)
    variance = (first + (1 - kappa) ** 2 * second - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
    assert kappa_error(pairs) == pytest.approx(math.sqrt(variance * n / (n - 1)))


def test_what_is_not_defined_is_none_and_not_perfect() -> None:
    assert cohen_kappa([]) is None
    assert cohen_kappa(_pairs(("hit", "hit", 9))) is None
    assert agreement_of(_pairs(("hit", "hit", 9))).kappa_interval is None
    assert krippendorff_alpha(ratings_of([("1", "a", "hit"), ("1", "b", "hit")])).alpha is None
    assert krippendorff_alpha(ratings_of([("1", "a", "hit"), ("2", "b", "miss")])).alpha is None
    with pytest.raises(ValueError, match="not defined"):
        kappa_interval(_pairs(("hit", "hit", 9)))


def test_a_judge_that_always_says_one_label_is_no_better_than_chance() -> None:
    found = agreement_of(_pairs(("hit", "hit", 80), ("miss", "hit", 20)))
    assert found.share == 0.8
    assert found.kappa == pytest.approx(0)


def test_perfect_agreement_of_a_few_items_leaves_much_open() -> None:
    found = agreement_of(_pairs(("hit", "hit", 6), ("miss", "miss", 6)))
    assert found.kappa == 1
    assert found.kappa_interval is not None
    assert found.kappa_interval.low < 0.6
    few = ratings_of((str(item), rater, "hit" if item % 2 else "miss") for item in range(12) for rater in "ab")
    alpha = krippendorff_alpha(few)
    assert alpha.alpha == 1
    assert alpha.interval is not None
    assert alpha.interval.low < 0.6


def test_items_of_one_case_widen_every_interval() -> None:
    labels = [("hit", "hit")] * 30 + [("miss", "miss")] * 30 + [("hit", "miss")] * 10 + [("miss", "hit")] * 10
    alone = [Pair(str(place), *both) for place, both in enumerate(labels)]
    together = [Pair(str(place // 10), *both) for place, both in enumerate(labels)]
    for of in (lambda pairs: agreement_of(pairs).kappa_interval, lambda pairs: accuracy_of(pairs).share_interval):
        narrow, wide = of(alone), of(together)
        assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
    tables = [
        ratings_of(
            (
                (str(place), rater, label)
                for place, both in enumerate(labels)
                for rater, label in zip("ab", both, strict=True)
            ),
            {str(place): str(place // size) for place in range(len(labels))},
        )
        for size in (1, 10)
    ]
    first, second = (krippendorff_alpha(table).interval for table in tables)
    assert first is not None
    assert second is not None
    assert second.high - second.low > 1.5 * (first.high - first.low)


def test_the_interval_of_kappa_covers_the_truth_with_items_in_cases() -> None:
    """95 % of intervals should hold kappa .6; over 400 repeats, at least 92 % do."""
    rng, held, repeats = random.Random(7), 0, 400
    for _ in range(repeats):
        pairs = []
        for case in range(25):
            hard = rng.random() < 0.5
            for _ in range(4):
                truth = rng.choice(("hit", "miss"))
                wrong = rng.random() < (0.35 if hard else 0.05)
                pairs.append(Pair(str(case), truth, {"hit": "miss", "miss": "hit"}[truth] if wrong else truth))
        interval = kappa_interval(pairs)
        held += interval.low <= 0.6 <= interval.high
    assert held >= 0.92 * repeats


def test_precision_and_recall_are_by_label_and_none_where_nothing_was_said() -> None:
    found = accuracy_of(_pairs(("hit", "hit", 6), ("miss", "hit", 2), ("miss", "miss", 4), ("hit", "unsure", 1)))
    hit, miss, unsure = found.labels
    assert (hit.label, hit.precision, hit.recall) == ("hit", 6 / 8, 6 / 7)
    assert (miss.precision, miss.recall) == (1.0, 4 / 6)
    assert (unsure.precision, unsure.recall, unsure.true) == (0.0, None, 0)
    assert found.right == 10
    assert confusion_of(_pairs(("hit", "hit", 6), ("hit", "miss", 2))) == {"hit": {"hit": 6, "miss": 2}}


def test_without_its_packages_alpha_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    with pytest.raises(SetupError, match=r"vivavoce\[stats\]"):
        krippendorff_alpha(ratings_of([("1", "a", "hit"), ("1", "b", "miss")]))


def test_the_same_labels_give_the_same_interval_in_any_order_of_raters() -> None:
    given = [
        (str(item), rater, "hit" if (item * 7 + ord(rater)) % 3 else "miss") for item in range(40) for rater in "abc"
    ]
    first, again = krippendorff_alpha(ratings_of(given)), krippendorff_alpha(ratings_of(given))
    assert first == again


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("xyz"), st.sampled_from("xyz")), min_size=1, max_size=40))
def test_figures_stay_in_their_ranges(labels: list[tuple[int, str, str]]) -> None:
    pairs = [Pair(str(case), first, second) for case, first, second in labels]
    found = agreement_of(pairs)
    assert found.share is not None
    assert 0 <= found.share_interval.low <= found.share <= found.share_interval.high <= 1
    if found.kappa is not None and found.kappa_interval is not None:
        assert -1 <= found.kappa_interval.low <= found.kappa + 1e-12
        assert found.kappa - 1e-12 <= found.kappa_interval.high <= 1


def test_labels_that_are_numbers_are_ordered_by_size() -> None:
    assert in_order(["10", "9", "-1", "2.5"]) == ("-1", "2.5", "9", "10")
    assert in_order(["miss 10", "hit", "miss 9"]) == ("hit", "miss 9", "miss 10")
