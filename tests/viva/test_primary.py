"""The first evaluator named decides score, points and outcome; the others, in whatever order, decide nothing.

All through the real command, with evaluators named by import string.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.viva.conftest import Desk

EVALUATORS = """
from viva.records.transcript import Usage
from viva.records.verdict import Evidence, Insight, Verdict


class Likes:
    name = "likes"
    needs = ()

    async def evaluate(self, transcript, context):
        return Insight(self.name, context.subject, "liked", 0.25, usage=Usage(100, 10, calls=1, cost=0.01))


class Fails:
    name = "fails"

    async def evaluate(self, transcript, context):
        raise RuntimeError("out of order")


class Errs:
    name = "errs"

    async def evaluate(self, transcript, context):
        verdict = Verdict(context.subject, self.name, "error", None, reason="no idea", fault="infra", by="code")
        return Insight(self.name, context.subject, "error", None, verdicts=(verdict,))


class Fairness:
    name = "fairness"

    async def evaluate(self, transcript, context):
        verdict = Verdict(
            context.subject, self.name, "unfair", 0.0, reason="the examiner gave the answer away", fault="examiner",
            evidence=(Evidence("r1", transcript.rounds[0].examiner),),
        )
        usage = Usage(50, 5, calls=1, cost=0.005)
        return Insight(self.name, context.subject, "unfair", 0.0, verdicts=(verdict,), usage=usage)


class Fair:
    name = "fairness"

    async def evaluate(self, transcript, context):
        verdict = Verdict(context.subject, self.name, "fair", 1.0)
        return Insight(self.name, context.subject, "fair", 1.0, verdicts=(verdict,))


class Steps:
    name = "steps"

    async def evaluate(self, transcript, context):
        return tuple(
            Insight(self.name, f"r{number}", "good", number / 2, usage=Usage(1, 1, calls=1, cost=0.001))
            for number in (1, 2)
        )
"""


@pytest.fixture
def paper(desk: Desk) -> Desk:
    """A desk with a case that the agent passes, and the evaluators."""
    desk.case()
    (desk.folder / "own.py").write_text(EVALUATORS)
    return desk


def judged(desk: Desk, *names: str, out: str = "journal", expect: int = 0) -> dict[str, Any]:
    specs = [name if name in ("scoring_points", "reward") else f"own.py:{name}" for name in names]
    return desk.run("exam", "--evaluators", ",".join(specs), out=out, expect=expect)


def decided(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("outcome", "score", "low", "high", "points", "max_points", "error"))


@pytest.mark.parametrize("other", ["Fails", "Errs"])
def test_an_all_hit_run_stays_scored_in_full_beside_an_evaluator_that_fails(paper: Desk, other: str) -> None:
    record = judged(paper, "scoring_points", other)
    assert decided(record) == ("scored", 1.0, 1.0, 1.0, 1.0, 1.0, None)
    assert [insight["label"] for insight in record["insights"]] == ["hit", "error"]
    assert record["setting"]["evaluators"] == ["scoring_points", other.lower()]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_unfair_exam_is_the_examiners_error_wherever_the_evaluator_stands(paper: Desk, place: int) -> None:
    names = ["scoring_points", "Likes"]
    names.insert(place, "Fairness")
    record = judged(paper, *names, expect=3)
    assert (record["outcome"], record["error"]) == ("examiner_error", "the examiner gave the answer away")
    if place:
        assert (record["score"], record["points"]) == (1.0, 1.0)
    shown = paper.viva("report", "journal", expect=0).stdout
    assert "excluded from all averages" in shown


def test_a_fair_exam_is_scored(paper: Desk) -> None:
    assert decided(judged(paper, "scoring_points", "Fair")) == ("scored", 1.0, 1.0, 1.0, 1.0, 1.0, None)


def test_the_order_of_the_other_evaluators_changes_nothing(paper: Desk) -> None:
    found = []
    for number, order in enumerate(itertools.permutations(("Likes", "Fails", "Errs"))):
        record = judged(paper, "scoring_points", *order, out=f"journal-{number}")
        found.append((decided(record), record["usage"]["judge"]))
        assert {insight["evaluator"]: insight["score"] for insight in record["insights"]} == {
            "scoring_points": 1.0, "likes": 0.25, "fails": None, "errs": None,
        }  # fmt: skip
    assert found == [found[0]] * 6


def test_the_evaluator_that_is_named_first_decides(paper: Desk) -> None:
    assert decided(judged(paper, "Likes", "scoring_points")) == ("scored", 0.25, 0.25, 0.25, None, None, None)
    failed = judged(paper, "Fails", "scoring_points", out="failed", expect=3)
    assert (failed["outcome"], failed["score"]) == ("judge_error", None)
    assert "out of order" in failed["error"]
    broken = judged(paper, "Errs", "scoring_points", out="broken", expect=3)
    assert (broken["outcome"], broken["error"]) == ("infra_error", "no idea")


def test_a_later_judging_names_its_own_primary(paper: Desk) -> None:
    judged(paper, "scoring_points", "Likes")
    done = paper.viva("judge", "journal", "--evaluators", "own.py:Likes", "--out", "again", "--quiet", expect=0)
    assert " scored 0.25" in done.stdout


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        (("1",), 0),
        (("likes=0.2",), 0),
        (("likes=0.3",), 1),
        (("scoring_points=1", "likes=0.25"), 0),
        (("scoring_points=1", "likes=0.26"), 1),
        (("absent=0.1",), 2),
    ],
)
def test_each_evaluator_has_a_gate_of_its_own(paper: Desk, gates: tuple[str, ...], code: int) -> None:
    options = [word for gate in gates for word in ("--fail-under", gate)]
    done = paper.viva(
        "suite", "exam", "--agent", "example:careful", "--evaluators", "scoring_points,own.py:Likes",
        "--sandbox", "process", *options, "--out", "journal",
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    if code == 1:
        assert "likes" in done.stderr


def test_the_cost_of_judging_is_booked_with_each_evaluator_and_summed(paper: Desk) -> None:
    record = judged(paper, "scoring_points", "Likes", "Steps", "Fairness", expect=3)
    costs: dict[str, float] = {}
    for insight in record["insights"]:
        costs[insight["evaluator"]] = costs.get(insight["evaluator"], 0) + insight["usage"]["cost"]
    assert costs == pytest.approx({"scoring_points": 0, "likes": 0.01, "steps": 0.002, "fairness": 0.005})
    total = record["usage"]["judge"]
    assert total["cost"] == pytest.approx(0.017)
    assert (total["input_tokens"], total["output_tokens"], total["calls"]) == (152, 17, 4)


def test_two_insights_of_one_evaluator_are_both_kept_read_and_shown(paper: Desk) -> None:
    record = judged(paper, "scoring_points", "Steps")
    assert [(insight["evaluator"], insight["subject"]) for insight in record["insights"][1:]] == [
        ("steps", "r1"),
        ("steps", "r2"),
    ]
    shown = paper.viva("report", "journal", expect=0).stdout
    assert "steps on round 1: good, 0.50" in " ".join(shown.split())
    assert "steps on round 2: good, 1.00" in " ".join(shown.split())


def test_judging_again_leaves_the_time_of_the_conversation_as_it_was(paper: Desk) -> None:
    # Side by side, and without a word of how long they took: only the clock tells.
    (paper.folder / "slow.py").write_text(
        "import asyncio\n"
        "from viva.records.verdict import Insight\n\n"
        "class Slow:\n"
        "    name = 'slow'\n"
        "    async def evaluate(self, transcript, context):\n"
        "        await asyncio.sleep(0.3)\n"
        "        return Insight(self.name, context.subject, 'fine', 1.0)\n\n"
        "class Slower(Slow):\n"
        "    name = 'slower'\n"
    )
    evaluators = "scoring_points,slow.py:Slow,slow.py:Slower"
    first = paper.run("exam", "--evaluators", evaluators)["timing"]
    sandbox = ("--sandbox", "process")
    done = paper.viva("judge", "journal", "--evaluators", evaluators, *sandbox, "--json", expect=0)
    (record,) = json.loads(done.stdout)["runs"]
    for timing in (first, record["timing"]):
        assert 0.3 <= timing["judge_seconds"] <= timing["seconds"]
    talks = [timing["seconds"] - timing["judge_seconds"] for timing in (first, record["timing"])]
    assert talks[0] == pytest.approx(talks[1], abs=0.001)


def test_a_primary_evaluator_that_speaks_only_of_rounds_gives_the_run_no_score(desk: Desk) -> None:
    (desk.folder / "rounds_only.py").write_text(
        "from viva.records import Insight\n"
        "class RoundsOnly:\n"
        "    name = 'rounds_only'\n"
        "    async def evaluate(self, transcript, context):\n"
        "        return Insight(self.name, 'r1', 'fine', 1.0)\n"
    )
    arguments = ("--evaluators", "rounds_only.py:RoundsOnly", "--sandbox", "process", "--out", "journal")
    done = desk.viva("run", desk.case(), *arguments, "--agent", "example:careful", "--fail-under", "0.1", expect=3)
    assert "1.00" not in done.stdout.split("score", 1)[-1].splitlines()[0]


def test_evaluators_without_a_name_are_a_usage_error(desk: Desk) -> None:
    done = desk.viva("run", "echo", "--evaluators", ",", "--sandbox", "process", expect=2)
    assert "--evaluators requires at least one name" in done.stderr
