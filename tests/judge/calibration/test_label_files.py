"""A label file holds what people said, each the last; what is no label is named with file and line."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.errors import SetupError
from viva.journal.lines import Damage
from viva.judge.calibration.label_files import HumanLabel, LabelWriter, is_label_file, read_labels

ANN = HumanLabel("ann", "sum-1", "total", "hit", "sum", "The total is 55.", "clear", "2026-11-22T23:30:00Z", 12.3)


def _line(**changed: object) -> str:
    plain = {"v": 1, "rater": "ann", "run": "sum-1", "criterion": "total", "label": "hit", **changed}
    return json.dumps({name: value for name, value in plain.items() if value is not ...})


def _file(folder: Path, *lines: str) -> Path:
    path = folder / "labels.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "labels.jsonl"
    least = HumanLabel("bob", "sum-1", "total", "unsure")
    with LabelWriter(path) as writer:
        writer.append(ANN)
        writer.append(least)
    assert read_labels(path) == [ANN, least]
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[1]) == {
        "v": 1,
        "rater": "bob",
        "run": "sum-1",
        "criterion": "total",
        "label": "unsure",
    }


def test_the_last_label_of_a_rater_applies_and_null_takes_it_back(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        _line(),
        _line(criterion="other"),
        _line(rater="bob"),
        _line(label="miss"),
        _line(criterion="other", label=None),
        _line(rater="cy", label=None),
    )
    assert [(each.rater, each.criterion, each.label) for each in read_labels(path)] == [
        ("bob", "total", "hit"),
        ("ann", "total", "miss"),
    ]


def test_a_label_after_a_torn_line_is_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(_line()[:20], encoding="utf-8")
    with LabelWriter(path) as writer:
        writer.append(ANN)
    damage = Damage()
    assert read_labels(path, damage) == [ANN]
    assert (damage.torn, damage.lines) == (1, [1])


@pytest.mark.parametrize("cut", range(1, len(json.dumps(asdict(ANN), ensure_ascii=False).encode())))
def test_a_line_that_is_torn_anywhere_is_passed_over_and_counted(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "labels.jsonl"
    torn = json.dumps(asdict(replace(ANN, rater="ånn\u2026")), ensure_ascii=False).encode()[:cut]
    path.write_bytes(f"{_line()}\n".encode() + torn)
    damage = Damage()
    assert [each.rater for each in read_labels(path, damage)] == ["ann"]
    assert damage.lines == [2]
    with LabelWriter(path) as writer:
        writer.append(replace(ANN, rater="bob"))
    assert [each.rater for each in read_labels(path)] == ["ann", "bob"]


def test_a_file_with_nothing_but_a_torn_label_is_a_label_file(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelWriter(path) as writer:
        writer.append(ANN)
    text = path.read_text(encoding="utf-8")[:-30]
    assert is_label_file(text)
    assert not is_label_file('{"item": "a", "ra')


def test_what_is_not_utf_8_within_a_line_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_bytes(_line(note="caf?").encode().replace(b"?", b"\xe9") + b"\n")
    with pytest.raises(SetupError, match="not UTF-8 in line 1"):
        read_labels(path)


def test_labels_of_two_conversations_with_one_run_id_do_not_replace_each_other(tmp_path: Path) -> None:
    path = _file(
        tmp_path, _line(conversation="a"), _line(conversation="b", label="miss"), _line(conversation="a", label=None)
    )
    assert [(each.conversation, each.label) for each in read_labels(path)] == [("b", "miss")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nonsense", "it is not JSON"),
        ("[1]", "it is not a JSON object"),
        ('{"rater": "a", "rater": "b"}', "duplicate key"),
        (_line(rater=...), "'rater' is missing"),
        (_line(run=" "), "'run' is missing"),
        (_line(criterion=3), "'criterion' is not a text"),
        (_line(label=...), "'label' is missing"),
        (_line(label="Hit"), "Did you mean 'hit'"),
        (_line(label="error"), '"error" is not a label; write "hit", "miss" or "unsure"'),
        (_line(label=True), "true is not a label"),
        (_line(label=["hit"]), '["hit"] is not a label'),
        (_line(v=2), "version 2; this Viva reads 1"),
        (_line(v=True), "version True"),
        (_line(note="x" * 70_000), "longer than 65,536"),
        (_line(seconds="3"), "'seconds' is not a number"),
        (_line(seconds=-1), "'seconds' is not a number"),
        (_line(seconds=float("nan")), "NaN is not JSON"),
        (_line(seconds=False), "'seconds' is not a number"),
        (_line(seconds=10**400), "'seconds' is not a number"),
    ],
)
def test_what_is_no_label_is_named_with_file_and_line(tmp_path: Path, line: str, words: str) -> None:
    path = _file(tmp_path, _line(), "", line)
    with pytest.raises(SetupError) as caught:
        read_labels(path)
    assert f"{path}, line 3: " in str(caught.value)
    assert words in str(caught.value)


def test_hostile_text_is_kept_and_cannot_write_to_the_terminal_through_a_message(tmp_path: Path) -> None:
    hostile = "\x1b[2J\u202eevil \ud800\u2028 next"
    path = tmp_path / "labels.jsonl"
    with LabelWriter(path) as writer:
        writer.append(HumanLabel("ann", "sum-1", "total", "miss", note=hostile))
    assert read_labels(path)[0].note == hostile.replace("\ud800", "\\ud800")
    with pytest.raises(SetupError) as caught:
        read_labels(_file(tmp_path, _line(label="\x1b[2Jhit")))
    assert "\x1b" not in str(caught.value)


def test_a_label_file_is_known_by_its_first_line_even_if_that_is_not_a_whole_label() -> None:
    assert is_label_file(f"\n{_line()}\n{{")
    assert is_label_file(_line(label=...))
    assert not is_label_file('{"item": 1, "rater": "a", "label": "x"}')
    assert not is_label_file("item,rater\n")
    assert not is_label_file("")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"the label file .*none\.jsonl cannot be read"):
        read_labels(tmp_path / "none.jsonl")
    with pytest.raises(SetupError, match="cannot be written"):
        LabelWriter(tmp_path)


def test_only_labels_that_can_be_read_are_written(tmp_path: Path) -> None:
    with LabelWriter(tmp_path / "labels.jsonl") as writer, pytest.raises(ValueError, match="not a label"):
        writer.append(HumanLabel("ann", "sum-1", "total", "error"))
    assert read_labels(tmp_path / "labels.jsonl") == []


@given(note=st.text(max_size=50), statement=st.text(st.characters(exclude_categories=[]), max_size=50))
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, note: str, statement: str) -> None:
    path = tmp_path_factory.mktemp("labels") / "labels.jsonl"
    with LabelWriter(path) as writer:
        writer.append(HumanLabel("ann", "sum-1", "total", None))
        writer.append(HumanLabel("ann", "sum-1", "total", "hit", note=note, statement=statement))
        writer.append(HumanLabel("bob", "sum-1", "total", "miss"))
    assert [each.rater for each in read_labels(path)] == ["ann", "bob"]
    assert read_labels(path)[0].note.encode("utf-8", "backslashreplace") == note.encode("utf-8", "backslashreplace")
