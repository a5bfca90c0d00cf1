"""Scoring points of a case file that hold points of their own, and that require others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import viva
from viva.cases import Case, CaseError, lint_case, load_case
from viva.cases.points.words import point_lines
from viva.records.codec import decode, encode, loads

TREE = """\
task_description: Have the agent write a program with tests.
scoring_points:
  - id: runs
    score_point: The program runs.
    weight: 1
    eval_code: assert rounds
  - id: quality
    score_point: The program is good.
    weight: 3
    require: runs
    points:
      - score_point: It has tests.
        weight: 1
      - id: docs
        score_point: It has documentation.
        weight: 2
        points:
          - score_point: It has a README.
            weight: 1
          - score_point: The README says how to install it.
            weight: 1
"""


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "shop" / "case.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def mistakes(tmp_path: Path, points: str) -> list[str]:
    with pytest.raises(CaseError) as raised:
        load_case(written(tmp_path, f"task_description: Ask.\nscoring_points:\n{points}"))
    return [f"{each.line}: {each.message}" for each in raised.value.mistakes]


def test_the_leaves_are_judged_and_share_the_weight_of_their_group(tmp_path: Path) -> None:
    case = load_case(written(tmp_path, TREE))
    found = [(point.score_point, point.weight, point.path, point.require) for point in case.scoring_points]
    assert found == [
        ("The program runs.", 1.0, (), ()),
        ("It has tests.", 1.0, ("quality",), ("runs",)),
        ("It has a README.", 1.0, ("quality", "docs"), ("runs",)),
        ("The README says how to install it.", 1.0, ("quality", "docs"), ("runs",)),
    ]
    assert [(group.id, group.path) for group in case.point_groups] == [("quality", ()), ("docs", ("quality",))]
    assert case.max_points == 4


def test_a_tree_survives_a_journal_and_python(tmp_path: Path) -> None:
    case = load_case(written(tmp_path, TREE))
    assert decode(Case, loads(encode(case))) == case
    assert viva.load_case(written(tmp_path, TREE)) == case
    from viva.api.given_cases import with_own_hash

    changed = with_own_hash(replace(case, task_description="Something else."))
    assert changed.hash != case.hash
    broken = replace(case, point_groups=case.point_groups[:1])
    with pytest.raises(CaseError, match="no group 'docs'"):
        with_own_hash(broken)


def test_a_list_of_points_is_stored_as_before(tmp_path: Path) -> None:
    plain = "task_description: Ask.\nscoring_points:\n  - score_point: It is right.\n    weight: 2\n"
    case = load_case(written(tmp_path, plain))
    stored = loads(encode(case))
    assert stored["scoring_points"] == [
        {"id": "p-" + case.scoring_points[0].id[2:], "score_point": "It is right.", "weight": 2.0}
    ]
    assert {"point_groups", "evidence"} & set(stored) == set()
    assert list(point_lines(case)) == []


def test_a_tree_is_explained(tmp_path: Path) -> None:
    assert list(point_lines(load_case(written(tmp_path, TREE)))) == [
        "25.0% runs: 'The program runs.'",
        "75.0% quality: 'The program is good.': 3 points",
        "  25.0% 'It has tests.' (requires runs)",
        "  50.0% docs: 'It has documentation.': 2 points",
        "    25.0% 'It has a README.' (requires runs)",
        "    25.0% 'The README says how to install it.' (requires runs)",
    ]


def test_a_finding_in_a_check_below_a_group_has_its_line(tmp_path: Path) -> None:
    head = "      - score_point: It has tests.\n"
    code = ("x = 1", "len(rounds) == 2", "assert rounds")
    text = TREE.replace(head, f"{head}        eval_code: |-\n" + "".join(f"          {line}\n" for line in code))
    (found,) = lint_case(load_case(written(tmp_path, text)))
    assert found.line is not None
    assert text.splitlines()[found.line - 1].strip() == "len(rounds) == 2"


CODE_ON_A_GROUP = """\
  - score_point: All.
    weight: 1
    eval_code: assert rounds
    shown: step
    points:
      - {score_point: One., weight: 1}
"""
TINY = """\
  - score_point: A.
    weight: 5.0e-324
    points:
      - {score_point: B., weight: 1}
      - {score_point: C., weight: 9}
"""
CIRCLE = """\
  - {id: a, score_point: A., weight: 1, require: [b]}
  - {id: b, score_point: B., weight: 1, require: [c]}
  - {id: c, score_point: C., weight: 1, require: [a]}
"""
CIRCLE_OF_A_GROUP = """\
  - id: g
    score_point: All.
    weight: 1
    points:
      - {id: one, score_point: One., weight: 1, require: g}
"""
OWN_POINT = """\
  - id: g
    score_point: All.
    weight: 1
    require: one
    points:
      - {id: one, score_point: One., weight: 1}
"""


@pytest.mark.parametrize(
    ("points", "found"),
    [
        (
            CODE_ON_A_GROUP,
            [
                "5: eval_code has no effect on a point with points of its own: move it to one of them",
                "6: shown has no effect on a point with points of its own: move it to one of them",
            ],
        ),
        (CIRCLE, ["3: require goes in a circle: a -> b -> c -> a"]),
        (CIRCLE_OF_A_GROUP, ["7: require goes in a circle: one -> g -> one"]),
        (OWN_POINT, ["6: require goes in a circle: one -> one"]),
        (
            "  - {id: login, score_point: A., weight: 1}\n  - {score_point: B., weight: 1, require: [logni]}\n",
            ["4: no scoring point has the id 'logni'; did you mean 'login'?"],
        ),
        (
            "  - {score_point: A., weight: 1, require: {a: 1}}\n",
            ["3: require must be a list of ids of scoring points, not {'a': 1}"],
        ),
        (
            "  - {id: a b, score_point: A., weight: 1}\n",
            ["3: id must be a name of at most 64 letters, digits, '_', '-' and '.', not 'a b'"],
        ),
        (
            "  - {id: a, score_point: A., weight: 1}\n  - {id: a, score_point: B., weight: 1}\n",
            ["4: another scoring point has the id 'a', too"],
        ),
        (
            "  - score_point: A.\n    weight: 1\n    points: []\n",
            ["5: points must be a list with at least one scoring point"],
        ),
        (
            "  - score_point: A.\n    weight: 1\n    points:\n      - {score_point: B., weight: -1}\n      - 7\n",
            [
                "6: weight must be a number above 0, not -1",
                "7: a scoring point is a statement, or has the keys score_point, weight, eval_code, check; this is 7",
            ],
        ),
        (
            TINY,
            ["6: weight is too small to count beside the others of the tree"],
        ),
        (
            "  - {score_point: A., weight: 1, shown: setp}\n",
            ["3: shown must be one of step, said, code, file, environment, not 'setp'; did you mean 'step'?"],
        ),
        (
            "  - {score_point: A., weight: 1, shown: code}\n",
            ["3: shown: code requires eval_code or check, which this point does not have"],
        ),
        (
            "  - {score_point: A., weight: 1, shown: step, eval_code: assert rounds}\n",
            ["3: shown: step is about what a model judges, and this point has eval_code: remove one of them"],
        ),
        (
            "  - {score_point: A., weight: 1, shown: file}\n",
            ["3: shown: file requires that the judge is shown the files: add 'evidence: files' to the case"],
        ),
    ],
)
def test_a_mistake_in_a_tree_is_told_with_its_line(points: str, found: list[str], tmp_path: Path) -> None:
    assert mistakes(tmp_path, points) == found


def nested(levels: int) -> str:
    lines = []
    for level in range(levels):
        indent = "  " * (2 * level + 1)
        lines += [f"{indent}- score_point: Level {level}.", f"{indent}  weight: 1"]
        if level < levels - 1:
            lines.append(f"{indent}  points:")
    return "\n".join(lines) + "\n"


def test_a_tree_of_twelve_levels_is_read_and_a_deeper_one_is_refused(tmp_path: Path) -> None:
    case = load_case(written(tmp_path, f"task_description: Ask.\nscoring_points:\n{nested(12)}"))
    assert len(case.point_groups) == 11
    (found,) = mistakes(tmp_path, nested(13))
    assert found.endswith("points are nested deeper than 12 levels: join some of them")


@pytest.mark.parametrize("value", ["files", "[files]"])
def test_the_evidence_of_a_case_is_files(value: str, tmp_path: Path) -> None:
    text = (
        f"task_description: Ask.\nevidence: {value}\nscoring_points:\n  - {{score_point: A., weight: 1, shown: file}}\n"
    )
    case = load_case(written(tmp_path, text))
    assert (case.evidence, case.scoring_points[0].shown) == (("files",), "file")
    with pytest.raises(CaseError, match="evidence must be files, not 'pictures'"):
        load_case(written(tmp_path, text.replace("files", "pictures")))
