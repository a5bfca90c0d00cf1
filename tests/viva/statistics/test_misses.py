"""Misses are counted once for each run, and what is held of them is bounded, whatever a journal says."""

from __future__ import annotations

import dataclasses

from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.verdict import Evidence, Insight, Verdict
from viva.statistics import misses as module
from viva.statistics.misses import MissGroups, has_miss
from viva.statistics.summary import summarize


def run(number: int, *verdicts: Verdict, case: str = "c", agent: str = "a", **more: object) -> RunRecord:
    scores = [verdict.score or 0.0 for verdict in verdicts]
    score = sum(scores) / len(scores) if scores else 1.0
    insight = Insight("points", f"r{number}", "scored", score, low=score, high=score, verdicts=verdicts)
    record = RunRecord(f"r{number}", case, agent, Outcome.SCORED, score, low=score, high=score, insights=(insight,))
    return dataclasses.replace(record, **more)  # type: ignore[arg-type]


def miss(reason: str = "No.", statement: str = "It asks.", score: float | None = 0.0, label: str = "miss") -> Verdict:
    return Verdict("r", "p", label, score, reason=reason, statement=statement, evidence=(Evidence("r1", "It  said."),))


def test_a_miss_has_its_commonest_reason_its_runs_cases_and_agents() -> None:
    records = [run(n, miss(f"got {n}"), agent="ab"[n % 2], case=f"c{n % 3}") for n in range(5)]
    records += [run(9, miss("other"), agent="b")]
    (group,) = summarize(records).misses
    assert (group.words, group.label, group.reason, group.quotes) == ("It asks.", "miss", "got 0", ("It··said.",))
    assert (group.runs, group.reason_runs, group.reasons, group.run, group.case) == (6, 5, 2, "r0", "c0")
    assert (group.cases, group.agents) == (4, {"a": 3, "b": 3})
    assert [has_miss(record, group) for record in records] == [True] * 5 + [False]


def test_a_run_that_misses_a_criterion_many_times_counts_once() -> None:
    (group,) = summarize([run(1, *(miss("No.", "tool") for _ in range(40)))]).misses
    assert group.runs == 1


def test_only_misses_of_the_same_runs_are_one() -> None:
    this, that = (Verdict("r", name, "miss", 0.0, reason="No.", statement=f"It {name}.") for name in ("this", "that"))
    (group,) = summarize([run(1, this, that), run(2, this, that)]).misses
    assert (group.words, group.also, group.runs) == ("It this.", ("It that.",), 2)
    # As many runs of the same case and agent, but not the same ones.
    first, second = summarize([run(1, this, that), run(2, this), run(3, that)]).misses
    assert (first.words, first.also, first.runs) == ("It this.", (), 2)
    assert (second.words, second.also, second.runs) == ("It that.", (), 2)


def test_what_is_no_miss_is_left_out() -> None:
    hit, skipped = miss(score=1.0, label="hit"), miss(score=None, label="skipped")
    excluded = run(2, miss(), outcome=Outcome.JUDGE_ERROR)
    failed = run(3, miss(), outcome=Outcome.TARGET_ERROR, error="it hung")
    assert summarize([run(1, hit, skipped), excluded, failed]).misses == ()


def test_an_evaluator_without_verdicts_misses_as_a_whole() -> None:
    insight = Insight("grade", "r1", "poor", 0.4, summary="Too  short.")
    record = RunRecord("r1", "c", "a", Outcome.SCORED, 0.4, insights=(insight,), setting=Setting(evaluators=("grade",)))
    (group,) = summarize([record]).misses
    assert (group.words, group.label, group.reason) == ("grade", "poor", "Too··short.")


def test_what_is_held_is_bounded_and_counts_go_on() -> None:
    groups = MissGroups()
    for number in range(module.MOST_KINDS + 50):
        groups.add(run(number, miss("x" * 5_000_000, f"statement {number}")))
    assert groups.kinds == module.MOST_KINDS
    for number in range(100):
        groups.add(run(number, miss(f"{'ab' * number}", "statement 1"), agent=f"a{number}"))
    first = next(groups.commonest(1))
    assert (first.words, first.runs, first.reasons) == ("statement 1", 101, module.MOST_REASONS)
    assert len(first.agents) == module.MOST_AGENTS
    assert all(len(group.reason) <= module.WORDS for group in groups.commonest(10))
    assert len(summarize([run(n, miss(statement=f"s{n}")) for n in range(150)]).misses) == 100
    assert summarize([run(n, miss(statement=f"s{n}")) for n in range(150)]).misses_all == 150
