"""What a comparison of two judgings promises: each flip is told, drift is found, and noise is not taken for it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bench.flips import compared
from tests.viva.conftest import Desk
from viva.cli.commands.compare import command
from viva.errors import SetupError
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.verdict import Insight, Label, Verdict, Vote
from viva.reports.reliability.drift_words import drift_lines
from viva.statistics.flips.drift import drift_between
from viva.statistics.flips.exact_tests import binomial_tail, direction_test, fisher_tail
from viva.statistics.flips.points import Judgings
from viva.statistics.intervals import mcnemar
from viva.suites.judging_gates.flips import gate_on_flips, joined_gates, parse_most_flips

REPEATS = 40


def verdict(run: str, number: int, label: str, votes: Sequence[str] = (), by: str = "m") -> Verdict:
    voted = tuple(Vote("m", each) for each in votes)
    return Verdict(run, f"p{number}", label, None, by=by, votes=voted)


def run(
    case: str, labels: Sequence[str], trial: int = 1, *, setting: Setting | None = None, by: str = "m"
) -> RunRecord:
    name = f"{case}-{trial}"
    verdicts = tuple(verdict(name, number, label, by=by) for number, label in enumerate(labels))
    score = labels.count("hit") / len(labels)
    return RunRecord(
        name,
        case,
        "a",
        Outcome.SCORED,
        score,
        low=score,
        high=score,
        trial=trial,
        insights=(Insight("scoring_points", name, "partial", score, verdicts=verdicts),),
        timing=Timing(agent_seconds=1.0),
        setting=setting or Setting(evaluators=("scoring_points",), judge="model", judge_model="m"),
    )


def judging(*records: RunRecord) -> Judgings:
    return Judgings(records)


def test_five_percent_of_1000_verdicts_are_found_and_noise_is_no_drift() -> None:
    for noise in (0.0, 0.01):
        found = [
            compared(seed, noise, kind).drifted for seed in range(REPEATS // 2) for kind in ("at random", "of hits")
        ]
        alarms = [compared(seed, noise, None).drifted for seed in range(REPEATS)]
        assert sum(found) >= 0.8 * len(found), noise
        assert sum(alarms) <= 0.1 * len(alarms), f"{noise}; `python -m bench flips` repeats it often enough for 0.05"


def test_a_judge_that_became_a_little_stricter_is_found_by_the_direction() -> None:
    before = ["hit"] * 60 + ["miss"] * 40
    after = ["miss"] * 7 + before[7:]
    drift = drift_between(*(judging(*(run(f"c{n}", labels) for n in range(5))) for labels in (before, before)))
    assert (drift.flips, drift.drifted) == ((), False)
    few = drift_between(judging(*_split(before * 10)), judging(*_split(before * 9 + after)))
    assert (few.worse, few.better) == (7, 0)
    assert few.noise_p > 0.025, "7 of 1,000 are fewer than noise explains"
    assert few.direction_p == pytest.approx(2 * 0.6**7)
    many = drift_between(judging(*_split(before * 10)), judging(*_split(before * 8 + after * 2)))
    assert many.drifted, "but 14 in one direction are not"


def _split(labels: Sequence[str]) -> list[RunRecord]:
    return [run(f"c{start}", labels[start : start + 5]) for start in range(0, len(labels), 5)]


def test_each_flip_names_run_point_and_both_verdicts() -> None:
    old = judging(run("sums", ["hit", "hit", "miss"]), run("dates", ["hit"]))
    new = judging(run("sums", ["hit", "miss", "unsure"]), run("dates", ["hit"]))
    drift = drift_between(old, new)
    assert (drift.points, drift.worse, drift.better) == (4, 1, 1)
    told = "\n".join(drift_lines(drift))
    assert "2 of 4 verdicts flipped (50.0%): 1 hit -> miss, 1 miss -> unsure" in told
    assert "  sums-1 p1: hit -> miss" in told
    assert "  sums-1 p2: miss -> unsure" in told


def test_a_lost_verdict_is_no_flip_but_the_gate_counts_it() -> None:
    drift = drift_between(judging(run("sums", ["hit", "hit"])), judging(run("sums", ["error", "hit"])))
    assert (drift.points, drift.lost, drift.flips) == (1, 1, ())
    assert gate_on_flips(drift, parse_most_flips("0"))[0] == 3
    assert gate_on_flips(drift, parse_most_flips("1"))[0] == 0


def test_other_conversations_of_the_same_case_are_not_compared() -> None:
    new = replace(run("sums", ["miss"]), timing=Timing(agent_seconds=2.0))
    drift = drift_between(judging(run("sums", ["hit"])), judging(new))
    assert (drift.runs, drift.others, drift.points) == (0, 1, 0)
    assert gate_on_flips(drift, parse_most_flips("5%"))[0] == 3
    assert "not the same" in next(iter(drift_lines(drift)))


def test_votes_of_one_judge_tell_its_noise() -> None:
    def side(label: str, votes: Sequence[str]) -> Judgings:
        records = []
        for number in range(100):
            changed = number < 6
            name = f"c{number}-1"
            one = Verdict(name, "p", label if changed else "hit", None, by="m", votes=_votes(votes if changed else ()))
            insight = Insight("scoring_points", name, "x", 1.0, verdicts=(one,))
            records.append(RunRecord(name, f"c{number}", "a", Outcome.SCORED, 1.0, insights=(insight,)))
        return Judgings(records)

    unknown = drift_between(side("hit", ()), side("miss", ()))
    noisy = drift_between(side("hit", ("hit", "miss", "hit")), side("miss", ("miss", "hit", "miss")))
    assert unknown.noise_p < 0.001
    assert (noisy.repeats, noisy.repeats_flipped) == (12, 12)
    assert noisy.noise_p == pytest.approx(1), "a judge that disagrees with itself so often proves nothing by six flips"


def _votes(labels: Sequence[str]) -> tuple[Vote, ...]:
    return tuple(Vote("m", label) for label in labels)


def test_checks_by_code_do_not_hide_the_flips_of_a_model() -> None:
    steady = [run(f"k{number}", ["hit"] * 10, by="code") for number in range(100)]
    old = judging(*steady, *_split(["hit"] * 60))
    new = judging(*steady, *_split(["hit"] * 55 + ["miss"] * 5))
    drift = drift_between(old, new)
    assert (drift.points, drift.tested, drift.flipped) == (1060, 60, 5)
    assert drift.drifted


@pytest.mark.parametrize(("by", "flags"), [("rule", ()), ("code", ("requirement-unmet",)), ("code", ("no-reply",))])
def test_what_a_rule_decided_is_neither_a_flip_of_the_model_nor_of_the_code(by: str, flags: tuple[str, ...]) -> None:
    def judged(label: str, ruled: str, **fields: object) -> RunRecord:
        record = run("a", [label])
        (insight,) = record.insights
        after = replace(verdict(record.id, 9, ruled), **fields)  # type: ignore[arg-type]
        return replace(record, insights=(replace(insight, verdicts=(*insight.verdicts, after)),))

    old, new = judging(judged("hit", "hit")), judging(judged("miss", "miss", by=by, flags=flags))
    for drift in (drift_between(old, new), drift_between(new, old)):
        assert (drift.points, drift.tested, drift.flipped, drift.ruled, len(drift.flips)) == (2, 1, 1, 1, 2)
        told = "\n".join(drift_lines(drift))
        assert "hit -> miss (by a rule, not tested)" in told or "miss -> hit (by a rule, not tested)" in told
        assert "(1 of 1 that were judged)" in told


@pytest.mark.parametrize(("text", "limit"), [("3", 3), ("0", 0), ("5%", 10), ("0.05", 10), ("1", 1), ("1.0", 200)])
def test_a_limit_is_a_number_or_a_share(text: str, limit: int) -> None:
    assert parse_most_flips(text).limit(200) == limit


def test_a_direction_is_not_tested_where_flips_could_have_one_only() -> None:
    hits, misses = judging(*_split(["hit"] * 20)), judging(*_split(["miss"] * 20))
    for before, after, every in ((hits, misses, "hits"), (misses, hits, "misses")):
        drift = drift_between(before, after)
        told = "\n".join(drift_lines(drift))
        assert drift.all_before == {"hits": "hit", "misses": "miss"}[every]
        assert f"cannot be tested, because all verdicts were {every}" in told
        assert "number of flips against 1% expected by chance: p = " in told
        assert told.count("p = ") == gate_on_flips(drift, parse_most_flips("chance"))[1].count("p = ") == 1
    mixed = drift_between(judging(run("sums", ["hit", "miss"])), judging(run("sums", ["miss", "miss"])))
    assert "direction of flips (0 better, 1 worse): p = 1" in "\n".join(drift_lines(mixed))


@pytest.mark.parametrize("text", ["-1", "2.5", "101%", "many", "", "nan", "1e999"])
def test_a_limit_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SetupError, match="--max-flips"):
        parse_most_flips(text)


def test_a_limit_that_is_exceeded_says_more_than_a_missing_run() -> None:
    assert joined_gates((3, "a"), (1, "b")) == (1, "a; b")
    assert joined_gates((0, ""), (3, "b")) == (3, "b")
    assert joined_gates((0, ""), (0, "")) == (0, "")


@given(st.integers(0, 30), st.integers(1, 30), st.floats(0, 1))
def test_the_binomial_tail_is_the_sum_of_its_terms(count: int, trials: int, p: float) -> None:
    terms = (math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(count, trials + 1))
    assert binomial_tail(count, trials, p) == pytest.approx(math.fsum(terms), rel=1e-9, abs=1e-12)


def test_the_tails_are_those_of_another_library() -> None:
    from scipy import stats  # when it is used: not by each process that collects tests

    for count, trials, others, size in ((5, 100, 1, 80), (0, 10, 3, 10), (17, 1000, 4, 900), (3, 3, 0, 7)):
        assert binomial_tail(count, trials, 0.01) == pytest.approx(stats.binom.sf(count - 1, trials, 0.01), rel=1e-9)
        table = [[count, trials - count], [others, size - others]]
        assert fisher_tail(count, trials, others, size) == pytest.approx(
            stats.fisher_exact(table, alternative="greater").pvalue, rel=1e-9
        )


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_direction_is_mcnemars_where_hits_and_misses_are_as_many(better: int, worse: int) -> None:
    assert direction_test(better, worse, 0.5) == pytest.approx(mcnemar(better, worse))
    assert direction_test(better, worse, 0.8) >= direction_test(better, worse, 0.5) - 1e-12


def test_noise_that_befalls_every_verdict_alike_has_no_direction() -> None:
    assert direction_test(2, 8, 0.8) > 0.5
    assert direction_test(0, 8, 0.3) < 0.01


def write(folder: Path, records: Sequence[RunRecord]) -> str:
    with Journal(folder) as journal:
        for record in records:
            journal.append("run", record.id, 1, record)
    return str(folder)


def test_compare_tells_which_points_flipped_in_which_trials(tmp_path: Path) -> None:
    a = write(tmp_path / "a", [run("sums", ["hit", "hit"], trial) for trial in (1, 2, 3)])
    b = write(tmp_path / "b", [run("sums", ["miss" if trial == 1 else "hit", "hit"], trial) for trial in (1, 2, 3)])
    told = CliRunner().invoke(command, [a, b]).output
    assert "1 point flipped: 1 hit lost and 0 gained in trials that both have" in told
    assert "sums p0: hit hit hit -> miss hit hit" in told
    plain = json.loads(CliRunner().invoke(command, [a, b, "--json"]).output)
    (flips,) = plain["comparisons"][0]["flips"]
    assert flips == {"case": "sums", "criterion": "p0", "before": ["hit"] * 3, "after": ["miss", "hit", "hit"]}


def test_a_point_without_an_id_of_its_own_is_named_by_what_it_says(tmp_path: Path) -> None:
    def said(label: str, identity: str) -> RunRecord:
        record = run("sums", [label])
        point = replace(record.insights[0].verdicts[0], criterion=identity, statement="The answer\nis 1275.")
        return replace(record, insights=(replace(record.insights[0], verdicts=(point,)),))

    for identity, name in (
        ("p-5e0b3a51", '"The answer is 1275."'),
        ("p-5e0b3a51-2", '"The answer'),
        ("total", "total"),
    ):
        a, b = (write(tmp_path / identity / label, [said(label, identity)]) for label in ("hit", "miss"))
        assert f"  sums {name}" in CliRunner().invoke(command, [a, b]).output
        (flips,) = json.loads(CliRunner().invoke(command, [a, b, "--json"]).output)["comparisons"][0]["flips"]
        assert (flips["criterion"], flips["statement"]) == (identity, "The answer\nis 1275.")
        drift = drift_between(judging(said("hit", identity)), judging(said("miss", identity)))
        assert any(line.startswith(f"  sums-1 {name}") for line in drift_lines(drift))


def test_compare_is_silent_where_nothing_flipped(tmp_path: Path) -> None:
    a, b = (write(tmp_path / name, [run("sums", ["hit", "miss"])]) for name in "ab")
    plain = json.loads(CliRunner().invoke(command, [a, b, "--json"]).output)
    assert "flips" not in plain["comparisons"][0]
    assert "flipped" not in CliRunner().invoke(command, [a, b]).output


def test_compare_pairs_only_trials_that_both_have(tmp_path: Path) -> None:
    a = write(tmp_path / "a", [run("sums", ["hit"], trial) for trial in (1, 2)])
    b = write(tmp_path / "b", [run("sums", ["miss"], trial) for trial in (2, 3)])
    assert "sums p0: hit -> miss" in CliRunner().invoke(command, [a, b]).output


def test_compare_warns_where_both_sides_were_judged_differently(tmp_path: Path) -> None:
    prompts = [{"judge": digest, "scoring_point": "same", "examiner": digest} for digest in ("aaa", "bbb")]
    sides = [Setting(evaluators=("scoring_points",), judge="model", judge_model="m", prompts=each) for each in prompts]
    a, b = (write(tmp_path / each.prompts["judge"], [run("sums", ["hit"], setting=each)]) for each in sides)
    told = " ".join(CliRunner().invoke(command, [a, b]).output.split())
    assert "note: the judge's prompt judge differs: aaa against bbb" in told
    assert "scoring_point differs" not in told
    assert "examiner differs" not in told


def test_judging_again_tells_the_flips_since_an_earlier_judging_and_can_fail(desk: Desk) -> None:
    record = desk.run("same_number_in_two_files")
    once = ("--sandbox", "process", "--baseline-judging", "journal")
    same = desk.viva("judge", "journal", "--out", "same", *once, "--max-flips", "0", expect=0)
    assert "0 of 1 verdict flipped (0.0%)" in same.stdout
    (desk.folder / "journal" / record["setting"]["workspace"] / "b.txt").write_text("-1")
    told = desk.viva("judge", "journal", "--out", "again", *once, "--max-flips", "0", expect=1)
    assert "1 of 1 verdict flipped (100.0%): 1 hit -> miss" in told.stdout
    assert "1 of 1 verdict flipped, more than 0" in told.stderr
    share = desk.viva("judge", "journal", "--out", "share", *once, "--max-flips", "2%", expect=1)
    assert "1 of 1 verdict flipped, more than 2% (0 of 1)" in share.stderr
    plain = json.loads(desk.viva("judge", "journal", "--out", "third", *once, "--json", expect=0).stdout)
    (flip,) = plain["drift"]["flips"]
    assert (flip["before"], flip["after"], flip["by_model"]) == (Label.HIT, Label.MISS, False)
    assert "drift" not in json.loads(desk.viva("judge", "journal", "--out", "no", *once[:2], "--json", expect=0).stdout)


def test_a_limit_without_a_baseline_or_without_a_journal_is_refused_before_anything_is_judged(desk: Desk) -> None:
    desk.run("sum_1_to_50")
    desk.viva("judge", "journal", "--max-flips", "3", "--out", "x", expect=2)
    desk.viva("judge", "journal", "--baseline-judging", "nowhere", "--out", "x", expect=2)
    assert not (desk.folder / "x").exists()


def test_a_baseline_with_other_conversations_is_refused_before_anything_is_judged(desk: Desk) -> None:
    desk.run("sum_1_to_50")
    desk.run("sum_1_to_50", out="second")
    refused = desk.viva("judge", "journal", "--baseline-judging", "second", "--out", "x", expect=2)
    assert "share no conversation" in refused.stderr
    assert not (desk.folder / "x").exists()
    desk.viva("judge", "second", "--sandbox", "process", "--baseline-judging", "second", "--out", "y", expect=0)
    resumed = desk.viva("judge", "--resume", "y", "--baseline-judging", "journal", expect=2)
    assert "second and journal share no conversation" in resumed.stderr
