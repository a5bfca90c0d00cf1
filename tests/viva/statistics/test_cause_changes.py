"""What fails more or less often on one side than on the other: causes are those of both sides together."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from tests.viva.statistics.planted_causes import CAUSES, failed, filled
from viva.cli.group import viva
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, RunRecord
from viva.statistics.causes.changes import CauseChange, CauseChanges

FIRST = {"wrong arithmetic": 30, "policy refund": 10, "format": 20}
SECOND = {"wrong arithmetic": 30, "policy refund": 25, "privacy": 20}
RUNS = 100
"""Runs that count on each side; those without a cause passed."""


def records(
    chance: random.Random, causes: dict[str, int], wording: Callable[[str], str], agent: str
) -> list[RunRecord]:
    found = [
        replace(failed(number, chance, filled(chance, wording(cause))), agent=agent)
        for number, cause in enumerate(each for name, count in causes.items() for each in [name] * count)
    ]
    passed = RunRecord("", "case", agent, Outcome.SCORED, 1.0, low=1.0, high=1.0)
    return found + [replace(passed, id=f"passed-{number}") for number in range(RUNS - len(found))]


def changes(seed: int = 1) -> list[CauseChange]:
    chance = random.Random(seed)
    collected = CauseChanges()
    # Each side has wordings of its own, as after a change of the judge: the commonest wording differs.
    for journal, (causes, which) in enumerate(((FIRST, slice(0, 3)), (SECOND, slice(1, 4)))):
        made = records(chance, causes, lambda cause, which=which: chance.choice(CAUSES[cause][which]), "careful")
        assert list(collected.watched(made, journal)) == made
    return list(collected.between((0, "careful"), (1, "careful")))


def test_causes_are_found_on_both_sides_whatever_their_commonest_wording() -> None:
    found = {(each.first, each.second): each.kind for each in changes()}
    assert found == {(30, 30): "same", (10, 25): "more", (20, 0): "gone", (0, 20): "new"}
    assert {(each.first_runs, each.second_runs) for each in changes()} == {(RUNS, RUNS)}


def test_those_that_differ_most_come_first() -> None:
    assert [abs(each.second - each.first) for each in changes()] == [20, 20, 15, 0]


def test_runs_that_ended_with_an_error_and_other_agents_are_on_no_side() -> None:
    chance = random.Random(2)
    collected = CauseChanges()
    run = failed(1, chance, "The total is wrong.")
    for record in (
        replace(run, agent="mine"),
        replace(run, agent="mine", error="it died"),
        replace(run, agent="other"),
    ):
        list(collected.watched([record], 0))
    (change,) = collected.between((0, "mine"), (1, "mine"))
    assert (change.first, change.first_runs, change.second, change.second_runs) == (1, 1, 0, 0)
    assert (change.kind, change.second_share) == ("gone", 0.0)


def test_the_command_shows_them(tmp_path: Path) -> None:
    chance = random.Random(3)
    for name, causes in (("a", FIRST), ("b", SECOND)):
        with Journal(tmp_path / name) as journal:
            for record in records(chance, causes, lambda cause: CAUSES[cause][0], "careful"):
                journal.append("run", record.id, 1, replace(record, subject="case"))
            journal.sync()
    compare = ["compare", str(tmp_path / "a"), str(tmp_path / "b")]
    shown = CliRunner().invoke(viva, compare)
    assert shown.exit_code == 0, shown.stderr
    words = " ".join(shown.stdout.split())
    assert "what fails" in words
    for change in (
        "│ new │ 0 of 100 │ 20 of 100 │",
        "│ gone │ 20 of 100 │ 0 of 100 │",
        "│ more │ 10 of 100 │ 25 of 100 │",
    ):
        assert change in words
    plain = json.loads(CliRunner().invoke(viva, [*compare, "--json"]).stdout)["comparisons"][0]["causes"]
    assert sorted((each["a"], each["b"], each["kind"]) for each in plain) == [
        *((0, 20, "new"), (10, 25, "more"), (20, 0, "gone"), (30, 30, "same")),
    ]
    assert {each["a_runs"] for each in plain} == {RUNS}
