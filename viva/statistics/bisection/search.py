"""Chooses after which round to fork next, until the decisive round is known. A pure function of the results so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from viva.statistics.bisection.posterior import ForkTally, credible_set, information, posterior


@dataclass(frozen=True, slots=True)
class SearchRules:
    """What the search is to find, and what it may use."""

    rounds: int
    """The number of rounds of the recorded conversation."""
    trials: int = 3
    """The number of forks that are made after a round at once."""
    confidence: float = 0.95
    """The probability that the decisive round must reach."""
    max_runs: int = 120
    """Maximum number of forks."""


@dataclass(frozen=True, slots=True, order=True)
class ForkTrial:
    """One fork: the last round that it keeps (0 for none), and its number among those, from 1."""

    kept: int
    number: int


@dataclass(frozen=True, slots=True)
class ForkResult:
    """What came of one fork."""

    succeeded: bool | None
    """None if it could not be scored, or did not begin."""
    kept: int
    """The rounds in which the agent replied as recorded. Where earlier rounds are replayed, that can be fewer than the
    fork should keep: it then says what becomes of a conversation that is forked there."""
    why_not: str = ""
    """Why it did not succeed or fail, in words of the run: hostile text."""


@dataclass(frozen=True, slots=True)
class SearchState:
    """Where the search stands."""

    probabilities: tuple[float, ...]
    """The posterior of each round, from 0 (no success from the start)."""
    tallies: Mapping[int, ForkTally]
    """The results by the number of rounds that were kept."""
    runs: int
    """Number of forks that were made."""
    wanted: tuple[ForkTrial, ...] = ()
    """The forks that are to be made next; empty at the end of the search."""
    failed: ForkTrial | None = None
    """The last of several forks none of which could be scored, where this ended the search."""
    out_of_reach: int | None = None
    """The first number of rounds that could not be kept, because the agent replied differently when they were replayed;
    None if there was none."""

    @property
    def best(self) -> int:
        """Return the most probable round."""
        return max(range(len(self.probabilities)), key=lambda each: (self.probabilities[each], -each))

    @property
    def confidence(self) -> float:
        """Return its probability."""
        return self.probabilities[self.best]

    def credible(self, mass: float) -> tuple[int, ...]:
        """Return the smallest set of rounds with at least this probability."""
        return credible_set(self.probabilities, mass)


def search(rules: SearchRules, results: Mapping[ForkTrial, ForkResult]) -> SearchState:
    """Follow the search through the results that there are; return where it stands.

    Which forks are made depends on nothing but the results of earlier ones, so a search that was stopped continues from
    the stored results and decides the same.
    """
    used: dict[int, int] = {}
    hits: dict[int, list[int]] = {}
    runs, limit = 0, rules.rounds
    while True:
        tallies = {kept: ForkTally(sum(each), len(each)) for kept, each in sorted(hits.items())}
        probabilities = posterior(rules.rounds, tallies)
        out_of_reach = limit if limit < rules.rounds else None
        ended = max(probabilities) >= rules.confidence or runs >= rules.max_runs
        kept = 0 if ended else next_round(rules.rounds, tallies, limit)
        if ended or (limit < rules.rounds and _settled(used, kept, limit, rules)):
            return SearchState(probabilities, tallies, runs, out_of_reach=out_of_reach)
        first = used.get(kept, 0) + 1
        last = first + min(rules.trials, rules.max_runs - runs)
        batch = [ForkTrial(kept, number) for number in range(first, last)]
        missing = tuple(trial for trial in batch if trial not in results)
        if missing:
            return SearchState(probabilities, tallies, runs, wanted=missing, out_of_reach=out_of_reach)
        used[kept], runs = last - 1, runs + len(batch)
        found = [results[trial] for trial in batch if results[trial].succeeded is not None]
        if not found:
            return SearchState(probabilities, tallies, runs, failed=batch[-1], out_of_reach=out_of_reach)
        for each in found:
            hits.setdefault(min(each.kept, kept), []).append(1 if each.succeeded else 0)
        # An agent that replies differently in an earlier round does so, too, on the way to a later one.
        limit = max(1, min(limit, max(each.kept for each in found) + 1)) if all(e.kept < kept for e in found) else limit


def _settled(used: Mapping[int, int], kept: int, limit: int, rules: SearchRules) -> bool:
    """Return whether more forks would tell no more: the decisive round is out of reach, and the rest is known."""
    return used.get(kept, 0) >= 4 * rules.trials or (kept == limit - 1 and used.get(kept, 0) >= 2 * rules.trials)


def next_round(rounds: int, tallies: Mapping[int, ForkTally], limit: int) -> int:
    """Return the number of rounds that the next forks keep.

    The first forks keep no round, which shows whether the task can be done at all. While all results are those of a
    deterministic agent, the middle of the rounds that are left comes next; then the fork that is expected to tell most.

    Args:
        rounds: The number of rounds of the recorded conversation.
        tallies: The results so far.
        limit: The forks must keep fewer rounds than this.
    """
    return _next_round(rounds, tuple(sorted(tallies.items())), limit)


@lru_cache(maxsize=512)
def _next_round(rounds: int, items: tuple[tuple[int, ForkTally], ...], limit: int) -> int:
    if not items:
        return 0
    tallies = dict(items)
    if all(tally.unanimous for tally in tallies.values()):
        low = max((kept for kept, tally in tallies.items() if tally.successes), default=-1)
        high = min((kept for kept, tally in tallies.items() if not tally.successes), default=rounds)
        if 0 <= low < high - 1 and (low + high) // 2 < limit:
            return (low + high) // 2
    gains = information(rounds, tallies)
    # Of forks that tell as much, the first. After the last round there is nothing left to ask.
    return min(range(min(rounds, limit)), key=lambda kept: (-round(gains[kept], 12), kept))
