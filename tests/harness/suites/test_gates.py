"""Gates hold each agent against itself."""

from __future__ import annotations

from harness.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED, exit_code
from harness.statistics.summary import summarize
from harness.suites.gates import gate
from records.run_record import Outcome, RunRecord


def records(scores: dict[tuple[str, str], float]) -> list[RunRecord]:
    return [
        RunRecord(f"{case}-{agent}", case, agent, Outcome.SCORED, score, low=score, high=score)
        for (case, agent), score in scores.items()
    ]


def test_another_agents_rise_does_not_hide_a_fall() -> None:
    before = summarize(records({("a", "old"): 1.0, ("a", "new"): 0.0}))
    now = summarize(records({("a", "old"): 0.5, ("a", "new"): 1.0}))
    code, words = gate(now, None, before, 0.1)
    assert code == EXIT_BELOW
    assert "of old" in words
    assert "of new" not in words


def test_a_new_agent_is_held_against_what_the_baseline_had() -> None:
    before, now = summarize(records({("a", "old"): 1.0})), summarize(records({("a", "other"): 0.5}))
    assert gate(now, None, before, 0.1)[0] == EXIT_BELOW
    assert gate(now, None, before, 0.5)[0] == EXIT_DONE


def test_a_good_agent_does_not_make_up_for_one_below_the_floor() -> None:
    figures = summarize(records({("a", "good"): 1.0, ("b", "good"): 1.0, ("a", "bad"): 0.1, ("b", "bad"): 0.1}))
    code, words = gate(figures, 0.5, None, None)
    assert code == EXIT_BELOW
    assert "of bad (low bound) is 0.1000, below 0.5" in words
    assert "of good" not in words


def test_an_agent_of_which_nothing_counts_is_apart_and_not_below() -> None:
    broken = RunRecord("x", "a", "broken", Outcome.INFRA_ERROR, None)
    code, words = gate(summarize([*records({("a", "good"): 1.0}), broken]), 0.5, None, None)
    assert code == EXIT_NOT_SCORED
    assert "1 infra_error" in words


def test_judged_again_each_agent_is_held_to_the_floor_by_itself() -> None:
    assert exit_code(records({("a", "good"): 1.0, ("a", "bad"): 0.1}), 0.5) == EXIT_BELOW
    assert exit_code(records({("a", "good"): 1.0, ("a", "bad"): 0.6, ("b", "bad"): 0.4}), 0.5) == EXIT_DONE


def test_what_could_not_be_scored_is_said_with_its_reason() -> None:
    broken = RunRecord("x", "a", "one", Outcome.INFRA_ERROR, None, error="the daemon\nis gone")
    assert gate(summarize([broken]), None, None, None) == (
        EXIT_NOT_SCORED,
        "nothing was scored: 1 infra_error (the daemon is gone)",
    )
    assert gate(summarize([]), None, None, None)[1] == "nothing was scored: there was no run"
