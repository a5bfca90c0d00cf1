"""Scores roll up through a tree of scoring points: level by level, with bounds, and to the published figures."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.cases import Case, ScoringPoint, load_case
from viva.cases.case import PointGroup
from viva.judge.scoring_points.rollup import RolledScore, RubricNode, roll_up, score_of_verdict
from viva.judge.scoring_points.scoring import summarize, summarize_case
from viva.judge.scoring_points.verdicts import point_verdict
from viva.records.verdict import Verdict

TREES = Path(__file__).parents[4] / "shared/data/labels/paperbench_trees"
ROOTS = {
    "all-in-one": 0.713935,
    "pinn": 0.834215,
    "rice": 0.185681,
    "semantic-self-consistency": 0.910000,
    "stay-on-topic-with-classifier-free-guidance": 0.481530,
}
"""As published, to six digits; the files hold them in full."""
LABELS = ("hit", "miss", "unsure", "error")


def published(name: str) -> dict[str, Any]:
    if not TREES.is_dir():
        pytest.skip("the published trees are not on this machine")
    tree: dict[str, Any] = json.loads((TREES / f"{name}.json").read_text())
    return tree


def node_of(task: dict[str, Any]) -> RubricNode:
    """Read a task of PaperBench, whose leaves were graded by people."""
    if not task["sub_tasks"]:
        return RubricNode(task["id"], task["weight"], RolledScore(*[task["score"]] * 3))
    return RubricNode(task["id"], task["weight"], points=tuple(map(node_of, task["sub_tasks"])))


def tasks(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield task
    for each in task["sub_tasks"]:
        yield from tasks(each)


@pytest.mark.parametrize("name", ROOTS)
def test_every_node_of_a_published_tree_has_its_published_score(name: str) -> None:
    tree = published(name)
    scores = roll_up(node_of(tree))
    assert scores[tree["id"]].score == pytest.approx(ROOTS[name], abs=5e-7)
    assert {task["id"]: scores[task["id"]].score for task in tasks(tree)} == {
        task["id"]: pytest.approx(task["score"], abs=1e-9) for task in tasks(tree)
    }


@pytest.mark.parametrize("name", ROOTS)
def test_a_published_tree_as_a_case_gives_the_same_score(name: str, tmp_path: Path) -> None:
    tree = published(name)

    def point(task: dict[str, Any]) -> dict[str, Any]:
        own = {"id": task["id"], "score_point": task["requirements"][:40], "weight": task["weight"]}
        return own | ({"points": list(map(point, task["sub_tasks"]))} if task["sub_tasks"] else {})

    file = tmp_path / "case.yaml"
    points = json.dumps(list(map(point, tree["sub_tasks"])))
    file.write_text(f"task_description: Reproduce the paper.\nscoring_points: {points}\n")
    case = load_case(file)
    label = {task["id"]: "hit" if task["score"] else "miss" for task in tasks(tree)}
    insight = summarize_case(
        "scoring_points", case, "run", verdicts_of(case, [label[p.id] for p in case.scoring_points])
    )
    assert insight.score == pytest.approx(tree["score"], abs=1e-9)
    inner = {task["id"]: task["score"] for task in tasks(tree) if task["sub_tasks"] and task is not tree}
    assert {group["id"]: group["score"] for group in insight.details["tree"]["groups"]} == {
        name: pytest.approx(score, abs=1e-9) for name, score in inner.items()
    }


def test_one_leaf_that_is_judged_again_changes_what_is_above_it_and_nothing_else() -> None:
    case = tree_case()
    before = summarize_case("scoring_points", case, "run", verdicts_of(case, ["hit", "miss", "miss", "hit"]))
    after = summarize_case("scoring_points", case, "run", verdicts_of(case, ["hit", "hit", "miss", "hit"]))
    assert (before.score, after.score) == (pytest.approx((1 + 3 * 0.25) / 4), pytest.approx((1 + 3 * 0.75) / 4))
    assert [(group["id"], group["score"]) for group in before.details["tree"]["groups"]] == [("a", 0.25), ("b", 0.5)]
    assert [(group["id"], group["score"]) for group in after.details["tree"]["groups"]] == [("a", 0.75), ("b", 0.5)]


def test_open_verdicts_open_the_bounds_of_all_groups_above_them() -> None:
    case = tree_case()
    insight = summarize_case("scoring_points", case, "run", verdicts_of(case, ["hit", "unsure", "miss", "hit"]))
    inner, below = insight.details["tree"]["groups"]
    assert (inner["low"], inner["score"], inner["high"]) == (0.25, 0.25, 0.75)
    assert (below["low"], below["high"]) == (0.5, 0.5)
    assert (insight.low, insight.high) == (pytest.approx(1.75 / 4), pytest.approx(3.25 / 4))


def test_a_group_of_which_nothing_could_be_judged_has_no_score() -> None:
    case = tree_case()
    insight = summarize_case("scoring_points", case, "run", verdicts_of(case, ["hit", "hit", "error", "error"]))
    assert [group["score"] for group in insight.details["tree"]["groups"]] == [0.5, None]


def test_the_scores_of_the_groups_at_the_top_are_named_scores() -> None:
    case = tree_case()
    insight = summarize_case("scoring_points", case, "run", verdicts_of(case, ["hit", "hit", "miss", "hit"]))
    assert insight.scores == {"a": 0.75}


def test_without_a_tree_an_insight_is_what_it_was() -> None:
    points = (ScoringPoint("p1", "One.", 1.0), ScoringPoint("p2", "Two.", 2.0))
    case = Case("case", Path("case.yaml"), "0" * 64, "Ask.", points)
    verdicts = verdicts_of(case, ["hit", "unsure"])
    assert summarize_case("scoring_points", case, "run", verdicts) == summarize("scoring_points", "run", verdicts)


def test_weights_that_add_up_to_nothing_are_refused() -> None:
    leaf = RubricNode("leaf", 0.0, RolledScore(1, 1, 1))
    with pytest.raises(ValueError, match="add up to 0"):
        roll_up(RubricNode("", 1.0, points=(leaf,)))
    with pytest.raises(ValueError, match="neither points nor a score"):
        roll_up(RubricNode("alone", 1.0))


def test_a_very_deep_tree_rolls_up() -> None:
    node = RubricNode("leaf", 1.0, RolledScore(0, 0.5, 1))
    for level in range(5_000):
        node = RubricNode(f"n{level}", 1.0, points=(node,))
    assert roll_up(node)["n4999"] == RolledScore(0, 0.5, 1)


WEIGHTS = st.floats(1e-6, 1e9)
LEAVES = st.builds(
    lambda weight, values: RubricNode("", weight, RolledScore(*sorted(values))),
    WEIGHTS,
    st.tuples(*[st.floats(0, 1)] * 3),
)
NODES = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda weight, points: RubricNode("", weight, points=tuple(points)),
        WEIGHTS,
        st.lists(inner, min_size=1, max_size=5),
    ),
    max_leaves=40,
)


def numbered(node: RubricNode, name: str = "n") -> RubricNode:
    return replace(node, id=name, points=tuple(numbered(p, f"{name}.{i}") for i, p in enumerate(node.points)))


@given(NODES)
def test_every_score_of_any_tree_lies_within_its_bounds_and_between_zero_and_one(node: RubricNode) -> None:
    for each in roll_up(numbered(node)).values():
        assert 0 <= each.low <= each.score <= each.high <= 1


@given(st.lists(st.tuples(st.sampled_from(LABELS), WEIGHTS), min_size=1, max_size=30))
def test_a_flat_tree_has_the_score_of_the_flat_sum(items: list[tuple[str, float]]) -> None:
    verdicts = [Verdict("run", f"p{n}", label, None, weight=weight) for n, (label, weight) in enumerate(items)]
    flat = summarize("scoring_points", "run", verdicts)
    leaves = tuple(RubricNode(each.criterion, each.weight, score_of_verdict(each)) for each in verdicts)
    rolled = roll_up(RubricNode("", 1.0, points=leaves))[""]
    if flat.score is not None:
        assert (rolled.low, rolled.score, rolled.high) == pytest.approx((flat.low, flat.score, flat.high), abs=1e-12)


@st.composite
def drawn_points(draw: st.DrawFn, level: int = 0) -> list[dict[str, Any]]:
    points = []
    for _ in range(draw(st.integers(1, 4))):
        own: dict[str, Any] = {"score_point": draw(st.sampled_from("ABCDE")), "weight": draw(st.floats(1e-3, 1e3))}
        if level < 3 and draw(st.booleans()):
            own["points"] = draw(drawn_points(level=level + 1))
        points.append(own)
    return points


@given(drawn_points(), st.data())
def test_the_leaves_of_any_case_share_the_weights_of_the_top_and_its_score_is_that_of_the_levels(
    points: list[dict[str, Any]], data: st.DataObject
) -> None:
    case = read_points(points)
    assert math.fsum(point.weight for point in case.scoring_points) == pytest.approx(
        math.fsum(point["weight"] for point in points)
    )
    labels = [data.draw(st.sampled_from(LABELS)) for _ in case.scoring_points]
    insight = summarize_case("scoring_points", case, "run", verdicts_of(case, labels))
    left = iter(labels)

    def by_level(items: list[dict[str, Any]]) -> float:
        scores = [(p["weight"], by_level(p["points"]) if "points" in p else float(next(left) == "hit")) for p in items]
        return sum(weight * score for weight, score in scores) / sum(weight for weight, _ in scores)

    expected = by_level(points)
    if insight.score is not None:
        assert insight.low is not None
        assert insight.high is not None
        assert insight.score == pytest.approx(expected, abs=1e-9)
        assert 0 <= insight.low <= insight.score <= insight.high <= 1


def read_points(points: list[dict[str, Any]]) -> Case:
    from viva.cases.field_readers import CaseReader
    from viva.cases.yaml.lines import LineNumbers

    reader = CaseReader({"task_description": "Ask.", "scoring_points": points}, LineNumbers(), Path("case.yaml"))
    fields = reader.read()
    assert reader.mistakes == []
    return Case(name="case", file=Path("case.yaml"), hash="0" * 64, **fields)


def tree_case() -> Case:
    points = (
        ScoringPoint("p1", "One.", 1.0),
        ScoringPoint("p2", "Two.", 1.5, path=("a",)),
        ScoringPoint("p3", "Three.", 0.75, path=("a", "b")),
        ScoringPoint("p4", "Four.", 0.75, path=("a", "b")),
    )
    groups = (PointGroup("a", "All."), PointGroup("b", "Below.", ("a",)))
    return Case("case", Path("case.yaml"), "0" * 64, "Ask.", points, point_groups=groups)


def verdicts_of(case: Case, labels: list[str]) -> list[Verdict]:
    pairs = zip(case.scoring_points, labels, strict=True)
    return [point_verdict("run", point, label, "because") for point, label in pairs]
