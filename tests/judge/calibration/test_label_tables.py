"""Labels of other tools are read by the names of their columns, and nothing is guessed where two readings differ."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.errors import SetupError
from viva.judge.calibration.label_tables import Columns, GivenLabel, labels_of_table, plain_label

FILE, USUAL = Path("labels.csv"), Columns()


def _triples(text: str, columns: Columns = USUAL, path: Path = FILE, gold: str = "") -> list[tuple[str, str, str]]:
    return [(each.item, each.rater, each.label) for each in labels_of_table(text, path, columns, gold)]


def test_a_wide_table_has_a_rater_in_each_column_and_gaps() -> None:
    text = "item,ann,bob\n7,hit,\n8,miss,hit\n"
    assert _triples(text) == [("7", "ann", "hit"), ("8", "ann", "miss"), ("8", "bob", "hit")]


def test_a_wide_table_without_items_counts_its_rows() -> None:
    assert _triples("ann,bob\n1,2\n1,1\n") == [
        ("1", "ann", "1"),
        ("1", "bob", "2"),
        ("2", "ann", "1"),
        ("2", "bob", "1"),
    ]


def test_a_long_table_has_a_label_in_each_row() -> None:
    text = "id,rater,label\n7,ann,hit\n7,bob,\n8,bob,miss\n"
    assert _triples(text) == [("7", "ann", "hit"), ("8", "bob", "miss")]
    text = "task,who,says,text\na,ann,1,long words\na,bob,2,long words\n"
    columns = Columns(item="task", rater="who", label="says")
    assert _triples(text, columns) == [("a", "ann", "1"), ("a", "bob", "2")]
    assert _triples(text, Columns(item="task", rater="who", label="says", raters=("bob",))) == [("a", "bob", "2")]


def test_json_lines_are_read_with_null_and_missing_keys_as_gaps() -> None:
    text = '{"item": 1, "ann": true, "bob": null}\n\n{"item": 2, "bob": 2.0}\n{"item": "3", "ann": "yes\\u2028"}\n'
    assert _triples(text) == [("1", "ann", "true"), ("2", "bob", "2"), ("3", "ann", "yes")]


def test_tabulators_and_a_byte_order_mark_of_a_spreadsheet_are_read() -> None:
    assert _triples("item\tann\tbob\n1\ta,b\tc\n", path=Path("x.tsv")) == [("1", "ann", "a,b"), ("1", "bob", "c")]
    assert _triples('item,ann\n1,"yes, it is"\n') == [("1", "ann", "yes, it is")]


def test_semicolons_of_a_spreadsheet_are_read_and_those_of_a_text_are_none() -> None:
    assert _triples("item;ann;bob\n1;a,b;c\n") == [("1", "ann", "a,b"), ("1", "bob", "c")]
    assert _triples("item,a;b\n1,yes\n") == [("1", "a;b", "yes")]


def test_columns_of_kinds_and_cases_are_no_raters() -> None:
    text = "item,metric,topic,ann\n0,fluency,x,4\n0,relevance,x,2\n"
    found = labels_of_table(text, FILE, Columns(by="metric", case="topic"))
    assert found == [GivenLabel("0", "ann", "4", "x", "fluency"), GivenLabel("0", "ann", "2", "x", "relevance")]


def test_the_rater_with_true_labels_need_not_be_named_twice() -> None:
    text = "item,gold,ann,text\n1,a,b,so many words\n"
    assert _triples(text, Columns(raters=("ann",)), gold="gold") == [("1", "gold", "a"), ("1", "ann", "b")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1", "1"), ("1.0", "1"), ("-2.00", "-2"), ("1.5", "1.5"), ("007", "007"), (" hit ", "hit"), (1.0, "1"),
        (1, "1"),
        (True, "true"), (None, ""), ("", ""), ("0.0", "0"),
        ("1.", "1."), ("v1.0", "v1.0"), ("1e3", "1e3"),
        ("\ud800", "\\ud800"),
    ],
)  # fmt: skip
def test_whole_numbers_with_and_without_a_point_are_one_label(value: object, expected: str) -> None:
    assert plain_label(value) == expected


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        ("item,ann\n1,a\n1,b\n", Columns(), "labels.csv, line 3: the item '1' occurs a second time, first in line 2"),
        ("item,ann\n1,a\n1,b\n", Columns(), "name it with --by"),
        ("item,rater,label\n1,a,x\n1,a,y\n", Columns(), "line 3: the label of a for '1' occurs a second time"),
        ("item,rater,label\n,a,x\n", Columns(), "line 2: the label has no item"),
        ("rater,label\na,x\n", Columns(), "name the column of the item with --item"),
        ("item,ann\n1,a,b\n", Columns(), "line 2: 3 fields, and the head has 2"),
        ("item,ann,ann\n1,a,b\n", Columns(), "two columns have the name 'ann'"),
        (f"item,{','.join(map(str, range(60_000)))}\n", Columns(), "60,001 columns, and 10,000 is the maximum"),
        (
            "item,rater,label\n" + "".join(f"1,{rater},a\n" for rater in range(10_001)),
            Columns(),
            "more than 10,000 raters; name some of them with --raters",
        ),
        (
            'item,ann\n1,"a\n',
            Columns(raters=("anne",)),
            "--raters: labels.csv has no column 'anne'. Did you mean 'ann'?",
        ),
        ("item,ann\n1,a\n", Columns(item="nr"), "--item: labels.csv has no column 'nr'. It has 'item', 'ann'."),
        ("item,ann\n1,a\n", Columns(by="ITEM"), "Did you mean 'item'?"),
        ("item,rater,label\n1,ann,x\n", Columns(raters=("bo",)), "has no rater 'bo'. It has 'ann'."),
        ("item,ann\n", Columns(), "holds no labels"),
        ("", Columns(), "holds no labels"),
        ("item,text\n1," + "word " * 50 + "\n", Columns(), "more than 100 characters"),
        ("item,n\n" + "".join(f"{n},{n}\n" for n in range(60)), Columns(), "more than 50 different labels"),
        ('{"item": 1}\n[2]\n', Columns(), "line 2: it is not a JSON object"),
        ('{"item": 1}\n{"item": 2', Columns(), "line 2: it is not JSON"),
        ("item,ann\n1," + "x" * 200_000 + "\n", Columns(), "line 2: it is not CSV"),
    ],
)
def test_what_cannot_be_read_in_one_way_only_is_refused_with_file_and_line(
    text: str, columns: Columns, words: str
) -> None:
    with pytest.raises(SetupError) as caught:
        labels_of_table(text, FILE, columns)
    assert words in str(caught.value)


@given(st.text(max_size=200))
def test_no_text_ends_in_a_traceback(text: str) -> None:
    with contextlib.suppress(SetupError):
        labels_of_table(text, FILE, Columns())
