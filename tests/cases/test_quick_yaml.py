"""What libyaml parses is what PyYAML's own parser would have made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.cases import CaseError
from viva.cases.yaml import lines
from viva.cases.yaml.lines import LineNumbers, parse_yaml

ROOT = Path(__file__).parents[2]
FILES = sorted(file for folder in ("cases", "docs", "examples", "judge") for file in (ROOT / folder).rglob("*.yaml"))
PARTS = [": ", "- ", "#", " #", "\n", "\n  ", "\r\n", '"', "'", "|\n", ">-\n", "{", "}", "[", "]", ", ", "? ", "!", "%"]
PARTS += [
    "---",
    "...",
    "a",
    "b: c",
    "1",
    "0x1f",
    "1:30",
    "yes",
    "~",
    ".inf",
    "2020-01-01",
    "é",
    "😀",
    "\t",
    "\x85",
    "\x07",
]
PARTS += ["\\n", "\\ud800", "<<: ", "&a ", "*a", "=", "\ufeff", "\r"]

needs_libyaml = pytest.mark.skipif(not yaml.__with_libyaml__, reason="this PyYAML was built without libyaml")


def slowly(text: str) -> tuple[Any, LineNumbers] | list[str]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(yaml, "__with_libyaml__", False)
        return parsed(text)


def parsed(text: str) -> tuple[Any, LineNumbers] | list[str]:
    try:
        return parse_yaml(text.encode(), Path("case.yaml"))
    except CaseError as error:
        return [str(mistake) for mistake in error.mistakes]


@needs_libyaml
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_each_file_here_is_read_alike_with_the_lines_of_everything(file: Path) -> None:
    text = file.read_text()
    assert parsed(text) == slowly(text)


@needs_libyaml
@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=14), st.integers(0, 10_000))
def test_any_text_is_read_or_refused_alike(parts: list[str], at: int) -> None:
    case = (ROOT / "cases" / "weather_asks_back" / "case.yaml").read_text()
    at %= len(case)
    for text in ("".join(parts), case[:at] + "".join(parts) + case[at:]):
        found, before = parsed(text), slowly(text)
        if isinstance(found, list) or isinstance(before, list):
            assert found == before
        else:
            assert repr(found[0]) == repr(before[0])  # NaN is no NaN


@needs_libyaml
def test_the_cases_here_are_parsed_by_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a seventh of the time, which is seconds for a suite of a thousand cases."""
    monkeypatch.setattr(lines._Loader, "__init__", None)  # it cannot be made, and the one of libyaml can
    for file in (ROOT / "cases").rglob("*.yaml"):
        assert isinstance(parsed(file.read_text()), tuple), file


@needs_libyaml
@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb: [\n",
        "a: 'b\n",
        "a: b: c\n",
        "- a\nb\n",
        'a: "\\q"\n',
        "a: {b\n",
        "[ b? ]",
        "a: [b?c]",
        "{a: Is it done? Yes}",
        "- {a?: 1}",
        "&a [b, {c: d?, e: *a}]",
        "[ <<: \n\n ]",
    ],
)
def test_a_mistake_is_told_in_the_same_words(text: str) -> None:
    assert parsed(text) == slowly(text)
    assert isinstance(parsed(text), list)
