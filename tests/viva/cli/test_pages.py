"""`viva docs`: the pages are found, printed and searched, and every page that a message names exists."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from viva.cli.pages import FOLDERS, Page, pages, search

ROOT = Path(__file__).resolve().parents[3]
NAMES = {page.stem for page in (ROOT / "docs").rglob("*.md")}
SOURCES = ("adapters", "cases", "examiner", "judge", "sandbox", "viva")


def texts() -> Iterator[tuple[str, str]]:
    """Every text in the sources that may name a page, docstrings included, with its file and line."""
    for folder in SOURCES:
        for file in (ROOT / folder).rglob("*.py"):
            if "docs" not in (source := file.read_text()):  # parsing a thousand files takes seconds
                continue
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", " ".join(node.value.split())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty working folder."""
    return Desk(tmp_path)


def test_every_page_that_a_message_names_exists() -> None:
    named = [(at, name) for at, text in texts() for name in re.findall(r"viva docs ([a-z][a-z-]*)", text)]
    assert len(named) > 8
    assert [each for each in named if each[1] not in NAMES] == []


def test_messages_name_pages_as_an_installed_viva_has_them() -> None:
    assert [at for at, text in texts() if re.search(r"\bdocs/[a-z-]+\.md", text)] == []


def test_the_wheel_contains_every_page() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    included = {ROOT / what for what, to in build["force-include"].items() if to.startswith("viva/docs/")}
    files = {file for each in included for file in (each.rglob("*.md") if each.is_dir() else [each])}
    assert {file.stem for file in files} == NAMES
    assert FOLDERS == (ROOT / "viva" / "docs", ROOT / "docs")


def test_the_pages_are_listed_with_their_titles(desk: Desk) -> None:
    lines = desk.viva("docs", expect=0).stdout.splitlines()
    assert [line.split()[2] for line in lines] == sorted(NAMES)
    assert any(re.fullmatch(r"viva docs extend +Extend Viva", line) for line in lines)


@pytest.mark.parametrize("name", ["write-a-case", "docs/write-a-case.md", "Write-A-Case.md", "write-a-case#script"])
def test_a_page_is_printed(desk: Desk, name: str) -> None:
    assert desk.viva("docs", name, expect=0).stdout.rstrip() == (ROOT / "docs/write-a-case.md").read_text().rstrip()


@pytest.mark.parametrize(
    ("name", "words"),
    [("suits", "Did you mean suites?"), ("adapter", "Did you mean write-an-adapter?"), ("", "The pages are ")],
)
def test_an_unknown_page_names_the_nearest(desk: Desk, name: str, words: str) -> None:
    assert words in desk.viva("docs", name, expect=2).stderr
    assert "\x1b" not in desk.viva("docs", "\x1b[31m", expect=2).stderr


def test_sections_are_found_by_all_words(desk: Desk) -> None:
    found = desk.viva("docs", "--search", "RESUME retry", expect=0).stdout
    assert "viva docs suites: " in found
    assert "no section contains" in desk.viva("docs", "--search", "xyzzy", expect=2).stderr
    assert "at least one word" in desk.viva("docs", "--search", " ", expect=2).stderr
    only = desk.viva("docs", "models", "--search", "model", expect=0).stdout
    assert {line.split(":")[0] for line in only.splitlines() if not line.startswith(" ")} == {"viva docs models"}


def test_a_comment_in_code_is_no_heading() -> None:
    page = Page("x", "# Title\n\n```sh\n# a comment\n```\n\n## Second\n\nwords\n")
    assert [heading for heading, _ in page.sections()] == ["Title", "Second"]
    assert [hit.heading for hit in search(["comment"], [page])] == ["Title"]


def test_every_page_has_a_title() -> None:
    assert all(page.title != page.name for page in pages())
