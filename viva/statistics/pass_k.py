"""pass@k and pass^k, the chances that one of k trials passes and that all of them do; each after a published source."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that at least one of k trials passes, unbiased: 1 - C(n-c, k) / C(n, k).

    Chen et al. 2021, "Evaluating Large Language Models Trained on Code", arXiv:2107.03374, equation 1.

    Args:
        n: Trials made.
        c: Trials passed, 0 <= c <= n.
        k: 1 <= k <= n.

    Raises:
        ValueError: the numbers are not so.
    """
    _check(n, c, k)
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Return pass^k, the chance that all of k trials pass, unbiased: C(c, k) / C(n, k).

    Yao et al. 2024, "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains", arXiv:2406.12045,
    section 3. Arguments and errors as for `pass_at_k`.
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def mean_pass_k(cells: Iterable[tuple[int, int]]) -> tuple[Mapping[int, float], Mapping[int, float]]:
    """Return the means of `pass_at_k` and `pass_hat_k` over cells, for every k up to the fewest trials of any cell.

    From one k to the next each chance is multiplied by a ratio of two counts, C(c, k) / C(n, k) by (c-k) / (n-k), so
    that the work grows with the trials; the binomials of thousands of trials have thousands of digits.

    Args:
        cells: (trials made, trials passed) of each cell; trials >= 1.

    Returns:
        k to pass@k, and k to pass^k; both empty if there is no cell. Not to be changed: cells with the same counts
        share them.
    """
    return _mean_pass_k(tuple(Counter(cells).items()))


# A thousand cells of a hundred trials have few distinct counts, and each result takes up 15 kB.
@lru_cache(maxsize=256)
def _mean_pass_k(counts: tuple[tuple[tuple[int, int], int], ...]) -> tuple[Mapping[int, float], Mapping[int, float]]:
    total = sum(number for _, number in counts)
    if not total:
        return {}, {}
    most = min(n for (n, _), _ in counts)
    all_fail, all_pass = [0.0] * most, [0.0] * most
    for (n, c), number in counts:
        fail = win = float(number)
        for k in range(most):
            # Zero as soon as there are fewer than k failures or passes, and zero from there on.
            fail *= max(0, n - c - k) / (n - k)
            win *= max(0, c - k) / (n - k)
            all_fail[k] += fail
            all_pass[k] += win
            if not fail and not win:
                break
    at = {k + 1: 1 - failing / total for k, failing in enumerate(all_fail)}
    return at, {k + 1: passing / total for k, passing in enumerate(all_pass)}


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"need 0 <= c <= n and 1 <= k <= n, have n={n}, c={c}, k={k}")
