"""Misses are counted once for each run, and what is held of them is bounded, whatever a journal says."""

from __future__ import annotations

import dataclasses

import pytest

from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.verdict import Evidence, Insight, Verdict
from viva.statistics.causes import tally as module
from viva.statistics.causes.cause import MOST_AGENTS, MOST_REASONS, WORDS, has_cause
from viva.statistics.causes.tally import CauseTally
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
    assert [has_cause(record, group) for record in records] == [True] * 5 + [False]


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


def distinct(number: int) -> str:
    """Return words that no other number has."""
    name = "".join("bcfgjkmpqv"[int(digit)] for digit in str(number))
    return f"zq{name}o wk{name}o vj{name}o"


def test_what_is_held_is_bounded_counts_go_on_and_what_is_left_out_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TEMPLATES", 200)
    tally = CauseTally()
    for number in range(250):
        tally.add(run(number, miss("", distinct(number))))
    for number in range(100):
        tally.add(run(number, miss(str(number % 9) * number + "-" * number, distinct(1)), agent=f"a{number}"))
    tally.add(run(999, miss("- " * 2_500_000, distinct(2))))
    found = tally.grouping(10)
    assert (found.count, found.left_out) == (200, 50)
    first = found.causes[0]
    assert (first.words, first.runs, first.reasons) == (distinct(1), 101, MOST_REASONS)
    assert len(first.agents) == MOST_AGENTS
    assert all(len(group.reason) <= WORDS for group in found.causes)
    figures = summarize([run(n, miss(statement=distinct(n))) for n in range(150)])
    assert (len(figures.misses), figures.misses_all, figures.misses_left_out) == (100, 150, 0)


def test_statements_of_values_alone_are_told_apart() -> None:
    assert summarize([run(n, miss(statement=f"s{n}")) for n in range(20)]).misses_all == 20


def test_what_is_open_is_no_miss_of_the_same_cause() -> None:
    reason = "No file was written to the workspace."
    records = [run(1, miss(reason)), run(2, miss(reason, score=None, label="unsure"))]
    first, second = summarize(records).misses
    assert {first.label, second.label} == {"miss", "unsure"}
    assert first.id != second.id
