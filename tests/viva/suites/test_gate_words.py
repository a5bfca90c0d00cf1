"""The figures in the words of a gate never contradict what it decided."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from viva.cli.rater_gate import gate_on_kappa
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE
from viva.pytest_plugin.text import headline
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.verdict import Insight, Verdict
from viva.records.wording import beyond, fall_words, limit_words
from viva.statistics.agreement.kappa import agreement_of
from viva.statistics.agreement.ratings import Pair
from viva.statistics.corrected.figures import CorrectedScore
from viva.statistics.exams.figures import ExaminerFigures
from viva.statistics.intervals import Interval
from viva.statistics.summary import Figures, summarize
from viva.suites.gates import Gates, gate
from viva.suites.judging_gates.corrected import gate_on_corrected


def scored(*scores: float) -> Figures:
    return summarize(
        RunRecord(f"c{number}", f"c{number}", "a", Outcome.SCORED, score, low=score, high=score)
        for number, score in enumerate(scores)
    )


def looped(score: float) -> Figures:
    """One run, of which `loops` gives a verdict with this score."""
    verdict = Verdict("r", "loops", "no-loop", score)
    insight = Insight("loops", "r", "no-loop", score, low=score, high=score, verdicts=(verdict,))
    return summarize([RunRecord("r", "c", "a", Outcome.SCORED, 1.0, low=1.0, high=1.0, insights=(insight,))])


def test_a_figure_just_below_its_limit_is_shown_below_it() -> None:
    named = Gates(None, {"loops": 0.8})
    assert gate(scored(0.79996), 0.8) == (EXIT_BELOW, "the mean score (low bound) is 0.79996, below 0.8")
    assert gate(looped(0.79996), named) == (EXIT_BELOW, "the rate by loops (low bound) is 0.79996, below 0.8")
    figures = replace(
        scored(1.0),
        corrected=(CorrectedScore(agent="a", raw=0.9, runs=9, cases=9, labelled_cases=9, labels=9, low=0.79999999),),
    )
    assert gate_on_corrected(figures, 0.8) == (
        EXIT_BELOW,
        "the corrected mean score (low end of its interval) is 0.79999999, below 0.8",
    )


def test_a_fall_just_beyond_its_limit_is_shown_beyond_it() -> None:
    words = "fell from 0.80000 to 0.74998, by more than 0.05"
    assert gate(scored(0.74998), None, scored(0.8), 0.05) == (
        EXIT_BELOW,
        f"the mean score of a over 1 common case {words}",
    )
    named = Gates(None, {"loops": 0.05})
    assert gate(looped(0.74998), None, looped(0.8), named) == (EXIT_BELOW, f"the rate of a by loops {words}")


def test_a_rate_of_faults_just_above_its_limit_is_shown_above_it() -> None:
    figures = replace(scored(1.0), examiner=ExaminerFigures(exams=100_000, unfair=5_001, rate=0.05001))
    code, words = gate(figures, None, None, None, 0.05)
    assert code == EXIT_BELOW
    assert words.endswith("a rate of 0.05001, above 0.05")


def test_the_low_end_of_a_kappa_just_below_its_limit_is_shown_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [Pair(str(number), label, label) for number, label in enumerate("hm" * 10)]
    found = replace(agreement_of(pairs), kappa=0.7, kappa_interval=Interval(0.39996, 1.0))
    assert gate_on_kappa({"judge": found}, 0.4) == EXIT_BELOW
    assert "below --min-kappa 0.4: kappa of judge is 0.70000 [0.39996, 1.00000]" in capsys.readouterr().err
    assert gate_on_kappa({"judge": found}, 0.39) == EXIT_DONE
    assert gate_on_kappa({"judge": found}, 0.5) == EXIT_BELOW
    assert "kappa of judge is 0.700 [0.400, 1.000]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (0.996, "score 1.00 (low bound 0.996), below the threshold of 1"),
        (0.9, "score 0.90, below the threshold of 1"),
    ],
)
def test_a_test_that_failed_does_not_show_the_score_that_passes(score: float, words: str) -> None:
    record = RunRecord("r", "c", "a", Outcome.SCORED, score, low=score, high=score, setting=Setting())
    assert headline(record, 1.0) == words


ODD = [0.0, 1.0, 0.8, 0.7999999, 1e-7, 1 / 3, 0.123456789]
VALUES = st.one_of(st.floats(0, 1), st.sampled_from(ODD))


@given(VALUES, VALUES)
def test_no_figure_is_shown_on_the_other_side_of_its_limit(value: float, limit: float) -> None:
    assume(abs(value - limit) > 1e-9)
    shown, wanted = float(beyond(value, limit)), float(limit_words(limit))
    assert wanted == limit
    assert (shown < wanted, shown > wanted) == (value < limit, value > limit)
    assert abs(shown - value) < 1e-4


@given(VALUES, VALUES, st.floats(0, 1))
def test_no_fall_is_shown_smaller_than_its_limit(one: float, other: float, share: float) -> None:
    old, new = max(one, other), min(one, other)
    most = (old - new) * share
    assume(new < old - most - 1e-9)
    before, after, limit = _numbers(fall_words(old, new, most))
    assert round(before - after, 15) > limit


def _numbers(words: str) -> Sequence[float]:
    found = re.fullmatch(r"fell from (\S+) to (\S+), by more than (\S+)", words)
    assert found is not None
    return [float(each) for each in found.groups()]
