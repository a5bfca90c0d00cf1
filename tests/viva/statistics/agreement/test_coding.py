"""Mistakes of coding are found in the data and in what was published of it, and only where there are any."""

from __future__ import annotations

import csv
import random

import pytest

from tests.recordings import DATA, shared_file
from viva.statistics.agreement.coding import find_recoding
from viva.statistics.agreement.published import Claim, check_claim
from viva.statistics.agreement.ratings import Pair, Ratings, ratings_of


def _judged(accuracy: float = 0.9, labels: str = "12", items: int = 100, seed: int = 1) -> list[Pair]:
    rng, pairs = random.Random(seed), []
    for item in range(items):
        truth = rng.choice(labels)
        pairs.append(Pair(str(item), truth, truth if rng.random() < accuracy else rng.choice(labels)))
    return pairs


def _renamed(pairs: list[Pair], names: dict[str, str]) -> list[Pair]:
    return [Pair(pair.cluster, pair.first, names[pair.second]) for pair in pairs]


def _public() -> Ratings:
    with shared_file(DATA / "labels/llmbar_natural_gpt4.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    raters = ("gold", "judge", "judge_with_answers_swapped")
    return ratings_of(((row["item"], rater, row[rater]) for row in rows for rater in raters), None, raters)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"1": "0", "2": "1"}, "shifted by 1 (0 is 1, 1 is 2)"),
        ({"1": "2", "2": "3"}, "shifted by -1 (2 is 1, 3 is 2)"),
        ({"1": "2", "2": "1"}, "exchanged (1 is 2, 2 is 1)"),
        ({"1": "1 ", "2": "2"}, "spelled differently (1  is 1)"),
        ({"1": "yes", "2": "no"}, "named differently (no is 2, yes is 1)"),
        ({"1": "1", "2": "0"}, "named differently (0 is 2)"),
    ],
)
def test_a_column_with_another_coding_is_found(names: dict[str, str], words: str) -> None:
    found = find_recoding(_renamed(_judged(), names))
    assert found is not None
    assert found.words() == words
    assert found.recoded > 0.7
    assert (found.kappa or 0) < 0.5


def test_a_shift_is_found_among_more_labels_than_can_be_permuted() -> None:
    labels = "12345678"
    shifted = _renamed(_judged(labels=labels), {label: str(int(label) - 1) for label in labels})
    found = find_recoding(shifted)
    assert found is not None
    assert found.kind == "shifted by 1"


@pytest.mark.parametrize(
    ("accuracy", "labels", "items"), [(0.9, "12", 60), (0.0, "12", 60), (0.0, "12", 20), (0.1, "123", 40)]
)
def test_a_good_judge_and_a_random_one_are_not_recoded(accuracy: float, labels: str, items: int) -> None:
    found = [find_recoding(_judged(accuracy, labels, items, seed)) for seed in range(200)]
    assert sum(each is not None for each in found) <= 2


def test_the_published_kappa_of_a_public_file_is_found_to_be_one_of_another_coding() -> None:
    check = check_claim(Claim("kappa", "gold", "judge", 0.268, 3), _public())
    assert not check.agrees
    assert check.value == pytest.approx(0.898, abs=5e-4)
    assert check.causes[0] == "the labels of judge are named differently (2 has a code of its own)"


def test_a_figure_that_fits_to_its_digits_is_confirmed() -> None:
    assert check_claim(Claim("kappa", "gold", "judge", 0.9, 1), _public()).agrees
    assert check_claim(Claim("kappa", "gold", "judge", 0.898, 3), _public()).agrees
    assert not check_claim(Claim("kappa", "gold", "judge", 0.899, 3), _public()).agrees
    assert check_claim(Claim("recall", "gold", "judge", 0.9524, 4, "1"), _public()).agrees


@pytest.mark.parametrize(
    ("claim", "cause"),
    [
        (Claim("kappa", "gold", "judge", 0.918, 3), "it is that of gold and judge_with_answers_swapped"),
        (Claim("kappa", "gold", "judge", 0.95, 2), "it is the agreement, not the kappa"),
        (Claim("precision", "gold", "judge", 0.9524, 4, "1"), "it is the recall, not the precision"),
        (Claim("accuracy", "gold", "judge", 0.05, 2), "the labels of judge are exchanged (1 is 2, 2 is 1)"),
    ],
)
def test_exchanged_columns_and_figures_are_named(claim: Claim, cause: str) -> None:
    assert cause in check_claim(claim, _public()).causes


def test_a_figure_that_nothing_explains_has_no_cause() -> None:
    assert check_claim(Claim("kappa", "gold", "judge", 0.4321, 4), _public()).causes == ()
