"""Parameters behind the name of a part: literals with names, beside commas and parentheses of all kinds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.plugins.import_strings import PluginError
from viva.plugins.parameters import is_literal, parameters_in_words, split_list, split_parameters


@pytest.mark.parametrize(
    ("spec", "part", "parameters"),
    [
        ("reward", "reward", {}),
        ("file.py:Brevity", "file.py:Brevity", {}),
        ("file.py:Brevity()", "file.py:Brevity", {}),
        ("file.py:Brevity(words=3)", "file.py:Brevity", {"words": 3}),
        ("loops(window = -2.5) ", "loops", {"window": -2.5}),
        ("a.b:C.d(x='a, (b', y=[1, (2,)], z={'k': None})", "a.b:C.d", {"x": "a, (b", "y": [1, (2,)], "z": {"k": None}}),
        ("my(old)/file.py:Brevity", "my(old)/file.py:Brevity", {}),
        ("my(old)/file.py:Brevity(words=3)", "my(old)/file.py:Brevity", {"words": 3}),
        ("my (old)/file.py:Brevity(at='a:b(c)')", "my (old)/file.py:Brevity", {"at": "a:b(c)"}),
    ],
)
def test_a_name_is_split_from_its_parameters(spec: str, part: str, parameters: dict[str, Any]) -> None:
    assert split_parameters(spec) == (part, parameters)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("(3)", "name each parameter, as in Brevity(parameter=3)"),
        ("(*[3])", "name each parameter"),
        ("(**{'words': 3})", "name each parameter"),
        ("(words=len('abc'))", "the value of 'words' must be a number, a text in quotes"),
        ("(words={1, 2})", "the value of 'words' must be a number, a text in quotes, True, False, None, or a list"),
        ("(words=three)", "the value of 'words' must be"),
        ("(words=__import__('os').system('true'))", "the value of 'words' must be"),
        ("(words=3, words=4)", "'words' is given twice"),
        ("(words=3", "'(' was never closed"),
        ("(words=3)(4)", "something follows the parentheses"),
        ("(words=)", "invalid syntax"),
        ("(words=" + "[" * 5000 + ")", "cannot be read"),
    ],
)
def test_what_are_no_named_literals_is_refused_in_words(parameters: str, words: str) -> None:
    with pytest.raises(PluginError) as refused:
        split_parameters(f"file.py:Brevity{parameters}")
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" a ,, b", ["a", "b"]),
        ("f.py:B(x=1, y=[2, 3]),reward", ["f.py:B(x=1, y=[2, 3])", "reward"]),
        ("f.py:B(x='(,', y=\"it's, ok\"),reward", ["f.py:B(x='(,', y=\"it's, ok\")", "reward"]),
        (r"f.py:B(x='\',('),reward", [r"f.py:B(x='\',(')", "reward"]),
        ("it's/f.py:B,that's.py:C", ["it's/f.py:B", "that's.py:C"]),
        ("m)/f.py:B,c", ["m)/f.py:B", "c"]),
    ],
)
def test_a_list_is_split_at_the_commas_outside_of_parameters(text: str, parts: list[str]) -> None:
    assert split_list(text) == parts


LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@given(st.lists(st.dictionaries(st.sampled_from(("words", "tone", "x")), LITERALS), max_size=3))
def test_any_literals_are_read_back_beside_each_other(several: list[dict[str, Any]]) -> None:
    written = [f"it's/a.py:B({', '.join(f'{name}={value!r}' for name, value in each.items())})" for each in several]
    assert [split_parameters(spec) for spec in split_list(",".join(written))] == [
        ("it's/a.py:B", each) for each in several
    ]
    for each in several:
        assert is_literal(list(each.values()))
        words = parameters_in_words(each)
        if "<" not in words:
            assert split_parameters(f"b({words})") == ("b", each)


def test_equal_parameters_have_equal_words() -> None:
    one = {"words": 3, "of": {"b": 1, "a": 2}}
    other = {"of": {"a": 2, "b": 1}, "words": 3}
    words = "of={'a': 2, 'b': 1}, words=3"
    assert parameters_in_words(one) == parameters_in_words(other) == words


def test_long_and_secret_values_are_described_and_cannot_be_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "squeamish-ossifrage")
    for value in ("a" * 500, "a" * 499 + "b"):
        words = parameters_in_words({"text": value})
        assert words.startswith("text=<502 characters, SHA-256 ")
        with pytest.raises(PluginError):
            split_parameters(f"b({words})")
    assert parameters_in_words({"text": "a" * 500}) != parameters_in_words({"text": "a" * 499 + "b"})
    assert parameters_in_words({"key": "abc", "x": "squeamish-ossifrage"}) == "key=<redacted>, x=<redacted>"
    assert parameters_in_words({"max_tokens": 5}) == "max_tokens=5"
