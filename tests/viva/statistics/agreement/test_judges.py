"""Judges on the labelled set in the box: perfect, constant, random and gullible ones get the figures they must."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from tests.model_server import Play
from tests.scripted_judges import ScriptedModel, always_no, always_yes, at_random, by_the_letter, gullible
from viva.judge.calibration.judging import TriedPoint, judge_set
from viva.judge.calibration.sets import LabelledSet, load_set
from viva.judge.calibration.store import BUILTIN
from viva.records.transcript import Usage
from viva.reports.console.judges import judges_report
from viva.statistics.agreement.chance import NO_BETTER
from viva.statistics.agreement.judges import JudgeFigures, judge_figures


@cache
def builtin() -> LabelledSet:
    return load_set(BUILTIN)


def count(label: str, *, hostile: bool | None = None) -> int:
    return sum(
        each.label == label and hostile in (None, item.hostile) for item in builtin().items for each in item.points
    )


async def figures_of(play: Play) -> JudgeFigures:
    return judge_figures("scripted", await judge_set(builtin(), ScriptedModel(play)))


async def test_a_perfect_judge_is_right_everywhere() -> None:
    found = await figures_of(by_the_letter(builtin()))
    assert (found.whole.accuracy, found.whole.agreement.kappa) == (1.0, 1.0)
    assert found.whole.agreement.kappa_interval is not None
    assert found.whole.agreement.kappa_interval.low > 0.95
    assert found.beats_chance
    assert [(each.label, each.precision, each.recall) for each in found.accuracy.labels] == [
        ("hit", 1.0, 1.0),
        ("miss", 1.0, 1.0),
        ("unsure", 1.0, 1.0),
    ]
    assert found.hostile is not None
    assert (found.hostile.undue, found.hostile.withheld, found.worst, found.errors) == (0.0, 0.0, (), 0)
    assert {part.accuracy for part in (*found.by_kind, *found.by_length)} == {1.0}


async def test_a_judge_that_always_says_yes_is_no_better_than_chance() -> None:
    found = await figures_of(always_yes)
    assert found.whole.accuracy == count("hit") / builtin().size
    assert found.whole.agreement.kappa == pytest.approx(0.0, abs=1e-12)
    assert (found.beats_chance, found.chance) == (False, NO_BETTER)
    assert found.hostile is not None
    assert found.honest is not None
    assert (found.hostile.undue, found.hostile.withheld) == (1.0, 0.0)
    assert (found.honest.undue, found.honest.withheld) == (1.0, 0.0)
    assert {each.label: each.recall for each in found.accuracy.labels} == {"hit": 1.0, "miss": 0.0, "unsure": 0.0}
    assert found.confusion["miss"]["hit"] == count("miss")


async def test_a_judge_that_always_says_no_is_no_better_than_chance() -> None:
    found = await figures_of(always_no)
    assert found.whole.accuracy == count("miss") / builtin().size
    assert found.whole.agreement.kappa == pytest.approx(0.0, abs=1e-12)
    assert (found.beats_chance, found.chance) == (False, NO_BETTER)
    assert found.hostile is not None
    assert (found.hostile.undue, found.hostile.withheld) == (0.0, 1.0)


async def test_a_judge_that_throws_a_coin_is_no_better_than_chance() -> None:
    found = await figures_of(at_random(7))
    assert found.whole.agreement.kappa == pytest.approx(0.0, abs=0.1)
    assert 0.35 < found.whole.accuracy < 0.6
    assert (found.beats_chance, found.chance) == (False, NO_BETTER)


async def test_a_judge_that_believes_agents_is_found_out_by_the_hostile_ones() -> None:
    found = await figures_of(gullible(builtin()))
    assert found.hostile is not None
    assert found.honest is not None
    assert found.honest.accuracy > 0.98
    assert found.hostile.undue > 0.5
    assert found.beats_chance, "on the whole set it looks good"
    assert found.worst[0].hostile


def judged(item: str, truth: str, said: str, **fields: object) -> TriedPoint:
    return TriedPoint(item, f"{item}-{truth}-{said}", truth, said, **fields)  # type: ignore[arg-type]


def test_undeserved_hits_come_first_among_disagreements_and_the_heaviest_of_them() -> None:
    points = [
        judged("a", "hit", "hit"),
        judged("b", "hit", "error"),
        judged("c", "hit", "unsure"),
        judged("d", "hit", "miss"),
        judged("e", "unsure", "hit"),
        judged("f", "miss", "hit", weight=1.0),
        judged("g", "miss", "hit", weight=3.0),
    ]
    found = judge_figures("m", points)
    assert [each.item for each in found.worst] == ["g", "f", "e", "d", "c", "b"]
    assert found.errors == 1
    assert [each.label for each in found.accuracy.labels] == ["hit", "miss", "unsure"]
    assert found.accuracy.items == 7, "an error counts as wrong"
    console = Console(width=120)
    with console.capture() as shown:
        console.print(judges_report(LabelledSet("s", ()), [found]))
    said = " ".join(shown.get().split())
    assert "without a verdict: b: the judge gave no verdict, hit is right" in said
    assert "the worst disagreements: g: the judge says hit, miss is right" in said


def test_weights_count_in_what_was_gained_and_withheld() -> None:
    points = [
        judged("a", "miss", "hit", weight=3.0, hostile=True),
        judged("a", "unsure", "miss", weight=1.0, hostile=True),
        judged("b", "hit", "miss", weight=1.0, hostile=True),
        judged("b", "hit", "hit", weight=4.0, hostile=True),
    ]
    found = judge_figures("m", points)
    assert found.hostile is not None
    assert found.honest is None
    assert (found.hostile.undue, found.hostile.withheld) == (0.75, 0.2)


def test_kinds_come_worst_first_and_lengths_in_order() -> None:
    points = [
        judged("a", "hit", "hit", kind="easy", length=10),
        judged("b", "hit", "miss", kind="hard", length=9_000),
        judged("c", "miss", "miss", kind="hard", length=2_000),
    ]
    found = judge_figures("m", points)
    assert [(part.name, part.accuracy) for part in found.by_kind] == [("hard", 0.5), ("easy", 1.0)]
    assert [part.name for part in found.by_length] == [
        "under 1,000 characters",
        "1,000 to 4,999 characters",
        "5,000 characters or more",
    ]


def test_what_was_kept_from_earlier_is_not_paid_again() -> None:
    points = [
        judged("a", "hit", "hit", usage=Usage(100, 10, calls=1, cost=0.5), kept=True),
        judged("b", "hit", "miss", usage=Usage(200, 20, calls=2, cost=0.25)),
    ]
    found = judge_figures("m", points)
    assert (found.usage.cost, found.paid.cost, found.paid.calls) == (0.75, 0.25, 2)


def test_the_wheel_holds_the_set() -> None:
    """Its folder is inside the package, without a rule of its own, and has nothing but data."""
    folder = Path(builtin().items[0].case.file).parent
    assert folder.parts[-3:] == ("judge", "calibration", "builtin")
    assert {file.suffix for file in folder.iterdir()} == {".yaml"}
