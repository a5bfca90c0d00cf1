"""How a field of a case file is declared: one line in the dataclass, from which its key and its reading follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest

from viva.cases import Case
from viva.cases.case import READER, read_as
from viva.cases.field_readers import CaseReader, case_keys
from viva.cases.yaml.lines import read_yaml
from viva.records.codec import decode, encode, loads

SOUND = """\
task_description: Ask for the sum of two numbers.
scoring_points:
  - score_point: The sum is right.
    weight: 1
"""


@dataclass(frozen=True, slots=True)
class LongerCase(Case):
    """A case with one more field of each plain kind, each of them one line."""

    language: str | None = field(default=None, metadata=read_as("text"))
    temperature: float | None = field(default=None, metadata=read_as("number", unit="degrees"))
    turns: int | None = field(default=None, metadata=read_as("whole_number"))
    topics: tuple[str, ...] = field(default=(), metadata=read_as("texts"))
    strict: bool = field(default=False, metadata=read_as("flag"))
    extra: Mapping[str, Any] | None = field(default=None, metadata=read_as("mapping"))
    note: str = "not from the file"


def read(tmp_path: Path, text: str) -> tuple[dict[str, Any], list[tuple[int | None, str]]]:
    file = tmp_path / "case.yaml"
    file.write_text(SOUND + text)
    data, lines, _ = read_yaml(file)
    reader = CaseReader(data, lines, file, LongerCase)
    return reader.read(), [(mistake.line, mistake.message) for mistake in reader.mistakes]


def test_a_new_field_of_a_plain_kind_is_one_line(tmp_path: Path) -> None:
    text = (
        "language: de\ntemperature: 2\nturns: 3\ntopics: [a, b]\nstrict: true\nextra: {x: 1}\n"  # every new one
        "tags: [kept]\n"
    )
    found, mistakes = read(tmp_path, text)
    assert mistakes == []
    case = LongerCase(name="x", file=tmp_path / "case.yaml", hash="0", **found)
    assert (case.language, case.temperature, case.turns, case.topics) == ("de", 2.0, 3, ("a", "b"))
    assert (case.strict, case.extra, case.tags, case.note) == (True, {"x": 1}, ("kept",), "not from the file")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("language: 5", "language must be text, not 5; put it in quotes"),
        ("temperature: cold", "temperature must be a number above 0 (degrees), not 'cold'"),
        ("turns: 1.5", "turns must be a whole number above 0, not 1.5"),
        ("topics: many", "topics must be a list, not 'many'"),
        ("strict: maybe", "strict must be true or false, not 'maybe'"),
        ("extra: [1]", "extra must be a mapping, not [1]"),
        ("langage: de", "unknown key 'langage'; did you mean 'language'?"),
        ("note: mine", "unknown key 'note'; "),
    ],
)
def test_a_new_field_comes_with_its_messages_and_lines(tmp_path: Path, text: str, message: str) -> None:
    _, ((line, said),) = read(tmp_path, text + "\n")
    assert line == 5
    assert said.startswith(message)


def test_a_field_without_a_default_value_in_the_file_keeps_its_default(tmp_path: Path) -> None:
    found, _ = read(tmp_path, "")
    case = LongerCase(name="x", file=tmp_path, hash="0", **found)
    for each in fields(LongerCase):
        if each.name in case_keys(LongerCase) and each.name not in ("task_description", "scoring_points"):
            default = each.default if each.default_factory is MISSING else each.default_factory()
            assert getattr(case, each.name) == default, each.name


def test_every_field_has_a_reader_except_those_that_say_where_the_case_is() -> None:
    assert {each.name for each in fields(Case)} - set(case_keys(Case)) == {
        "name",
        "file",
        "hash",
        "entry",
        "row",
        "columns",
        "point_groups",
        "for_recordings",
        "data_folder",
    }
    for each in fields(Case):
        if READER in each.metadata:
            assert callable(getattr(CaseReader, each.metadata[READER][0])), each.name


def test_a_stored_case_of_another_version_is_still_read() -> None:
    """Fields that came later are at their default, and fields that are not known are ignored."""
    stored = {
        "name": "old",
        "file": "case.yaml",
        "hash": "0" * 64,
        "task_description": "Ask.",
        "scoring_points": [{"id": "p", "score_point": "It is right.", "weight": 1}],
        "from_the_future": {"x": 1},
        "check_limits": None,
    }
    case = decode(Case, stored)
    assert case.check_limits == Case("", Path(), "", "", ()).check_limits
    assert case.version is None
    assert decode(Case, loads(encode(case))) == case
