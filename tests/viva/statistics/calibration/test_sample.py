"""What is labelled first: doubtful verdicts, those that a gate hangs on, and points of every case; always the same."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from viva.records.run_record import Outcome, RunRecord
from viva.records.verdict import Insight, Verdict, Vote
from viva.statistics.calibration.sample import Candidate, candidates, sample

FOLDER = Path("runs/x")


def _run(case: str, *verdicts: Verdict, number: int = 1) -> RunRecord:
    insight = Insight("scoring_points", case, "partial", 0.5, verdicts=verdicts)
    return RunRecord(f"{case}-{number}", case, "agent", Outcome.SCORED, 0.5, insights=(insight,))


def _verdict(name: str, label: str = "hit", **fields: object) -> Verdict:
    return Verdict("run", name, label, {"hit": 1.0, "miss": 0.0}.get(label), by="m", **fields)  # type: ignore[arg-type]


def _first(runs: list[RunRecord], most: int, threshold: float = 1.0) -> list[str]:
    return [each.verdict.criterion for each in sample(candidates(FOLDER, runs, threshold), most)]


def test_disagreeing_votes_and_open_verdicts_come_first() -> None:
    split = tuple(Vote("m", label) for label in ("hit", "miss", "hit"))
    agreed = tuple(Vote("m", "hit") for _ in range(3))
    runs = [
        _run("a", _verdict("sure", votes=agreed), _verdict("sure2"), _verdict("sure3", "miss"), _verdict("x", "miss")),
        _run("b", _verdict("split", votes=split), _verdict("sure4"), _verdict("y", "miss"), _verdict("y2", "miss")),
        _run("c", _verdict("open", "unsure"), _verdict("sure5"), _verdict("z", "miss"), _verdict("z2", "miss")),
    ]
    assert set(_first(runs, 2)) == {"split", "open"}


def test_a_verdict_that_decides_the_gate_comes_before_one_that_does_not() -> None:
    near = _run("near", _verdict("decides", "miss"), _verdict("hit"), _verdict("hit2"))
    far = _run("far", _verdict("one", "miss"), _verdict("two", "miss"), _verdict("three", "miss"))
    assert _first([far, near], 1) == ["decides"]
    assert _first([far, _run("half", _verdict("light", "miss", weight=1), _verdict("heavy", weight=9))], 1, 0.5) == [
        "heavy"
    ]


def test_a_sample_is_spread_over_cases_and_over_what_was_said() -> None:
    runs = [
        _run(f"case{case}", *(_verdict(f"{case}-{place}", "hit" if place else "miss") for place in range(6)))
        for case in range(5)
    ]
    chosen = sample(candidates(FOLDER, runs, 1.0), 10)
    cases = [each.case for each in chosen]
    assert all(cases.count(case) == 2 for case in set(cases))
    assert len({*cases}) == 5
    assert sum(each.verdict.label == "miss" for each in chosen) >= 3


def test_the_sample_does_not_depend_on_the_order_of_the_runs_and_keeps_each_run_together() -> None:
    runs = [_run(f"case{case}", *(_verdict(f"p{place}") for place in range(3))) for case in range(8)]
    shuffled = random.Random(3).sample(runs, len(runs))
    first, again = (sample(candidates(FOLDER, some, 1.0), 12) for some in (runs, shuffled))
    assert first == again
    assert _grouped(first)
    everything = sample(candidates(FOLDER, runs, 1.0), None)
    assert len(everything) == 24
    assert _grouped(everything)


def _grouped(chosen: list[Candidate]) -> bool:
    order = [each.run for each in chosen]
    return all(order.index(run) + order.count(run) == len(order) - order[::-1].index(run) for run in order)


def test_a_sample_has_no_points_that_nobody_judged() -> None:
    ruled = replace(_verdict("ruled", "miss"), by="rule", flags=("requirement-unmet",))
    old = replace(_verdict("old", "miss"), by="code", flags=("requirement-unmet",))
    runs = [_run("a", _verdict("judged"), ruled, old)]
    assert _first(runs, 3) == ["judged"]
    assert len(sample(candidates(FOLDER, runs, 1.0), None)) == 3, "whoever labels whole runs labels these, too"
