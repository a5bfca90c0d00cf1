"""The search for the decisive round: planted faults are found, and nothing is claimed that the forks do not show."""

from __future__ import annotations

import random

import pytest

from viva.statistics.bisection.posterior import ForkTally, information, posterior
from viva.statistics.bisection.search import ForkResult, ForkTrial, SearchRules, SearchState, next_round, search

ROUNDS = 64
RULES = SearchRules(ROUNDS)


def found(decisive: int, good: float, bad: float, seed: int = 0, rules: SearchRules = RULES) -> SearchState:
    """Search with forks that succeed with these probabilities before a round, and after it."""
    chance, results = random.Random(seed), {}
    while (state := search(rules, results)).wanted:
        for trial in state.wanted:
            succeeded = chance.random() < (good if trial.kept < decisive else bad)
            results[trial] = ForkResult(succeeded, trial.kept)
    return state


def test_a_fault_of_a_deterministic_agent_is_found_in_seven_forks_of_three_trials() -> None:
    for decisive in range(1, ROUNDS + 1):
        state = found(decisive, 1, 0)
        assert (state.best, state.runs <= 21, state.confidence >= 0.95) == (decisive, True, True)


def test_faults_of_a_flaky_agent_are_found_and_the_probability_is_kept() -> None:
    states = [(decisive, found(decisive, 0.85, 0.1, seed=decisive)) for decisive in range(3, ROUNDS, 5)]
    right = sum(state.best == decisive for decisive, state in states)
    near = sum(abs(state.best - decisive) <= 1 for decisive, state in states)
    assert (right >= 0.9 * len(states), near >= 0.98 * len(states)) == (True, True)


def test_a_task_that_is_too_hard_is_told_from_the_first_forks() -> None:
    state = found(0, 0, 0)
    assert (state.best, set(state.tallies)) == (0, {0})
    assert state.runs <= 9


def test_without_enough_forks_nothing_is_decided_and_the_set_holds_the_round() -> None:
    state = found(20, 0.7, 0.3, rules=SearchRules(ROUNDS, max_runs=12))
    assert state.runs == 12
    assert state.confidence < 0.95
    assert len(state.credible(0.95)) > 1


def test_the_last_batch_has_no_more_forks_than_are_left() -> None:
    state = search(SearchRules(ROUNDS, trials=5, max_runs=3), {})
    assert len(state.wanted) == 3


def test_a_search_that_is_repeated_continues_from_its_results() -> None:
    results: dict[ForkTrial, ForkResult] = {}
    while (state := search(RULES, results)).wanted:
        trial = state.wanted[-1]  # in another order, and one at a time, as after a kill
        results[trial] = ForkResult(trial.kept < 17, trial.kept)
    assert (state.best, state.runs, len(results)) == (17, 21, 21)


def test_forks_that_cannot_be_scored_are_no_evidence() -> None:
    results = {
        ForkTrial(0, 1): ForkResult(None, 0),
        ForkTrial(0, 2): ForkResult(True, 0),
        ForkTrial(0, 3): ForkResult(None, 0),
    }
    assert search(RULES, results).tallies == {0: ForkTally(1, 1)}
    state = search(RULES, {trial: ForkResult(None, 0) for trial in results})
    assert (state.failed, state.wanted) == (ForkTrial(0, 3), ())


def test_replies_that_differ_keep_the_search_from_what_it_cannot_reach() -> None:
    """A replay that diverges in round 5 is a fork after round 4, and no later round is tried again and again."""
    results: dict[ForkTrial, ForkResult] = {}
    while (state := search(RULES, results)).wanted:
        for trial in state.wanted:
            results[trial] = ForkResult(True, min(trial.kept, 4))
    assert state.out_of_reach == 5
    assert state.runs < 60
    assert state.confidence < 0.95
    assert max(state.tallies) == 4


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_short_conversations_are_searched_too(rounds: int) -> None:
    for decisive in range(1, rounds + 1):
        assert found(decisive, 1, 0, rules=SearchRules(rounds)).best == decisive


def test_the_posterior_is_a_distribution_and_information_is_never_negative() -> None:
    tallies = {0: ForkTally(3, 3), 10: ForkTally(2, 3), 40: ForkTally(0, 3)}
    assert sum(posterior(ROUNDS, tallies)) == pytest.approx(1)
    assert min(information(ROUNDS, tallies)) >= -1e-12
    assert 10 <= next_round(ROUNDS, tallies, ROUNDS) <= 40
