"""One file holds several cases, which share defaults, and each is named FILE#NAME."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.cases import CaseError, find_cases, lint_case, load_case, load_cases
from viva.cases.many.references import split_reference

TWO = """\
defaults:
  tags: [shop]
  max_rounds: 4
  metadata: {team: sales, level: 1}
  scoring_points:
    - The agent is polite.
cases:
  greeting:
    script: [Hello.]
    scoring_points:
      - The agent greets.
  order:
    task_description: Order shoes.
    tags: [order]
    max_rounds: 2
    metadata: {level: 2}
    scoring_points:
      - {score_point: The agent asks for the size., weight: 2}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "shop.yaml"
    file.write_text(TWO)
    return file


def mistakes_of(file: Path, text: str) -> list[str]:
    file.write_text(text)
    with pytest.raises(CaseError) as caught:
        load_cases(file)
    assert caught.value.where == str(file)
    return [f"{each.line}: {each.message}" for each in caught.value.mistakes]


def test_each_case_has_its_own_name_and_what_the_defaults_say(file: Path) -> None:
    greeting, order = load_cases(file)
    assert (greeting.name, order.name) == ("shop#greeting", "shop#order")
    assert (greeting.max_rounds, order.max_rounds) == (4, 2)
    assert (greeting.tags, order.tags) == (("shop",), ("order", "shop"))
    assert (greeting.metadata, order.metadata) == ({"team": "sales", "level": 1}, {"team": "sales", "level": 2})
    assert [point.score_point for point in order.scoring_points] == [
        "The agent asks for the size.",
        "The agent is polite.",
    ]


def test_a_case_is_loaded_by_its_reference_alone(file: Path) -> None:
    (order,) = load_cases(Path(f"{file}#order"))
    assert order.reference == f"{file}#order"
    assert load_case(Path(order.reference)) == order
    assert load_case(Path(f"{file.with_suffix('')}#order")).name == "shop#order"


def test_one_of_several_must_be_named(file: Path) -> None:
    with pytest.raises(
        CaseError, match=r"holds several cases \(shop#greeting, shop#order\): name one, as in .*#greeting"
    ):
        load_case(file)
    with pytest.raises(CaseError, match="no case is called 'ordr'; did you mean 'order'"):
        load_case(Path(f"{file}#ordr"))
    with pytest.raises(CaseError, match="shop#order has no rows: it has no for_each"):
        load_case(Path(f"{file}#order[3]"))


def test_a_file_that_is_called_cases_takes_the_name_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "shoes"
    folder.mkdir()
    (folder / "cases.yaml").write_text(TWO)
    assert [case.name for case in load_cases(folder)] == ["shoes#greeting", "shoes#order"]
    assert load_case(Path(f"{folder}#order")).name == "shoes#order"


def test_the_hash_of_a_case_changes_only_with_the_case(file: Path) -> None:
    before = {case.name: case.hash for case in load_cases(file)}
    file.write_text(TWO.replace("[Hello.]", "[Good morning.]") + "  third:\n    script: [Hi.]\n")
    after = {case.name: case.hash for case in load_cases(file)}
    assert after["shop#order"] == before["shop#order"]
    assert after["shop#greeting"] != before["shop#greeting"]
    file.write_text(TWO.replace("is polite", "is kind"))
    assert not {case.hash for case in load_cases(file)} & set(before.values())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("max_rounds: 2", "max_round: 2", "15: unknown key 'max_round'; did you mean 'max_rounds'?"),
        ("weight: 2", "weight: 0", "18: weight must be a number above 0, not 0"),
        ("max_rounds: 4", "max_rounds: many", "3: max_rounds must be a whole number above 0, not 'many'"),
        (
            "The agent is polite.",
            "7",
            "6: a scoring point is a statement, or has the keys score_point, weight, eval_code",
        ),
        ("level: 1}", "team: .nan}", "4: metadata.team is nan, which JSON cannot hold; put it in quotes"),
        ("  order:", "  greeting:", "12: 'greeting' is a duplicate key; YAML would silently drop the first value"),
        ("  order:", "  7:", "12: the name of a case must be text; put it in quotes, not 7"),
        ("  order:", "  a#b:", "12: the name of a case must not contain '#', '[', ']' or '/', not 'a#b'"),
        ("defaults:", "default:", "1: unknown key 'default'; did you mean 'defaults'?"),
        ("  max_rounds: 4", "  for_each: rows.csv", "3: for_each cannot be a default: write it in each case"),
    ],
)
def test_a_mistake_is_told_with_file_and_line_once(file: Path, old: str, new: str, told: str) -> None:
    found = mistakes_of(file, TWO.replace(old, new))
    assert any(each.startswith(told) for each in found), found
    assert len(found) == len(set(found))


def test_what_is_no_mapping_of_cases_is_a_mistake(file: Path) -> None:
    assert mistakes_of(file, "cases: []\n") == ["1: cases must be a mapping of names to cases"]
    assert mistakes_of(file, "cases:\n  a: 7\n") == ["2: a case is a mapping with scoring_points, not 7"]


def test_files_of_several_cases_lie_beside_each_other_and_beside_other_yaml(file: Path) -> None:
    (file.parent / "hotel.yaml").write_text(TWO)
    (file.parent / "compose.yaml").write_text("services: {}\n")
    (file.parent / "rows.yaml").write_text("cases:\n  - inputs: other tools have this key\n")
    one = file.parent / "alone"
    one.mkdir()
    (one / "case.yaml").write_text("task_description: Ask.\nscoring_points: [It answers.]\n")
    assert list(find_cases(file.parent)) == [file.parent / "hotel.yaml", file, one]


def test_findings_of_lint_have_the_lines_of_their_case(file: Path) -> None:
    file.write_text(TWO.replace("script: [Hello.]", "script: ['Say {n}.']"))
    greeting, order = load_cases(file)
    assert [(found.line, found.message[:20]) for found in lint_case(greeting)] == [(9, "{n} is not replaced:")]
    assert lint_case(order) == []


def test_a_word_that_yaml_reads_as_true_is_still_a_key(file: Path) -> None:
    file.write_text("cases:\n  a:\n    task_description: Ask.\n    insist: {on: a seat}\n    scoring_points: [Good.]\n")
    insist = load_cases(file)[0].insist
    assert insist is not None
    assert insist.on == "a seat"


def test_a_reference_may_hold_the_marks_of_references(tmp_path: Path) -> None:
    folder = tmp_path / "C#[1]"
    folder.mkdir()
    file = folder / "x.yaml"
    file.write_text(TWO)
    found = split_reference(f"{file}#order[a#b[c]]")
    assert (found.path, found.entry, found.row) == (file, "order", "a#b[c]")
    assert split_reference(str(file)).entry is None
