"""The posterior of the decisive round, given how many forks after each round succeeded.

The decisive round is the first one after which the conversation no longer succeeds as often as before. A fork after
round k keeps the rounds up to k. Forks before the decisive round succeed with an unknown probability `good`, the others
with a lower one, `bad`; both are integrated out. Round 0 stands for conversations that do not succeed from the start.

The prior: with probability 1/2 the agent is deterministic (good = 1, bad = 0); otherwise both probabilities are uniform
on a grid, at least `LEAST_DROP` apart. Round 0 has the probability `AT_START`; the other rounds are equally likely. The
recorded conversation counts as one failure after its last round.

Sources: M. Horstein 1963, "Sequential transmission using noiseless feedback", IEEE Trans. Inf. Theory 9 (the posterior
over positions, and the query at its median); M. V. Burnashev, K. Sh. Zigangirov 1974, "An interval estimation problem
for controlled observations", Problems of Information Transmission 10 (the discrete version, in which a query is a
whole number); R. Waeber, P. I. Frazier, S. G. Henderson 2013, "Bisection search with noisy responses", SIAM J. Control
Optim. 51 (its convergence).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

DETERMINISTIC = 0.5
"""Prior probability that all forks before the decisive round succeed, and none after it."""
AT_START = 0.1
"""Prior probability that the conversation does not succeed from the start."""
STEPS = 20
"""Number of values of each probability on the grid."""
LEAST_DROP = 0.2
"""A lower success probability by less than this is no loss."""


@dataclass(frozen=True, slots=True)
class ForkTally:
    """The results of the forks after one round."""

    successes: int
    trials: int

    @property
    def unanimous(self) -> bool:
        """Return whether there are results, and all are the same."""
        return self.trials > 0 and self.successes in (0, self.trials)


def posterior(rounds: int, tallies: Mapping[int, ForkTally]) -> tuple[float, ...]:
    """Return the probability of each round to be the decisive one.

    Args:
        rounds: The number of rounds of the recorded conversation, at least 1.
        tallies: The results of the forks, by the last round that they keep: 0 to `rounds` - 1.

    Returns:
        `rounds` + 1 probabilities that add up to 1; the first is that of no success from the start.
    """
    logs = []
    for decisive, counts in enumerate(_parted(rounds, tallies)):
        prior = AT_START if decisive == 0 else (1 - AT_START) / rounds
        logs.append(math.log(prior) + _evidence(*counts))
    top = max(logs)
    weights = [math.exp(each - top) for each in logs]
    total = sum(weights)
    return tuple(each / total for each in weights)


def information(rounds: int, tallies: Mapping[int, ForkTally]) -> tuple[float, ...]:
    """Return how much one more fork after each round would tell about the decisive round, in nats.

    This is the mutual information of its result and the decisive round (D. V. Lindley 1956, "On a measure of the
    information provided by an experiment", Ann. Math. Stat. 27). Where both success probabilities are known and
    symmetric, its maximum is the median of the posterior; where they are not, a fork far from the median can tell more,
    because it shows what the probabilities are.

    Args:
        rounds: The number of rounds of the recorded conversation.
        tallies: The results of the forks.

    Returns:
        One value for each number of kept rounds, from 0 to `rounds` - 1.
    """
    probabilities, chances = posterior(rounds, tallies), _chances(rounds, tallies)
    # For each round, the sums over the decisive rounds up to it, where forks after it come too late, and beyond it.
    late = list(accumulate(p * bad for p, (_, bad) in zip(probabilities, chances, strict=True)))
    early = list(accumulate(p * good for p, (good, _) in zip(probabilities, chances, strict=True)))
    late_rest = list(accumulate(p * _entropy(bad) for p, (_, bad) in zip(probabilities, chances, strict=True)))
    early_rest = list(accumulate(p * _entropy(good) for p, (good, _) in zip(probabilities, chances, strict=True)))
    return tuple(
        _entropy(late[kept] + early[-1] - early[kept]) - (late_rest[kept] + early_rest[-1] - early_rest[kept])
        for kept in range(rounds)
    )


def credible_set(probabilities: Sequence[float], mass: float) -> tuple[int, ...]:
    """Return the smallest set of rounds that has at least this probability, in ascending order."""
    chosen, sum_ = [], 0.0
    for round_ in sorted(range(len(probabilities)), key=lambda each: (-probabilities[each], each)):
        chosen.append(round_)
        sum_ += probabilities[round_]
        if sum_ >= mass:
            break
    return tuple(sorted(chosen))


def _parted(rounds: int, tallies: Mapping[int, ForkTally]) -> Iterator[tuple[int, int, int, int]]:
    """Yield for each decisive round the successes and failures of the forks before it, and of the others."""
    successes, failures = [0], [0]
    for kept in range(rounds):
        tally = tallies.get(kept, ForkTally(0, 0))
        successes.append(successes[-1] + tally.successes)
        failures.append(failures[-1] + tally.trials - tally.successes)
    for decisive in range(rounds + 1):
        # A fork after round k lies before the decisive round d if k < d; the recording is a fork after the last round.
        good = successes[decisive], failures[decisive]
        yield *good, successes[-1] - good[0], failures[-1] - good[1] + 1


def _chances(rounds: int, tallies: Mapping[int, ForkTally]) -> list[tuple[float, float]]:
    """Return the probabilities that one more fork succeeds before each decisive round, and after it."""
    found = []
    for counts in _parted(rounds, tallies):
        good_hits, good_misses, bad_hits, bad_misses = counts
        now = _evidence(*counts)
        good = math.exp(_evidence(good_hits + 1, good_misses, bad_hits, bad_misses) - now)
        found.append((good, math.exp(_evidence(good_hits, good_misses, bad_hits + 1, bad_misses) - now)))
    return found


def _entropy(chance: float) -> float:
    """Return the entropy of a result with this probability, in nats."""
    if not 0 < chance < 1:
        return 0.0
    return -chance * math.log(chance) - (1 - chance) * math.log1p(-chance)


@cache
def _grid() -> tuple[tuple[tuple[float, float], ...], tuple[int, ...]]:
    """Return the logarithms of each probability and its complement, and for each the first one of `good` above it."""
    values = [(step + 0.5) / STEPS for step in range(STEPS)]
    logs = tuple((math.log(value), math.log1p(-value)) for value in values)
    first = tuple(math.ceil(step + LEAST_DROP * STEPS - 1e-9) for step in range(STEPS))
    return logs, first


@cache
def _evidence(good_hits: int, good_misses: int, bad_hits: int, bad_misses: int) -> float:
    """Return the logarithm of the probability of these results, with both success probabilities integrated out."""
    logs, first = _grid()
    good = [math.exp(good_hits * hit + good_misses * miss) for hit, miss in logs]
    above = [0.0]
    for each in reversed(good):
        above.append(above[-1] + each)
    above.reverse()  # the sums from each step upwards
    noisy = pairs = 0.0
    for step, (hit, miss) in enumerate(logs):
        if first[step] < STEPS:
            noisy += math.exp(bad_hits * hit + bad_misses * miss) * above[first[step]]
            pairs += STEPS - first[step]
    certain = 1.0 if good_misses == 0 and bad_hits == 0 else 0.0
    return math.log(DETERMINISTIC * certain + (1 - DETERMINISTIC) * noisy / pairs)
