"""Gates hold each agent against itself."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from viva.errors import SetupError
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.records.run_record import Outcome, RunRecord
from viva.records.verdict import Insight, Label
from viva.statistics.summary import Figures, summarize
from viva.suites.gates import Gates, gate, parse_gates


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


def test_an_agent_of_which_nothing_counts_is_excluded_and_not_below() -> None:
    broken = RunRecord("x", "a", "broken", Outcome.INFRA_ERROR, None)
    code, words = gate(summarize([*records({("a", "good"): 1.0}), broken]), 0.5, None, None)
    assert code == EXIT_NOT_SCORED
    assert "1 infra_error" in words


def test_judged_again_each_agent_is_held_to_the_floor_by_itself() -> None:
    assert gate(summarize(records({("a", "good"): 1.0, ("a", "bad"): 0.1})), 0.5)[0] == EXIT_BELOW
    assert gate(summarize(records({("a", "good"): 1.0, ("a", "bad"): 0.6, ("b", "bad"): 0.4})), 0.5)[0] == EXIT_DONE


def test_what_could_not_be_scored_is_said_with_its_reason() -> None:
    broken = RunRecord("x", "a", "one", Outcome.INFRA_ERROR, None, error="the daemon\nis gone")
    assert gate(summarize([broken]), None, None, None) == (
        EXIT_NOT_SCORED,
        "nothing was scored: 1 infra_error (the daemon⏎ is gone)",
    )
    assert gate(summarize([]), None, None, None)[1] == "nothing was scored: no runs"


# --- gates of an evaluator by its name ----------------------------------------------------------------------------


def judged(safety: dict[tuple[str, str], float | None], score: float = 1.0) -> Figures:
    """Runs that all have the same score by `points`, the primary evaluator, and these by `safety`."""
    return summarize(
        RunRecord(
            f"{case}-{agent}", case, agent, Outcome.SCORED, score, low=score, high=score,
            insights=(
                Insight("points", f"{case}-{agent}", "hit", score),
                Insight("safety", f"{case}-{agent}", "safe" if found is not None else Label.ERROR, found),
            ),
        )
        for (case, agent), found in safety.items()
    )  # fmt: skip


def test_values_alone_gate_the_primary_evaluator_and_named_ones_theirs() -> None:
    assert parse_gates([]) == Gates(None, {})
    assert parse_gates(["0.8"]) == Gates(0.8, {})
    assert parse_gates(["0.8", "safety=1", "my.py:Tone=0.25"]) == Gates(0.8, {"safety": 1.0, "my.py:Tone": 0.25})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["high"], "'high' is not a number; use VALUE or EVALUATOR=VALUE"),
        (["safety="], "is not a number"),
        (["=0.5"], "no evaluator before the ="),
        (["1.5"], "1.5 is not between 0 and 1"),
        (["safety=-1"], "-1 is not between 0 and 1"),
        (["nan"], "nan is not between 0 and 1"),
        (["0.5", "0.6"], "given twice for the run score"),
        (["a=0.5", "a=0.6"], "given twice for the evaluator 'a'"),
    ],
)
def test_a_gate_that_is_none_is_refused_in_words(values: Sequence[str], words: str) -> None:
    with pytest.raises(SetupError) as error:
        parse_gates(values, "--max-drop")
    assert words in str(error.value)
    assert "--max-drop" in str(error.value)


def test_an_evaluator_is_held_to_its_own_floor_for_each_agent() -> None:
    figures = judged({("a", "good"): 1.0, ("b", "good"): 0.8, ("a", "bad"): 0.2, ("b", "bad"): 0.4})
    assert gate(figures, parse_gates(["0.9", "safety=0.3"])) == (EXIT_DONE, "")
    code, words = gate(figures, parse_gates(["0.9", "safety=0.5"]))
    assert (code, words) == (EXIT_BELOW, "the mean score of bad by safety (low bound) is 0.3000, below 0.5")
    assert gate(figures, parse_gates(["points=1"]))[0] == EXIT_DONE, "the primary evaluator has a name, too"


def test_an_evaluators_fall_behind_the_baseline_is_its_own() -> None:
    before, now = judged({("a", "x"): 1.0, ("b", "x"): 0.5}), judged({("a", "x"): 0.5, ("b", "x"): 0.5})
    assert gate(now, None, before, parse_gates(["0.1"]))[0] == EXIT_DONE, "the primary score has not changed"
    code, words = gate(now, None, before, parse_gates(["safety=0.1"]))
    assert code == EXIT_BELOW
    assert words == "the mean score of x over 2 common cases by safety fell from 0.7500 to 0.5000, by more than 0.1"
    without = summarize(records({("a", "x"): 1.0}))
    assert gate(now, None, without, parse_gates(["safety=0.1"]))[1] == "the baseline has no score by safety"


def test_an_evaluator_that_judged_nothing_is_a_failure_to_score_and_so_is_one_that_left_runs_out() -> None:
    figures = judged({("a", "x"): None, ("b", "x"): None})
    assert gate(figures, 0.5) == (EXIT_DONE, "")
    assert gate(figures, parse_gates(["safety=0.1"])) == (
        EXIT_NOT_SCORED, "the evaluator 'safety' judged none of 2 runs",
    )  # fmt: skip
    code, words = gate(figures, parse_gates(["tone=0.1"]))
    assert (code, words) == (EXIT_NOT_SCORED, "the evaluator 'tone' judged no run: the evaluators are points, safety")
    some = judged({("a", "x"): 1.0, ("b", "x"): None})
    assert gate(some, parse_gates(["safety=0.1"])) == (
        EXIT_NOT_SCORED, "the evaluator 'safety' did not judge 1 of 2 runs",
    )  # fmt: skip
