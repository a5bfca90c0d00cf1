"""The script of a case: plain lines, loops, and lines that wait for what the agent said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.cases import CaseError, ScriptLine, load_case
from viva.cases.script import MAX_REPEATS, ScriptMistake, read_script_line

POINT = "task_description: x\nscoring_points: [{score_point: y, weight: 1}]\n"


def test_a_script_in_a_file_becomes_its_messages(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(
        POINT
        + """\
script:
  - Hello.
  - say: 'Two: with a colon'
  - for: i in -1..1
    say: Add {i} to {n} and {{i}}.
  - if_agent_says: which (city|town)\\?
    say: New York.
  - for: n in 3..3
    if_agent_says: more
    say: Say {n}
"""
    )
    script = load_case(tmp_path).script
    assert [list(line.messages()) for line in script] == [
        ["Hello."],
        ["Two: with a colon"],
        ["Add -1 to {n} and {-1}.", "Add 0 to {n} and {0}.", "Add 1 to {n} and {1}."],
        ["New York."],
        ["Say 3"],
    ]
    assert [line.if_agent_says for line in script] == [None, None, None, "which (city|town)\\?", "more"]


@given(st.text().filter(str.strip))
def test_text_without_a_loop_is_said_as_it_stands(text: str) -> None:
    assert list(read_script_line(text).messages()) == [text]
    assert list(read_script_line({"say": text}).messages()) == [text]


@given(st.text().filter(str.strip), st.integers(-1000, 1000), st.integers(0, 50))
def test_only_the_counters_own_braces_are_filled_in(text: str, first: int, more: int) -> None:
    line = read_script_line({"say": text, "for": f"number in {first}..{first + more}"})
    said = list(line.messages())
    assert len(said) == more + 1
    assert all(message == text.replace("{number}", str(first + index)) for index, message in enumerate(said))


@pytest.mark.parametrize("written", ["n in 1..50", " n  in 1 .. 50 ", "n in 01..050"])
def test_a_loop_may_be_spaced_freely(written: str) -> None:
    line = read_script_line({"say": "{n}", "for": written})
    assert (line.first, line.last, list(line.messages())[-1]) == (1, 50, "50")


@pytest.mark.parametrize(
    "written",
    [
        "n in 5..1",
        "n in 1-5",
        "n from 1..5",
        "in 1..5",
        "n in a..b",
        "1..5",
        "",
        "n in 1..",
        5,
        True,
        ["n"],
        "n in 1...5",
        f"n in 1..{MAX_REPEATS + 1}",
        "n in 1..99999999999",
        f"n in 1..{'9' * 5000}",
        f"n in {'9' * 5000}..1",
        "n in 1..5; x",
        "2n in 1..5",
    ],
)
def test_a_loop_of_another_form_is_a_mistake_with_an_example(written: object) -> None:
    with pytest.raises(ScriptMistake, match=r"for (must look like 'n in 1\.\.50'|counts upwards)") as caught:
        read_script_line({"say": "{n}", "for": written})
    assert caught.value.key == "for"


@pytest.mark.parametrize(
    "pattern",
    ["(", "*", "[z-a]", "a{99999999999999}", "(" * 5000 + ")" * 5000, "(?P<a>x)(?P<a>y)", 5, ["a"], b"bytes", "\\"],
)
def test_a_bad_regular_expression_is_a_mistake(pattern: object) -> None:
    with pytest.raises(ScriptMistake, match="if_agent_says must be") as caught:
        read_script_line({"say": "x", "if_agent_says": pattern})
    assert caught.value.key == "if_agent_says"
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "item", [None, 5, ["x"], "", "  ", {}, {"say": None}, {"say": 5}, {"say": ""}, {"for": "n in 1..2"}]
)
def test_a_line_without_words_is_a_mistake(item: object) -> None:
    with pytest.raises(ScriptMistake, match="a script line"):
        read_script_line(item)


@pytest.mark.parametrize("written", ["[]", "hello", "{say: hello}", "5"])
def test_a_script_that_is_no_list_is_a_mistake(tmp_path: Path, written: str) -> None:
    (tmp_path / "case.yaml").write_text(f"{POINT}script: {written}\n")
    with pytest.raises(CaseError, match=r"case\.yaml:3: script must be a list of messages"):
        load_case(tmp_path)


def test_mistakes_in_a_script_stand_in_their_own_lines(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(
        POINT + "script:\n  - ok\n  - say: x\n    if_agent_says: '('\n  - for: n in 3..1\n    say: x\n  - 5\n  - {}\n"
    )
    with pytest.raises(CaseError) as caught:
        load_case(tmp_path)
    assert [mistake.line for mistake in caught.value.mistakes] == [6, 7, 9, 10]


def test_a_line_of_its_own_kind_equals_one_read(tmp_path: Path) -> None:
    assert read_script_line({"say": "x {n}", "for": "n in 1..2"}) == ScriptLine("x {n}", 1, 2)


def test_a_long_message_said_very_often_takes_the_memory_of_one() -> None:
    line = read_script_line({"say": "{n}" + "x" * 1_000_000, "for": "n in 1..100000"})
    said = line.messages()
    assert [next(said)[:2], next(said)[:2]] == ["1x", "2x"]
