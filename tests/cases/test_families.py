"""A case with `for_each` is a family: each row of a table is a case with an id of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.cases import Case, CaseError, load_case, load_cases
from viva.cases.many.placeholders import filled

ROWS = "id,city,price,says\nrome,Rome,40,forty\noslo,Oslo,90,ninety\n"
FAMILY = """\
for_each: rows.csv
group_by: [city]
task_description: Ask for a trip to {{ city }}.
tags: [trip]
script:
  - To {{city}}, please.
scoring_points:
  - The agent says {{ says }}.
  - The agent is polite.
  - score_point: The price is right.
    eval_code: assert {{ price }} in rounds[-1]["agent"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "trips"
    folder.mkdir()
    (folder / "rows.csv").write_text(ROWS)
    (folder / "case.yaml").write_text(FAMILY)
    return folder


def with_rows(folder: Path, name: str, content: str) -> list[Case]:
    (folder / name).write_text(content)
    (folder / "case.yaml").write_text(FAMILY.replace("rows.csv", name))
    return load_cases(folder / "case.yaml")


def mistakes_of(path: Path) -> list[str]:
    with pytest.raises(CaseError) as caught:
        load_cases(path)
    return [f"{Path(caught.value.where).name}:{each.line}: {each.message}" for each in caught.value.mistakes]


def test_each_row_is_a_case_with_the_values_of_its_columns(folder: Path) -> None:
    rome, oslo = load_cases(folder)
    assert (rome.name, oslo.name) == ("trips[rome]", "trips[oslo]")
    assert rome.task_description == "Ask for a trip to Rome."
    assert [line.say for line in oslo.script] == ["To Oslo, please."]
    assert [point.score_point for point in oslo.scoring_points][:2] == [
        "The agent says ninety.",
        "The agent is polite.",
    ]
    assert oslo.scoring_points[2].eval_code == """assert '90' in rounds[-1]["agent"]"""
    assert (oslo.row, oslo.columns["price"]) == ("oslo", "90")


def test_a_row_is_loaded_by_its_reference(folder: Path) -> None:
    _, oslo = load_cases(folder)
    assert load_case(Path(oslo.reference)) == oslo
    assert load_case(Path(f"{folder}[oslo]")) == oslo
    with pytest.raises(CaseError, match="no row of trips has the id 'olso'; did you mean 'oslo'"):
        load_case(Path(f"{folder}[olso]"))


def test_columns_by_which_figures_are_grouped_and_the_family_are_tags(folder: Path) -> None:
    assert [case.tags for case in load_cases(folder)] == [
        ("trip", "trips", "city=Rome"),
        ("trip", "trips", "city=Oslo"),
    ]


def test_a_point_is_the_same_in_each_row(folder: Path) -> None:
    rome, oslo = ([point.id for point in case.scoring_points] for case in load_cases(folder))
    assert rome == oslo
    assert len(set(rome)) == 3


def test_a_point_that_is_a_column_is_the_same_in_each_row_too(folder: Path) -> None:
    points = ["{{ judge }}", {"score_point": "It is right.", "points": ["{{ judge }}", "{{ own }}"]}]
    (folder / "case.yaml").write_text(json.dumps({"for_each": "a.jsonl", "script": ["Hi."], "scoring_points": points}))
    rows = [
        {"id": "1", "judge": "It asks.", "own": {"check": {"contains": "a"}, "weight": 3}},
        {"id": "2", "judge": "It greets.", "own": {"check": {"words": 2}, "id": "mine"}},
    ]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    first, second = (case.scoring_points for case in load_cases(folder))
    assert [point.score_point for point in first[:2]] == ["It asks."] * 2
    assert [point.id for point in first[:2]] == [point.id for point in second[:2]]
    assert (first[2].check, first[2].weight, second[2].id) == ({"contains": "a"}, first[1].weight * 3, "mine")


def test_a_text_of_a_csv_file_is_a_number_where_only_a_number_can_stand(folder: Path) -> None:
    (folder / "rows.csv").write_text("id,price,most,share,bad\na,40,3,0.5,x\n")
    case = """\
for_each: rows.csv
max_rounds: "{{ most }}"
threshold: "{{ share }}"
script: ["Say {{ price }}.", "Thanks."]
metadata: {number: "{{ price }}"}
scoring_points:
  - {check: {number: "{{ price }}"}, weight: "{{ share }}"}
  - check: {number: {equals: "{{ price }}", tolerance: "{{ share }}"}}
  - check: {not: {words: {max: "{{ most }}"}}, over: {round: "{{ most }}"}}
  - check: {equals: "{{ price }}"}
  - check: {json: {path: max, equals: {max: "{{ price }}"}}}
  - check: {tool_called: {name: book, arguments: {number: "{{ price }}"}, times: "{{ most }}"}}
"""
    (folder / "case.yaml").write_text(case)
    (loaded,) = load_cases(folder)
    assert (loaded.max_rounds, loaded.threshold, loaded.metadata) == (3, 0.5, {"number": "40"})
    assert loaded.scoring_points[0].weight == 0.5
    assert [point.check for point in loaded.scoring_points] == [
        {"number": 40},
        {"number": {"equals": 40, "tolerance": 0.5}},
        {"not": {"words": {"max": 3}}, "over": {"round": 3}},
        {"equals": "40"},
        {"json": {"path": "max", "equals": {"max": "40"}}},
        {"tool_called": {"name": "book", "arguments": {"number": "40"}, "times": 3}},
    ]
    (folder / "case.yaml").write_text(case.replace('number: "{{ price }}"}, w', 'number: "{{ bad }}"}, w'))
    (told,) = mistakes_of(folder / "case.yaml")
    assert "number must be a number" in told
    assert "'x' (row 'a')" in told


def test_a_number_of_a_row_is_text_where_only_text_can_stand(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"id": "a", "price": 40, "sure": true, "day": "2026-05-01"}')
    case = """\
for_each: a.jsonl
task_description: "{{ price }}"
script: ["{{ price }}", {say: "{{ sure }}"}]
metadata: {text: "{{ price }}"}
scoring_points:
  - check: {contains: "{{ price }}"}
  - check: {not: {contains: {any: ["{{ price }}", "{{ sure }}"]}}}
  - check: {file: {path: a.txt, equals: "{{ price }}"}}
  - check: {json: {path: a, equals: "{{ price }}"}}
  - score_point: "{{ price }}"
"""
    (folder / "case.yaml").write_text(case)
    (loaded,) = load_cases(folder)
    assert (loaded.task_description, loaded.metadata) == ("40", {"text": 40})
    assert [line.say for line in loaded.script or ()] == ["40", "true"]
    assert [point.check for point in loaded.scoring_points[:4]] == [
        {"contains": "40"},
        {"not": {"contains": {"any": ["40", "true"]}}},
        {"file": {"path": "a.txt", "equals": "40"}},
        {"json": {"path": "a", "equals": 40}},
    ]
    assert loaded.scoring_points[4].score_point == "40"


def test_a_date_of_a_row_is_text(folder: Path) -> None:
    rows = "- {id: 2026-05-01, city: 2026-05-02, says: 'a', price: 1}\n"
    (case,) = with_rows(folder, "rows.yaml", rows)
    assert case.name == "trips[2026-05-01]"
    assert case.task_description == "Ask for a trip to 2026-05-02."
    assert "city=2026-05-02" in case.tags


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("a.jsonl", "1e400", "row.price is inf, which JSON cannot hold; put it in quotes"),
        ("a.json", "[-1e400]", "row.price.0 is -inf, which JSON cannot hold; put it in quotes"),
        ("a.yaml", ".nan", "row.price is nan, which JSON cannot hold; put it in quotes"),
        ("a.yaml", "!!binary aGk=", "row.price is b'hi', which JSON cannot hold; put it in quotes"),
        ("a.jsonl", "[" * 300 + "]" * 300, "row is nested too deeply"),
    ],
)
def test_a_value_that_no_journal_can_hold_is_a_mistake(folder: Path, name: str, value: str, told: str) -> None:
    row = f'{{"id": "a", "city": "Rome", "says": "x", "price": {value}}}'
    with pytest.raises(CaseError) as caught:
        with_rows(folder, name, row if name == "a.jsonl" else f"[{row}]")
    assert [each.message for each in caught.value.mistakes] == [told]


def test_a_column_in_a_key_is_a_mistake_because_keys_are_not_replaced(folder: Path) -> None:
    check = {"tool_called": {"name": "book", "arguments": {"{{ city }}": 1}}}
    case = {"for_each": "rows.csv", "script": ["Hi."], "scoring_points": [{"check": check}]}
    (folder / "case.yaml").write_text(json.dumps(case))
    (told,) = mistakes_of(folder / "case.yaml")
    assert "{{ city }} is in a key" in told


def test_a_row_keeps_name_and_hash_when_rows_are_added_and_moved(folder: Path) -> None:
    before = {case.name: case.hash for case in load_cases(folder)}
    (folder / "rows.csv").write_text("id,city,price,says\nnice,Nice,5,five\noslo,Oslo,90,ninety\nrome,Rome,40,forty\n")
    after = {case.name: case.hash for case in load_cases(folder)}
    assert before.items() <= after.items()
    assert len(set(after.values())) == 3


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "city,price,says\nRome,40,forty\n"),
        ("a.tsv", "city\tprice\tsays\nRome\t40\tforty\n"),
        ("a.jsonl", '{"city": "Rome", "price": "40", "says": "forty"}\n\n'),
        ("a.json", '[{"says": "forty", "city": "Rome", "price": "40"}]'),
        ("sub.yaml", "- {city: Rome, price: '40', says: forty}\n"),
    ],
)
def test_a_row_without_an_id_has_one_from_its_content_whatever_the_format(
    folder: Path, name: str, content: str
) -> None:
    (case,) = with_rows(folder, name, content)
    assert case.name == "trips[85145bb6de5f]"


def test_columns_of_a_csv_file_may_have_semicolons_between_them(folder: Path) -> None:
    (case,) = with_rows(folder, "rows.csv", 'id;city;price;says\r\na;"Rome; Italy";40;forty, or so\r\n')
    assert case.columns == {"id": "a", "city": "Rome; Italy", "price": "40", "says": "forty, or so"}


def test_rows_can_stand_in_the_case_file_and_give_more_than_text(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text("""\
cases:
  order:
    for_each:
      - {id: 1, script: [Hello., {say: 'Number {n}', for: n in 1..2}], weight: 2.5, sure: true}
    script: "{{ script }}"
    scoring_points:
      - {score_point: "Sure is {{ sure }} at {{ weight }}", weight: "{{ weight }}"}
""")
    (case,) = load_cases(file)
    assert case.name == "shop#order[1]"
    assert [len(list(line.messages())) for line in case.script] == [1, 2]
    assert (case.scoring_points[0].weight, case.scoring_points[0].score_point) == (2.5, "Sure is true at 2.5")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("{{ says }}", "{{ say }}", "case.yaml:8: no row has a column 'say'; did you mean 'says'?"),
        ("[city]", "[town]", "case.yaml:2: no row has a column 'town'; known here: id, city, price, says"),
        ("rows.csv", "row.csv", "case.yaml:1: for_each: 'row.csv' is not in the case folder; did you mean 'rows.csv'?"),
        ("rows.csv", "../x.csv", "case.yaml:1: for_each: '../x.csv' lies outside the case folder"),
        ("rows.csv", "7", "case.yaml:1: for_each must be a file of rows, or a list of them, not 7"),
        (
            "assert {{ price }}",
            'assert "{{ price }}"',
            (
                "case.yaml:11: eval_code has {{ price }} inside a text or a comment: it becomes a Python value, "
                "with quotes of its own, so write it without quotes"
            ),
        ),
        (
            "tags: [trip]",
            "pre_command: 'ls {{ city }}'",
            "case.yaml:4: pre_command cannot hold {{ city }}: it says what runs on this machine, and no row may",
        ),
        (
            "tags: [trip]",
            "timeout: '{{ city }}'",
            "case.yaml:4: timeout must be a number above 0 (seconds), not 'Rome' (row 'rome')",
        ),
    ],
)
def test_a_mistake_in_a_family_is_told_with_file_and_line(folder: Path, old: str, new: str, told: str) -> None:
    (folder / "case.yaml").write_text(FAMILY.replace(old, new))
    assert told in mistakes_of(folder / "case.yaml")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", ROWS + "rome,Rome,40,forty\n", "a.csv:4: another row in line 2 has the id 'rome', too"),
        ("a.csv", ROWS + ",Nice,40,forty\n", "a.csv:4: this row has no 'id', and others have one"),
        ("a.csv", ROWS + "x,y\n", "a.csv:4: this row has 2 fields, and the first line names 4 columns"),
        ("a.csv", "city,city\na,b\n", "a.csv:1: each column needs a name of its own; see 'city'"),
        ("a.csv", 'city\n"a', "a.csv:2: is not CSV: unexpected end of data"),
        ("a.csv", "city\n", "a.csv:None: there are no rows"),
        (
            "a.csv",
            "city,price,says\na,b,c\nx,y,z\na,b,c\n",
            "a.csv:4: this row is the same as another one in line 2: remove it, or add a column 'id'",
        ),
        ("a.jsonl", '{"city": 1}\n[2]\n', "a.jsonl:2: a row is a mapping of columns to values; this is [2]"),
        ("a.jsonl", '{"city": NaN}\n', "a.jsonl:1: is not JSON: NaN is not a value of JSON"),
        ("a.json", '{"city": 1}', "a.json:None: is not a list of rows, but {'city': 1}"),
        ("a.txt", "x", "a.txt:None: for_each reads files that end in .csv, .tsv, .jsonl, .json, .yaml, .yml"),
    ],
)
def test_a_mistake_in_rows_is_told_with_file_and_line(folder: Path, name: str, content: str, told: str) -> None:
    (folder / name).write_text(content)
    (folder / "case.yaml").write_text(FAMILY.replace("rows.csv", name))
    assert mistakes_of(folder / "case.yaml") == [told]


def test_a_row_that_lacks_a_column_or_has_a_list_for_a_text_is_named(folder: Path) -> None:
    rows = '{"id": 1, "city": [2], "price": 1, "says": 1}\n{"id": 2, "city": "Rome", "price": 1}\n'
    (folder / "a.jsonl").write_text(rows)
    (folder / "case.yaml").write_text(FAMILY.replace("rows.csv", "a.jsonl"))
    assert mistakes_of(folder / "case.yaml") == [
        "case.yaml:3: the column 'city' is [2], which cannot stand inside a text (row '1')",
        "case.yaml:8: this row has no column 'says' (row '2')",
    ]


def test_no_value_of_a_row_is_code_or_is_replaced_again(folder: Path) -> None:
    evil = "'; import os; '{{ city }}"
    (case,) = with_rows(folder, "a.jsonl", json.dumps({"id": "x", "city": "{{ says }}", "says": "no", "price": evil}))
    assert case.task_description == "Ask for a trip to {{ says }}."
    assert case.scoring_points[2].eval_code == f'assert {evil!r} in rounds[-1]["agent"]'


def test_braces_without_for_each_are_only_text(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text("task_description: Write {{ x }}.\nscoring_points: ['It has {{ y }}.']\n")
    assert load_case(tmp_path).task_description == "Write {{ x }}."


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)
)


@given(value=json_values, around=st.text(alphabet="ab {}", max_size=4))
def test_a_column_alone_keeps_its_value_and_other_text_stays(value: Any, around: str) -> None:
    assert filled(["{{ x }}", {"k": "{{x}}"}, around, 5], {"x": value}) == [value, {"k": value}, around, 5]
