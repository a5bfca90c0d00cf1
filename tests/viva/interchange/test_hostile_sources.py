"""Hostile sources end with a message or in the report, quickly, and leave nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import viva
from tests.viva.interchange.imports import all_cases
from viva.cases import load_case
from viva.errors import SetupError
from viva.interchange.names import CaseNames, safe_name

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 10)
)
CONFIG = 'prompts: ["{{q}}"]\nproviders: [x]\ntests: [{vars: {q: Hi}}]\n'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("promptfooconfig.yaml", (BOMB + CONFIG).encode(), "more than 2,000,000 values"),
        ("promptfooconfig.yaml", b"tests: &t [*t]\n" + CONFIG.encode(), "nested deeper|duplicate|not valid YAML"),
        ("promptfooconfig.yaml", b"[" * 5000, "nested deeper"),
        ("promptfooconfig.yaml", b"- [" + b"1, " * 120_000 + b"1]", "more than 100,000 values"),
        ("promptfooconfig.yaml", b"x" * 5_000_000, "longer than 4,194,304 characters"),
        ("promptfooconfig.yaml", b"tests: [\xff\xfe]", "not UTF-8 in line 1"),
        ("promptfooconfig.yaml", b"a: 2024-99-99\n" + CONFIG.encode(), "cannot be read"),
        ("promptfooconfig.yaml", b"tests: [", "not valid YAML in line"),
        ("rows.json", b"[" * 100_000, "nested deeper"),
        ("rows.json", b'[{"input": ' + b"9" * 10_000 + b"}]", ""),
        ("rows.json", b'{"input": "Hi"', "not valid JSON"),
        ("rows.jsonl", b'{"input": "Hi"}\n{"input": \n', "not valid JSON in line 2"),
        ("rows.csv", b'input,expected\n"Hi', ""),
        ("rows.csv", "input,expected\nGrüße,ja\n".encode("latin-1"), "not UTF-8 in line 2"),
        ("rows.json", b"", "not valid JSON|no known format|cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_and_leaves_nothing(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    if not words:
        assert viva.import_cases(tmp_path / name, tmp_path / "out").cases
        return
    with pytest.raises(SetupError, match=words):
        viva.import_cases(tmp_path / name, tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "title", ["../../etc/passwd", "/etc/passwd", "..", ".hidden", "a/b\\c", "nul", "", "\0\n", "é" * 500]
)
def test_a_title_becomes_a_safe_name_within_the_folder(tmp_path: Path, title: str) -> None:
    tests = [{"description": title, "vars": {"q": f"Hi {number}"}} for number in (1, 2)]
    (tmp_path / "promptfooconfig.json").write_text(json.dumps({"prompts": ["{{q}}"], "providers": [], "tests": tests}))
    report = viva.import_cases(tmp_path / "promptfooconfig.json", tmp_path / "out")
    assert len(set(report.cases)) == 2
    assert sorted(case.name for case in all_cases(tmp_path / "out")) == sorted(report.cases)
    assert {each.name for each in (tmp_path / "out").iterdir()} == {"cases.yaml", "import-report.json"}
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


@pytest.mark.parametrize("identity", ["../../etc/passwd", "..", "a/b\\c", "x]#[y", "\0\n", " ", "é" * 500, 7])
def test_any_id_names_its_row(tmp_path: Path, identity: str | int) -> None:
    (tmp_path / "rows.json").write_text(json.dumps([{"id": identity, "input": "Hi"}, {"id": identity, "input": "Ho"}]))
    report = viva.import_cases(tmp_path / "rows.json", tmp_path / "out")
    assert len(set(report.cases)) == 2
    assert [case.name for case in all_cases(tmp_path / "out")] == report.cases
    assert [load_case(Path(case.reference)).script for case in all_cases(tmp_path / "out")]


def test_names_differ_in_more_than_the_case_of_letters() -> None:
    names = CaseNames()
    found = [names.of(title) for title in ("Price", "price", "PRICE", "price-2", "Straße", "STRASSE")]
    assert len({name.casefold() for name in found}) == 6


def test_a_name_begins_with_neither_a_dot_nor_a_dash() -> None:
    assert [safe_name(title)[0] for title in ("-rf", "...x", "--out", "_-a")] == ["r", "x", "o", "a"]


def test_foreign_tags_build_nothing(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    text = CONFIG + f'env: !!python/object/apply:os.system ["touch {witness}"]\nodd: !env HOME\n'
    (tmp_path / "promptfooconfig.yaml").write_text(text)
    assert viva.import_cases(tmp_path / "promptfooconfig.yaml", tmp_path / "out").cases
    assert not witness.exists()


def test_a_key_that_is_given_twice_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('[{"input": "Hi", "expected": "first", "expected": "second"}]')
    viva.import_cases(tmp_path / "rows.json", tmp_path / "out")
    report = json.loads((tmp_path / "out" / "import-report.json").read_text())
    assert [each["value"] for each in report["reported"]] == ["first"]


@pytest.mark.parametrize("content", ["a file", "a folder with a file"])
def test_a_place_that_holds_something_is_not_touched(tmp_path: Path, content: str) -> None:
    (tmp_path / "rows.json").write_text('[{"input": "Hi"}]')
    out = tmp_path / "out"
    if content == "a file":
        out.write_text("mine")
    else:
        out.mkdir()
        (out / "mine").write_text("mine")
    with pytest.raises(SetupError, match="exists and is not an empty folder"):
        viva.import_cases(tmp_path / "rows.json", out)
    assert (out if out.is_file() else out / "mine").read_text() == "mine"


def test_control_characters_and_halves_of_characters_are_kept_as_escapes(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('[{"input": "a\\ud800b\\u0000c\\u0085d\\u202ee", "expected": "\\ud83d"}]')
    viva.import_cases(tmp_path / "rows.json", tmp_path / "out")
    (case,) = all_cases(tmp_path / "out")
    assert case.script[0].say == "a\\ud800b\0c\x85d\u202ee"
