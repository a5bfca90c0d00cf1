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

from bench.corrected import DESIGNS, SCORES, Method, Tally, simulate, suite, with_accuracy_elsewhere
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.judge.calibration.label_files import NAMED, RANDOM, SAMPLE, HumanLabel
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.verdict import Insight, Label, Verdict
from viva.reports.reliability.corrected_words import corrected_lines
from viva.statistics.corrected.clusters import CaseSums, CorrectedMean
from viva.statistics.corrected.elsewhere import measure_judge
from viva.statistics.corrected.figures import CorrectedScore
from viva.statistics.corrected.prediction_powered import prediction_powered
from viva.statistics.corrected.rogan_gladen import accuracy_of, rogan_gladen
from viva.statistics.corrected.truths import truths_of
from viva.statistics.summary import Figures, summarize
from viva.suites.judging_gates.corrected import gate_on_corrected

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


def right_on(labelled: int, misses: int, trials: int = 1) -> list[CaseSums]:
    """Labelled cases with two hits each, some with a miss too, of all of which the judge is right in all trials."""
    made = []
    for case in range(labelled):
        made.append(sums := CaseSums())
        points = [True, True, *([False] if case < misses else [])]
        for hit in points * trials:
            sums.add_labelled(1 / len(points), truth=hit, judged=hit)
    return made


def new_cases(scores: Sequence[float]) -> list[CaseSums]:
    made = []
    for score in scores:
        made.append(sums := CaseSums())
        sums.add_other(1.0, score)
    return made


def test_new_cases_that_score_alike_leave_the_doubt_that_their_number_leaves() -> None:
    lows = []
    for count in (5, 20, 80, 400):
        found = rogan_gladen(new_cases([1.0] * count), right_on(40, 20))
        assert found is not None
        assert found.value == found.high == 1.0
        lows.append(found.low)
    assert lows == sorted(lows)
    assert lows[0] < 0.55
    assert lows[1] < 0.85
    half = rogan_gladen(new_cases([0.5] * 20), right_on(40, 20))
    assert half is not None
    assert half.low < 0.46 < half.value < 0.54 < half.high


def test_a_new_suite_of_few_cases_is_refused() -> None:
    old = [run(case, ["hit", "miss"]) for case in range(25)]
    labels = [said(case, f"p{point}", "miss" if point else "hit") for case in range(25) for point in range(2)]
    measured = measure_judge(old, truths_of(labels), "runs/old")
    figures = summarize([run(case, ["hit"]) for case in range(100, 104)], measured=measured)
    (found,) = figures.corrected
    assert (found.value, found.low) == (None, None)
    assert found.refused == "only 4 cases have a score; a corrected score requires 5"
    assert gate_on_corrected(figures, 0.0)[0] == EXIT_NOT_SCORED
    (found,) = summarize([run(case, ["hit"]) for case in range(100, 105)], measured=measured).corrected
    assert (found.value, found.refused) == (1.0, "")


def test_the_interval_of_a_new_suite_is_as_wide_as_its_own_cases_vary() -> None:
    """Few new cases say little, however many are labelled."""
    rng, tally = random.Random(8), Tally(0.7)
    for _ in range(400):
        new, old = (suite(rng, 0.7, (0.95, 0.9), cases) for cases in ((0, 6), (60, 0)))
        tally.add(rogan_gladen(new, old))
    assert tally.coverage >= 0.92


def test_a_rate_at_which_the_judge_made_no_mistake_is_not_known_exactly() -> None:
    new = new_cases([0.9, 0.8, 0.7, 0.6, 0.75, 0.85, 0.65, 0.95] * 50)
    lows = []
    for misses in (6, 12, 24, 60):
        found = rogan_gladen(new, right_on(60, misses))
        assert found is not None
        assert found.value == pytest.approx(0.775)
        lows.append(found.low)
    assert lows == sorted(lows), "a judge that calls misses hits makes scores too high"
    assert lows[0] < lows[-1] - 0.04


@pytest.mark.parametrize("trials", [2, 10, 100])
def test_further_trials_of_the_labelled_cases_do_not_show_that_a_judge_makes_no_mistake(trials: int) -> None:
    new = new_cases([0.9, 0.8, 0.7, 0.6, 0.75, 0.85, 0.65, 0.95] * 50)
    once, often = (rogan_gladen(new, right_on(24, 6, each)) for each in (1, trials))
    assert once is not None
    assert often is not None
    assert (often.low, often.value, often.high) == pytest.approx((once.low, once.value, once.high))


def repeated(cases: Sequence[CaseSums], trials: int) -> list[CaseSums]:
    made = []
    for case in cases:
        made.append(sums := CaseSums())
        for _ in range(trials):
            sums.add(case)
    return made


@pytest.mark.parametrize("method", [prediction_powered, rogan_gladen, with_accuracy_elsewhere])
def test_trials_that_are_all_alike_tell_no_more_than_one_of_them(method: Method) -> None:
    for seed in range(20):
        cases = suite(random.Random(seed), 0.7, (0.99, 0.98), (24, 80))
        once, often = method(cases), method(repeated(cases, 10))
        assert (once is None) is (often is None)
        if once is not None and often is not None:
            assert (often.low, often.high) == pytest.approx((once.low, once.high))


@pytest.mark.parametrize(("labelled", "misses", "specificity"), [(24, 0.25, 0.9), (24, 0.25, 0.8), (30, 0.2, 0.95)])
def test_low_bounds_are_seldom_above_the_truth_if_the_judge_errs_alike_in_all_trials(
    labelled: int, misses: float, specificity: float
) -> None:
    """Each case is hit or missed in all its trials; the labels are those of another suite, with more hits."""

    def cases(number: int, share: float, trials: int) -> list[CaseSums]:
        made = []
        for _ in range(number):
            truth = rng.random() >= share
            judged = rng.random() < (0.95 if truth else 1 - specificity)
            made.append(sums := CaseSums())
            for _ in range(trials):
                if trials > 1:
                    sums.add_labelled(1.0, truth=truth, judged=judged)
                else:
                    sums.add_other(1.0, judged)
        return made

    rng = random.Random(f"{labelled} {misses} {specificity}")
    found = [rogan_gladen(cases(300, 0.7, 1), cases(labelled, misses, 10)) for _ in range(SUITES)]
    given = [each for each in found if each is not None]
    assert len(given) > SUITES / 2
    assert sum(each.low > 0.3 for each in given) <= 0.025 * len(given)


@pytest.mark.parametrize(("hits", "misses", "few"), [(20, 4, "misses"), (3, 20, "hits")])
def test_hits_or_misses_in_few_cases_do_not_tell_how_the_judge_treats_them(hits: int, misses: int, few: str) -> None:
    records = [run(case, ["hit"] if case < hits else ["miss"]) for case in range(hits + misses)]
    labels = [said(case, "p0", "hit" if case < hits else "miss") for case in range(hits + misses)]
    _, found = corrected(records, labels)
    assert (found.labelled_hits, found.labelled_misses) == (hits, misses)
    assert (found.value, found.binary) == (pytest.approx(hits / (hits + misses)), None)
    assert found.binary_refused == (
        f"people found {few} in only {min(hits, misses)} cases; at least 5 are needed to tell how the judge "
        f"treats {few}"
    )
    measured = measure_judge(records, truths_of(labels), "runs/old")
    new = [run(case, ["hit"]) for case in range(100, 140)]
    assert summarize(new, measured=measured).corrected[0].refused == found.binary_refused


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


# --- runs in which the agent failed -------------------------------------------------------------------------------


def crashed(record: RunRecord) -> RunRecord:
    """The same run, at whose end the agent failed."""
    return replace(record, outcome=Outcome.TARGET_ERROR, low=0.0)


def gated(figures: Figures, floor: float) -> tuple[int, str]:
    return gate_on_corrected(figures, floor)


def test_a_crashed_run_counts_as_nothing_in_the_gate_on_corrected_scores() -> None:
    records = [run(case, ["hit", "hit"]) for case in range(60)]
    labels = [said(case, f"p{point}", "hit") for case in range(30) for point in (0, 1)]
    figures, before = corrected(records, labels)
    assert gated(figures, 0.8) == (EXIT_DONE, "")
    for which in (range(30, 60), range(30)):
        figures, after = corrected([crashed(each) if n in which else each for n, each in enumerate(records)], labels)
        if which.start:
            assert (after.raw, after.value, after.failed) == (0.5, 0.5, 30)
            assert after.low is not None
            assert after.low < 0.5
            code, words = gated(figures, 0.8)
            assert code == EXIT_BELOW
            assert words.endswith(", below 0.8 (the agent failed in 30 runs, which count as 0)")
        else:
            assert after.refused == "labels of 0 cases; a corrected score requires 20"
            assert gated(figures, 0.8)[0] == EXIT_NOT_SCORED
            assert (
                "60 labelled points of runs in which the agent failed: not used, because such a run counts as 0"
                in after.notes
            )
    assert before.failed == 0


@pytest.mark.parametrize("labels", [0, 19, 30])
def test_an_agent_that_always_crashed_is_below_the_gate_on_corrected_scores(labels: int) -> None:
    records = [crashed(run(case, ["hit", "hit"])) for case in range(40)]
    given = [said(case, "p0", "hit") for case in range(labels)]
    figures, found = corrected(records, given)
    assert (found.raw, found.value, found.low, found.failed, found.refused) == (0.0, 0.0, 0.0, 40, "")
    assert found.high is not None
    assert 0 < found.high < 0.2
    words = "(the agent failed in 40 runs, which count as 0)"
    assert gated(figures, 0.01) == (
        EXIT_BELOW,
        f"the corrected mean score (low end of its interval) is 0.0000, below 0.01 {words}",
    )
    (line, *_) = corrected_lines(figures, {})
    assert line.endswith(words)


def test_crashes_count_as_nothing_with_the_labels_of_another_journal_too() -> None:
    old = [run(case, ["hit", "hit", "miss"]) for case in range(30)]
    labels = [said(case, f"p{point}", "miss" if point == 2 else "hit") for case in range(30) for point in range(3)]
    measured = measure_judge(old, truths_of(labels), "runs/old")
    new = [run(case, ["hit", "hit", "miss"]) for case in range(100, 140)]
    for failed in (0, 20, 40):
        records = [crashed(each) if number < failed else each for number, each in enumerate(new)]
        figures = summarize(records, measured=measured)
        (found,) = figures.corrected
        assert found.raw == pytest.approx(0.5 * (40 - failed) / 40)
        assert found.value == pytest.approx(found.raw)
        assert (found.failed, found.runs) == (failed, 40)
        assert gated(figures, 0.3)[0] == (EXIT_DONE if not failed else EXIT_BELOW)


def test_labels_of_crashed_runs_do_not_measure_the_judge() -> None:
    old = [run(case, ["hit", "hit"]) for case in range(50)]
    old = [crashed(each) if number >= 25 else each for number, each in enumerate(old)]
    labels = [said(case, f"p{point}", "miss" if point else "hit") for case in range(50) for point in range(2)]
    measured = measure_judge(old, truths_of(labels), "runs/old")
    assert (len(measured.cases), measured.labels) == (25, 50)


def _with_crashes(rng: random.Random, cases: Sequence[CaseSums], share: float) -> list[CaseSums]:
    found = []
    for case in cases:
        found.append(kept := CaseSums())
        if rng.random() < share:
            kept.add_failed(1.0)
        else:
            kept.add(case)
    return found


@pytest.mark.parametrize("share", [0.05, 0.3])
@pytest.mark.parametrize("elsewhere", [None, False, True], ids=["PPI++", "Rogan-Gladen", "another suite"])
def test_with_crashes_the_intervals_hold_the_truth_as_often_and_there_is_hardly_any_bias(
    share: float, elsewhere: bool | None
) -> None:
    rng, tally = random.Random(f"{share} {elsewhere}"), Tally(0.7 * (1 - share))
    judge = (0.95, 0.9)
    for _ in range(SUITES):
        if elsewhere:
            new = _with_crashes(rng, suite(rng, 0.7, judge, (0, 160)), share)
            tally.add(rogan_gladen(new, suite(rng, 0.7, judge, (40, 0))))
        else:
            cases = _with_crashes(rng, suite(rng, 0.7, judge, (40, 160)), share)
            tally.add(prediction_powered(cases) if elsewhere is None else rogan_gladen(cases))
    assert 0.91 <= tally.coverage <= 0.99
    assert abs(tally.bias) <= 1.0
