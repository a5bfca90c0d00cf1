"""What corrected scores promise: intervals that hold the truth, hardly any bias, a refusal where little is known."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.corrected import DESIGNS, SCORES, Tally, simulate, suite, with_accuracy_elsewhere
from viva.judge.calibration.label_files import NAMED, RANDOM, SAMPLE, HumanLabel
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.verdict import Insight, Label, Verdict
from viva.statistics.corrected.clusters import CaseSums, CorrectedMean
from viva.statistics.corrected.elsewhere import measure_judge
from viva.statistics.corrected.figures import CorrectedScore
from viva.statistics.corrected.prediction_powered import prediction_powered
from viva.statistics.corrected.rogan_gladen import accuracy_of, rogan_gladen
from viva.statistics.corrected.truths import truths_of
from viva.statistics.summary import Figures, summarize

SUITES = 250
"""Of each design in the short form; `python -m bench corrected` has 2,000."""
Z = NormalDist().inv_cdf(0.975)


def tallies(method: object, judge: tuple[float, float], designs: Sequence[tuple[int, int]]) -> list[Tally]:
    assert callable(method)
    return [simulate(method, score, judge, cases, SUITES) for score, cases in product(SCORES, designs)]


def coverage(found: Sequence[Tally]) -> float:
    return sum(each.held for each in found) / sum(len(each.values) for each in found)


@pytest.mark.parametrize("judge", [(0.95, 0.9), (0.9, 0.7), (0.9, 0.2)])
def test_the_intervals_hold_the_truth_as_often_as_they_claim_and_the_bias_is_below_a_point(
    judge: tuple[float, float],
) -> None:
    found = tallies(prediction_powered, judge, DESIGNS[:2])
    assert 0.935 <= coverage(found) <= 0.965, (
        "six designs of 250 suites; `python -m bench corrected` tests 0.94 to 0.96"
    )
    assert max(abs(each.bias) for each in found) <= 1.0


def test_as_judged_neither_holds() -> None:
    def raw(cases: Sequence[CaseSums]) -> object:
        weight = sum(case.weight + case.other_weight for case in cases)
        value = sum(case.judged + case.other_judged for case in cases) / weight
        half = Z * math.sqrt(value * (1 - value) / len(cases))
        return CorrectedMean(value, value - half, value + half)

    found = tallies(raw, (0.9, 0.7), DESIGNS[:1])
    assert coverage(found) < 0.8
    assert max(abs(each.bias) for each in found) > 5


def test_rogan_and_gladens_intervals_hold_the_truth_too() -> None:
    found = tallies(rogan_gladen, (0.95, 0.9), DESIGNS[:1])
    assert 0.93 <= coverage(found) <= 0.975
    assert max(abs(each.bias) for each in found) <= 1.0


def test_the_accuracy_on_another_suite_corrects_a_new_one() -> None:
    found = tallies(with_accuracy_elsewhere, (0.95, 0.9), DESIGNS[:1])
    assert 0.93 <= coverage(found) <= 0.975
    assert max(abs(each.bias) for each in found) <= 1.0


def test_a_hopeless_judge_is_refused_or_its_interval_is_very_wide() -> None:
    (found,) = [simulate(rogan_gladen, 0.7, (0.9, 0.2), (20, 80), SUITES)]
    assert found.refused > 0.7 * found.suites
    assert min(found.widths, default=1) > 0.1
    assert sum(found.widths) / len(found.widths) > 0.5
    assert found.coverage > 0.85


def test_a_judge_that_answers_at_random_is_not_listened_to() -> None:
    rng = random.Random(1)
    means = [prediction_powered(suite(rng, 0.7, (0.5, 0.5), (30, 120))) for _ in range(40)]
    assert sum(mean.trust for mean in means) / 40 < 0.15
    good = [prediction_powered(suite(rng, 0.7, (0.99, 0.99), (30, 120))) for _ in range(40)]
    assert sum(mean.trust for mean in good) / 40 > 0.6
    assert _width(good) < 0.7 * _width(means), "a good judge makes up for labels"


def _width(means: Sequence[object]) -> float:
    return sum(mean.high - mean.low for mean in means)  # type: ignore[attr-defined]


# Of ppi-python 0.2.3, `ppi_mean_pointestimate` and `ppi_mean_ci`, for the same draws: labels, others, seed.
PUBLISHED = {
    (300, 1200, 1): (0.6810681477190526, 0.6380881009064915, 0.7240481945316136),
    (500, 500, 2): (0.6932902502887948, 0.656976559100512, 0.7296039414770775),
    (1000, 4000, 3): (0.7016231579168675, 0.6777584566862538, 0.7254878591474812),
}


def drawn(labels: int, others: int, seed: int) -> list[CaseSums]:
    rng = random.Random(seed)
    truths = [rng.random() < 0.7 for _ in range(labels + others)]
    judged = [rng.random() < (0.9 if truth else 0.3) for truth in truths]
    made = []
    for place, (truth, verdict) in enumerate(zip(truths, judged, strict=True)):
        made.append(sums := CaseSums())
        if place < labels:
            sums.add_labelled(1.0, truth=truth, judged=verdict)
        else:
            sums.add_other(1.0, verdict)
    return made


@pytest.mark.parametrize("design", PUBLISHED)
def test_where_cases_have_one_point_it_is_the_published_estimator(design: tuple[int, int, int]) -> None:
    found = prediction_powered(drawn(*design))
    # Lambda is cross-fitted here, and the interval is Wilson's with t: in large samples the difference is small.
    assert (found.value, found.low, found.high) == pytest.approx(PUBLISHED[design], abs=0.0025)
    assert found.value == pytest.approx(PUBLISHED[design][0], abs=0.0007)


@pytest.mark.parametrize("design", [each for each in PUBLISHED if each[0] * 4 <= each[1]])
def test_the_binary_correction_is_the_published_formula(design: tuple[int, int, int]) -> None:
    cases = drawn(*design)
    accuracy, found = accuracy_of(cases), rogan_gladen(cases)
    assert accuracy is not None
    assert found is not None
    share = sum(case.judged + case.other_judged for case in cases) / len(cases)
    divisor = accuracy.sensitivity + accuracy.specificity - 1
    assert found.value == pytest.approx((share + accuracy.specificity - 1) / divisor)
    # The interval of arXiv:2511.21140, for independent points; there, the labelled ones are not among the others.
    hits = sum(case.truth for case in cases)
    misses = design[0] - hits
    n, m0, m1 = len(cases) + Z**2, misses + 2, hits + 2
    p = (len(cases) * share + Z**2 / 2) / n
    q0, q1 = (misses * accuracy.specificity + 1) / m0, (hits * accuracy.sensitivity + 1) / m1
    value = (p + q0 - 1) / (q0 + q1 - 1)
    shift = 2 * Z**2 * (-(1 - value) * q0 * (1 - q0) / m0 + value * q1 * (1 - q1) / m1)
    spread = p * (1 - p) / n + (1 - value) ** 2 * q0 * (1 - q0) / m0 + value**2 * q1 * (1 - q1) / m1
    half = Z * math.sqrt(spread) / (q0 + q1 - 1)
    assert (found.low, found.high) == pytest.approx((value + shift - half, value + shift + half), abs=0.02)


def test_labels_of_everything_need_no_judge() -> None:
    cases = suite(random.Random(5), 0.6, (0.5, 0.5), (25, 0))
    found = prediction_powered(cases)
    assert found.value == pytest.approx(sum(case.truth for case in cases) / 25)
    assert found.trust == 0


def test_cases_that_are_labelled_in_part_count_on_both_sides() -> None:
    rng = random.Random(6)
    tally = Tally(0.7)
    for _ in range(SUITES):
        cases = suite(rng, 0.7, (0.95, 0.9), (60, 0))
        for case in cases:
            # As if half of each case's points had no label: their verdicts are as good as those of the others.
            twin = suite(rng, 0.7, (0.95, 0.9), (1, 0))[0]
            case.add_other(twin.weight, twin.judged)
        tally.add(prediction_powered(cases))
    assert 0.92 <= tally.coverage <= 0.98


@given(st.integers(0, 10_000), st.sampled_from([(0.9, 0.7), (1.0, 1.0), (0.0, 0.0), (0.5, 0.5)]))
def test_every_interval_is_in_order_and_within_0_and_1(seed: int, judge: tuple[float, float]) -> None:
    rng = random.Random(seed)
    near = tuple(min(0.999, max(0.001, each)) for each in judge)
    cases = suite(rng, rng.choice((0.02, 0.5, 0.98)), (near[0], near[1]), (rng.randint(3, 30), rng.randint(0, 30)))
    for found in (prediction_powered(cases), rogan_gladen(cases)):
        if found is not None:
            assert 0 <= found.low <= found.value <= found.high <= 1
    assert prediction_powered(cases) == prediction_powered(cases[:])


def test_labels_that_all_agree_leave_some_doubt() -> None:
    cases = suite(random.Random(7), 0.999, (0.999, 0.999), (20, 80))
    for case in cases[:20]:
        case.truth = case.judged = case.both = case.weight
    found = prediction_powered(cases)
    assert found.value > 0.9
    assert found.high - found.low > 0.05


def run(case: int, labels: Sequence[str], *, started: float = 0.0, score: float | None = None) -> RunRecord:
    name = f"c{case}-1"
    verdicts = tuple(Verdict(name, f"p{number}", label, None, weight=number + 1) for number, label in enumerate(labels))
    total = sum(verdict.weight for verdict in verdicts)
    hit = sum(verdict.weight for verdict in verdicts if verdict.label == Label.HIT) / total
    earned = hit if score is None else score
    insight = Insight("scoring_points", name, "partial", earned, verdicts=verdicts)
    return RunRecord(
        name, f"c{case}", "a", Outcome.SCORED, earned, low=earned, high=earned, insights=(insight,),
        timing=Timing(started), setting=Setting(evaluators=("scoring_points",)),
    )  # fmt: skip


def said(case: int, criterion: str, label: str, rater: str = "ann", chosen: str = RANDOM) -> HumanLabel:
    return HumanLabel(rater, f"c{case}-1", criterion, label, chosen=chosen)


def corrected(records: Sequence[RunRecord], labels: Sequence[HumanLabel]) -> tuple[Figures, CorrectedScore]:
    figures = summarize(records, truths=truths_of(labels))
    (found,) = figures.corrected
    return figures, found


def test_a_judge_that_is_too_generous_is_corrected() -> None:
    records = [run(case, ["hit", "hit"]) for case in range(40)]
    labels = [said(case, f"p{point}", "hit" if point else "miss") for case in range(25) for point in (0, 1)]
    figures, found = corrected(records, labels)
    assert figures.suite.mean == found.raw == 1.0
    assert found.value == pytest.approx(2 / 3), "the point that people call missed has a third of the weight"
    assert (found.labelled_cases, found.labels, found.sensitivity, found.specificity) == (25, 50, 1.0, 0.0)
    assert found.binary is None


def test_fewer_than_20_labelled_cases_are_refused() -> None:
    records = [run(case, ["hit"]) for case in range(40)]
    _, few = corrected(records, [said(case, "p0", "hit") for case in range(19)])
    assert few.value is few.low is few.binary is None
    assert few.refused == "labels of 19 cases; a corrected score requires 20"
    _, enough = corrected(records, [said(case, "p0", "hit") for case in range(20)])
    assert (enough.refused, enough.value) == ("", 1.0)
    assert enough.low is not None
    assert enough.low < 0.9


def test_what_raters_are_divided_on_is_not_used_and_told() -> None:
    records = [run(case, ["hit", "hit"]) for case in range(25)]
    labels = [said(case, "p0", "hit") for case in range(25)]
    labels += [said(0, "p1", "hit"), said(0, "p1", "miss", "bob"), said(1, "p1", "unsure")]
    labels += [said(2, "p1", "miss"), said(2, "p1", "miss", "bob"), said(2, "p1", "hit", "eve")]
    _, found = corrected(records, labels)
    assert found.labels == 26
    assert found.notes == ("2 points of which the raters are unsure or divided: not used",)


def test_labels_of_points_that_no_run_has_are_not_used_and_told() -> None:
    records = [run(case, ["hit"]) for case in range(30)]
    labels = [said(case, "p0", "miss") for case in range(30)]
    _, found = corrected(records, [*labels, said(77, "p0", "hit"), said(6, "p9", "hit")])
    assert found.labels == 30
    assert found.notes == ("2 labelled points that no counted run here has: not used",)


def test_points_that_were_not_chosen_at_random_correct_nothing() -> None:
    records = [run(case, ["hit", "hit"]) for case in range(40)]
    at_random = [said(case, "p0", "hit") for case in range(25)]
    hard = [said(case, "p1", "miss", chosen=SAMPLE if case % 2 else NAMED) for case in range(40)]
    _, found = corrected(records, [*at_random, *hard])
    assert (found.labels, found.value) == (25, 1.0)
    (note,) = found.notes
    assert note.startswith("40 labelled points were not chosen at random (viva label --sample, or one run): not used")
    assert note.endswith("25 chosen at random")
    _, alone = corrected(records, hard)
    assert alone.refused == (
        "labels of 0 cases chosen at random; a corrected score requires 20 (viva label without --sample)"
    )
    # A point that one person drew at random is random, whoever else labelled it.
    _, both = corrected(records, [*at_random, *(said(case, "p0", "hit", "bob", SAMPLE) for case in range(25))])
    assert (both.labels, both.notes) == (25, ())


def test_labels_that_do_not_say_how_they_were_chosen_are_used_and_told() -> None:
    records = [run(case, ["hit"]) for case in range(25)]
    _, found = corrected(records, [said(case, "p0", "hit", chosen="") for case in range(25)])
    assert found.notes == ("the labels of 25 points do not say how they were chosen: taken as chosen at random",)


def test_no_labels_at_all_are_said_to_be_none() -> None:
    _, found = corrected([run(0, ["hit"])], [])
    assert found.refused == "the label file holds no labels"


def test_the_same_run_in_two_journals_is_refused() -> None:
    records = [run(case, ["hit"]) for case in range(30)] * 2
    _, found = corrected(records, [said(case, "p0", "hit") for case in range(30)])
    assert "one journal at a time" in found.refused


def test_a_run_whose_score_is_no_weighted_share_counts_as_judged_and_is_told() -> None:
    records = [run(case, ["hit", "miss"]) for case in range(25)]
    records.append(run(99, ["hit", "miss"], score=0.9))
    _, found = corrected(records, [said(case, "p0", "hit") for case in [*range(25), 99]])
    assert found.labelled_cases == 25
    assert "runs whose score is not the weighted share of their hits: 1, as judged" in found.notes


def test_a_new_suite_is_corrected_by_the_judges_accuracy_on_labelled_runs() -> None:
    old = [run(case, ["hit", "hit", "miss"]) for case in range(30)]
    labels = [said(case, f"p{point}", "hit" if point == 0 else "miss") for case in range(30) for point in range(3)]
    measured = measure_judge(old, truths_of(labels), "runs/old")
    new = [run(case, ["hit", "hit", "miss"]) for case in range(100, 140)]
    (found,) = summarize(new, measured=measured).corrected
    # Of the misses, with weights 2 and 3, the judge calls the first a hit: a specificity of 0.6.
    assert (found.sensitivity, found.specificity) == (1.0, pytest.approx(0.6))
    assert found.raw == pytest.approx(0.5)
    assert found.value == pytest.approx((0.5 + 0.6 - 1) / 0.6)
    assert (found.measured_in, found.labelled_cases, found.labels) == ("runs/old", 30, 90)
    few = measure_judge(old[:19], truths_of(labels), "runs/old")
    assert summarize(new, measured=few).corrected[0].refused == "labels of 19 cases; a corrected score requires 20"


def test_another_judge_than_the_measured_one_is_refused() -> None:
    labels = [said(case, f"p{point}", "miss" if point else "hit") for case in range(25) for point in range(2)]
    measured = measure_judge([run(case, ["hit", "miss"]) for case in range(25)], truths_of(labels), "runs/old")
    for setting, why in (
        (Setting(evaluators=("scoring_points",), judge="model", judge_model="m"), "the judge differs"),
        (Setting(evaluators=("mine",)), "other evaluators"),
    ):
        new = [replace(run(case, ["hit"]), setting=setting) for case in range(25)]
        (found,) = summarize(new, measured=measured).corrected
        assert found.value is found.low is None
        assert why in found.refused


def test_without_labels_nothing_is_corrected() -> None:
    assert summarize([run(1, ["hit"])]).corrected == ()
    assert "corrected" in summarize([run(1, ["hit"])]).unused
