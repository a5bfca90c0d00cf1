"""What pass@k and pass^k promise: the published formulas, for any number of trials, in time that grows with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.statistics.pass_k import mean_pass_k, pass_at_k, pass_hat_k

trials = st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(trials, min_size=1, max_size=8))
@example([(4, 0)])
@example([(4, 4), (7, 3)])
def test_the_means_over_cells_are_those_of_the_exact_formulas(cells: list[tuple[int, int]]) -> None:
    at, hat = mean_pass_k(cells)
    most = min(n for n, _ in cells)
    assert list(at) == list(hat) == list(range(1, most + 1))
    for k in at:
        assert at[k] == pytest.approx(sum(pass_at_k(n, c, k) for n, c in cells) / len(cells), abs=1e-12)
        assert hat[k] == pytest.approx(sum(pass_hat_k(n, c, k) for n, c in cells) / len(cells), abs=1e-12)


def test_thousands_of_trials_give_the_exact_value() -> None:
    """With binomials it would take minutes."""
    at, hat = mean_pass_k([(20_000, 19_990)])
    for k in (1, 2, 100, 10_000, 19_990):
        assert at[k] == pytest.approx(pass_at_k(20_000, 19_990, k), rel=1e-9)
        assert hat[k] == pytest.approx(pass_hat_k(20_000, 19_990, k), rel=1e-9)
    assert hat[19_991] == 0


def test_no_cell_gives_no_chance() -> None:
    assert mean_pass_k([]) == ({}, {})


@given(trials)
def test_pass_at_k_agrees_with_the_papers_own_program(sample: tuple[int, int]) -> None:
    n, c = sample
    for k in range(1, n + 1):
        # Chen et al. 2021, figure 3.
        expected = 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
        assert pass_at_k(n, c, k) == pytest.approx(float(expected), abs=1e-9)


@given(trials)
def test_more_tries_help_pass_at_k_and_hurt_pass_hat_k(sample: tuple[int, int]) -> None:
    n, c = sample
    at = [pass_at_k(n, c, k) for k in range(1, n + 1)]
    hat = [pass_hat_k(n, c, k) for k in range(1, n + 1)]
    assert at == sorted(at)
    assert hat == sorted(hat, reverse=True)
    assert at[0] == pytest.approx(c / n)
    assert hat[0] == pytest.approx(c / n)
    assert all(0 <= low <= high + 1e-12 <= 1 + 2e-12 for low, high in zip(hat, at, strict=True))


@settings(max_examples=examples(40))
@given(
    st.integers(1, 7).flatmap(lambda n: st.tuples(st.lists(st.booleans(), min_size=n, max_size=n), st.integers(1, n)))
)
def test_both_are_the_share_of_all_ways_to_choose_k_trials(sample: tuple[list[bool], int]) -> None:
    from itertools import combinations

    results, k = sample
    chosen = list(combinations(results, k))
    n, c = len(results), sum(results)
    assert pass_at_k(n, c, k) == pytest.approx(sum(any(each) for each in chosen) / len(chosen))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(all(each) for each in chosen) / len(chosen))


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    for estimator in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="need 0 <= c <= n"):
            estimator(n, c, k)
