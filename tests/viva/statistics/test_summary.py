"""What the figures of a suite promise."""

from __future__ import annotations

import dataclasses
import operator
import random
import tracemalloc
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.records.run_record import Outcome, RunRecord, Timing
from viva.records.transcript import StopReason, Usage
from viva.statistics.groups import Group
from viva.statistics.intervals import wilson
from viva.statistics.summary import Figures, summarize


def run(
    case: str = "c",
    score: float | None = 1.0,
    *,
    agent: str = "a",
    trial: int = 1,
    outcome: Outcome = Outcome.SCORED,
    low: float | None = None,
    cost: float | None = 0.5,
    tags: tuple[str, ...] = (),
) -> RunRecord:
    return RunRecord(
        f"{case}/{agent}/{trial}",
        case,
        agent,
        outcome,
        score,
        low=low if low is not None else score,
        high=score,
        trial=trial,
        tags=tags,
        rounds=2,
        stop=StopReason.FINISHED,
        usage={"target": Usage(10, 5, calls=1, cost=cost), "judge": Usage(3, 1, calls=1, cost=0.25)},
        timing=Timing(0.0, 4.0),
    )


def one(groups: tuple[Group, ...], name: str) -> Group:
    return next(group for group in groups if group.name == name)


# Rewards of gpt-4o with tools on tau-bench airline, four trials of each of the tasks 0-24: public trajectories, MIT
# licence, Sierra 2024. tests/viva/recordings/test_chat.py reads the
# conversations where they lie beside the repository.
# fmt: off
TAU_REWARDS = (
    "0000", "0100", "0010", "0000", "0000", "0100", "1000", "0010", "0000",
    "0000", "0000", "1000", "1111", "0110", "0000", "0011", "0001", "0001",
    "1111", "0000", "1111", "0111", "0000", "0000", "1111",
)
# fmt: on


def test_pass_hat_k_of_real_rewards_is_the_published_one() -> None:
    figures = summarize(
        run(f"task {task}", float(reward), trial=trial)
        for task, rewards in enumerate(TAU_REWARDS)
        for trial, reward in enumerate(rewards, 1)
    )
    found = {k: round(value, 3) for k, value in figures.suite.pass_hat_k.items()}
    assert found == {1: 0.31, 2: 0.193, 3: 0.17, 4: 0.16}


def test_runs_that_say_nothing_about_the_agent_are_counted_as_excluded_and_never_averaged() -> None:
    figures = summarize(
        [
            run("x", 1.0),
            run("y", 0.5),
            run("z", 0.0, outcome=Outcome.TARGET_ERROR),
            run("x", 0.0, trial=2, outcome=Outcome.JUDGE_ERROR),
            run("y", 0.0, trial=2, outcome=Outcome.INFRA_ERROR),
            run("w", None, outcome=Outcome.EXAMINER_ERROR),
        ]
    )
    suite = figures.suite
    assert suite.mean == pytest.approx(0.5)
    assert suite.excluded == {"judge_error": 1, "infra_error": 1, "examiner_error": 1}
    assert (suite.runs, suite.runs_all, suite.target_errors) == (3, 6, 1)
    assert (suite.cases, suite.cases_left_out) == (3, 1)
    lost = one(figures.cases, "w")
    assert (lost.runs, lost.mean, lost.mean_interval, lost.pass_rate, lost.pass_at_k) == (0, None, None, None, {})


def test_a_run_passes_by_its_low_bound_and_is_averaged_by_its_score() -> None:
    suite = summarize([run("x", 0.9, low=0.4), run("y", 0.6)], threshold=0.5).suite
    assert suite.mean == pytest.approx(0.75)
    assert suite.low == pytest.approx(0.5)
    assert (suite.passes, suite.pass_rate) == (1, 0.5)


def test_a_score_of_ten_tenths_passes_whatever_its_last_bit() -> None:
    score = reduce(operator.add, [0.1] * 10)  # sum() makes up for the last bit since Python 3.12
    assert score < 1
    assert summarize([run(score=score)]).suite.passes == 1


def test_an_agent_that_failed_before_anything_was_judged_earned_nothing() -> None:
    suite = summarize([run("x"), run("y", None, outcome=Outcome.TARGET_ERROR)]).suite
    assert (suite.mean, suite.target_errors, suite.runs) == (0.5, 1, 2)


def test_a_scored_run_without_a_score_is_left_out_and_said() -> None:
    suite = summarize([run("x"), run("y", None)]).suite
    assert (suite.mean, suite.runs, suite.excluded) == (1.0, 1, {"unscored": 1})


def test_nothing_at_all_gives_no_figures_and_no_error() -> None:
    figures = summarize([])
    assert figures.suite.mean is None
    assert figures.suite.pass_rate_interval is None
    assert figures.cells == ()


def test_pass_k_is_averaged_over_cases_and_goes_as_far_as_every_case_has_trials() -> None:
    records = [run("x", float(i < 2), trial=i) for i in range(4)] + [run("y", 1.0, trial=i) for i in range(3)]
    suite = summarize(records).suite
    assert list(suite.pass_hat_k) == [1, 2, 3]
    assert suite.pass_hat_k[2] == pytest.approx((1 / 6 + 1) / 2)
    assert suite.pass_at_k[2] == pytest.approx((1 - 1 / 6 + 1) / 2)


def test_trials_of_different_agents_are_never_mixed_in_pass_k_or_flakiness() -> None:
    records = [run(agent=agent, score=score, trial=i) for agent, score in (("a", 1.0), ("b", 0.0)) for i in (1, 2)]
    figures = summarize(records)
    case = one(figures.cases, "c")
    assert case.pass_hat_k == {1: 0.5, 2: 0.5}
    assert case.pass_at_k == {1: 0.5, 2: 0.5}
    assert not case.flaky


def test_mixed_results_over_trials_are_flaky_and_counted_by_case() -> None:
    records = [run("x", float(i % 2), trial=i) for i in (1, 2)] + [run("y", 1.0, trial=i) for i in (1, 2)]
    figures = summarize(records)
    assert (figures.suite.flaky, figures.suite.flaky_cases) == (True, 1)
    assert [cell.flaky for cell in figures.cells] == [True, False]


def test_groups_are_there_for_every_agent_case_tag_and_cell_in_natural_order() -> None:
    records = [run(f"task {i}", agent=agent, tags=("even",) * (i % 2 == 0)) for i in (10, 2, 1) for agent in "ba"]
    figures = summarize(records)
    assert [group.name for group in figures.cases] == ["task 1", "task 2", "task 10"]
    assert [group.name for group in figures.agents] == ["a", "b"]
    assert [(group.name, group.agent, group.cases, group.runs) for group in figures.tags] == [
        ("even", "a", 2, 2),
        ("even", "b", 2, 2),
    ]
    assert [(cell.case, cell.agent) for cell in figures.cells[:3]] == [
        ("task 1", "a"),
        ("task 1", "b"),
        ("task 2", "a"),
    ]
    assert figures.cases[1].tags == ("even",)


def test_money_tokens_and_time_are_of_all_runs_for_excluded_ones_were_paid_too() -> None:
    suite = summarize([run("x"), run("y", outcome=Outcome.INFRA_ERROR)]).suite
    assert (suite.cost, suite.cost_mean) == (1.5, 0.75)
    assert (suite.tokens, suite.tokens_mean) == (38, 19)
    assert (suite.seconds, suite.seconds_mean, suite.rounds) == (8.0, 4.0, 4)
    assert suite.usage["target"].input_tokens == 20
    assert suite.stops == {"finished": 2}


def test_one_unknown_price_makes_the_whole_cost_unknown_not_smaller() -> None:
    figures = summarize([run("x"), run("y", cost=None)])
    assert (figures.suite.cost, figures.suite.cost_mean) == (None, None)
    assert one(figures.cases, "x").cost == 0.75


def test_the_rate_of_one_case_is_over_its_trials_that_of_a_suite_over_its_cases() -> None:
    records = [run(f"{i}", float(i < 5), trial=t) for i in range(10) for t in range(4)]
    figures = summarize(records)
    suite = figures.suite.pass_rate_interval
    assert suite is not None
    assert suite.low == pytest.approx(wilson(5, 10).low)
    assert figures.cells[0].pass_rate_interval == wilson(4, 4)


runs = st.builds(
    run,
    st.sampled_from("xyz"),
    st.floats(0, 1),
    agent=st.sampled_from("ab"),
    outcome=st.sampled_from(list(Outcome)),
    tags=st.sampled_from([(), ("t",)]),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(runs, max_size=25), st.sampled_from([0.25, 0.5, 1.0]), st.randoms())
def test_every_run_is_in_exactly_one_cell_and_every_interval_holds_its_estimate(
    records: list[RunRecord], threshold: float, shuffle: random.Random
) -> None:
    figures = summarize(records, threshold)
    groups = (figures.suite, *figures.agents, *figures.cases, *figures.tags, *figures.cells)
    assert sum(cell.runs_all for cell in figures.cells) == len(records) == figures.suite.runs_all
    for group in groups:
        if group.runs == 0:
            continue
        if group.kind in ("suite", "case") and len({r.agent for r in records if group.case in (None, r.subject)}) > 1:
            assert (group.mean_interval, group.pass_rate_interval) == (None, None), "agents are no sample of anything"
            continue
        assert group.mean_interval is not None
        assert group.pass_rate_interval is not None
        assert -1e-9 <= group.mean_interval.low <= (group.mean or 0) + 1e-9
        assert (group.mean or 0) - 1e-9 <= group.mean_interval.high <= 1 + 1e-9
        assert 0 <= group.pass_rate_interval.low <= (group.pass_rate or 0) <= group.pass_rate_interval.high <= 1
    shuffled = list(records)
    shuffle.shuffle(shuffled)
    assert _numbers(summarize(shuffled, threshold)) == pytest.approx(_numbers(figures))


def _numbers(figures: Figures) -> list[float]:
    groups = (figures.suite, *figures.agents, *figures.cases, *figures.tags, *figures.cells)
    return [
        number
        for group in groups
        if group.mean_interval
        for number in (group.mean or 0, group.mean_interval.low, group.mean_interval.high, *group.pass_hat_k.values())
    ]


def test_ten_thousand_runs_are_kept_as_a_few_numbers_each() -> None:
    tracemalloc.start()
    figures = summarize(run(f"{i // 20}", (i % 5) / 4, trial=i % 20, tags=("t",)) for i in range(10_000))
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert figures.suite.runs == 10_000
    assert peak < 8_000_000
    assert kept < 5_000_000


def test_no_interval_is_given_over_the_runs_of_several_agents() -> None:
    figures = summarize(
        [run(f"c{i}", score, agent=agent) for i in range(9) for agent, score in (("a", 1.0), ("b", 0.0))]
    )
    for pooled in (figures.suite, *figures.cases):
        assert (pooled.mean, pooled.mean_interval, pooled.pass_rate_interval) == (0.5, None, None)
    for own in (*figures.agents, *figures.cells):
        assert own.mean_interval is not None


@pytest.mark.parametrize(("cases", "too_few"), [(0, False), (1, True), (4, True), (5, False)])
def test_fewer_than_five_cases_are_too_few_to_speak_of_others(cases: int, too_few: bool) -> None:
    figures = summarize([run(f"c{i}", float(i % 2), trial=t, tags=("t",)) for i in range(cases) for t in range(3)])
    for group in (figures.suite, *figures.agents, *figures.tags):
        assert group.too_few is too_few
    assert not any(group.too_few for group in (*figures.cases, *figures.cells)), "they speak of one case alone"


def test_distinct_errors_are_told_once_with_one_run_to_look_at_what_kept_runs_apart_first() -> None:
    def failed(trial: int, outcome: Outcome, error: str) -> RunRecord:
        return dataclasses.replace(run(trial=trial, outcome=outcome, score=None), error=error)

    records = [failed(i, Outcome.TARGET_ERROR, f"round {i}: KeyError: 'key'\n at 0x{i:04x}") for i in range(1, 5)]
    records += [failed(9, Outcome.INFRA_ERROR, "no network"), run(trial=10)]
    network, key = summarize(records).troubles
    assert (network.words, network.runs, network.run) == ("no network", 1, "c/a/9")
    assert (key.words, key.runs, key.run) == ("round 1: KeyError: 'key'⏎·at 0x0001", 4, "c/a/1")
