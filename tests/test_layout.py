"""The promises of the layout, and what the pages for maintainers say of it."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
VIVA = ROOT / "viva"
LINKED = ("adapters", "cases", "examiner", "judge", "sandbox")
"""Folders at the top of the repository that are part of the package `viva`."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = [ARCHITECTURE, ROOT / "CONTRIBUTING.md"]
LARGEST_SHARE = 0.16
MOST_MODULES = 20


def folders() -> Iterator[Path]:
    """All folders of the product with Python modules, by their real paths."""
    for top in (VIVA, *(ROOT / name for name in LINKED)):
        for folder in (top, *(path for path in top.rglob("*") if path.is_dir() and not path.is_symlink())):
            if any(folder.glob("*.py")):
                yield folder


@functools.cache
def lines_below(folder: Path) -> int:
    return sum(len(file.read_text().splitlines()) for file in folder.rglob("*.py"))


FOLDERS = [pytest.param(folder, id=str(folder.relative_to(ROOT))) for folder in folders()]


def test_the_folders_at_the_top_are_linked_into_the_package() -> None:
    links = {path.name: path.readlink() for path in VIVA.iterdir() if path.is_symlink()}
    assert links == {name: Path("..", name) for name in LINKED}


@pytest.mark.parametrize("folder", [each for each in FOLDERS if each.values[0] != VIVA])
def test_no_folder_holds_more_than_its_share_of_the_code(folder: Path) -> None:
    whole = sum(lines_below(each) for each in (VIVA, *(ROOT / name for name in LINKED)))
    assert lines_below(folder) <= LARGEST_SHARE * whole


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_folder_has_more_modules_than_a_reader_can_survey(folder: Path) -> None:
    modules = [file.name for file in folder.glob("*.py") if file.name != "__init__.py"]
    assert len(modules) <= MOST_MODULES, sorted(modules)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_package_says_what_it_holds(folder: Path) -> None:
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))


@pytest.mark.parametrize("name", LINKED)
@pytest.mark.parametrize("statement", ["import {name}", "from {name} import x", "from {name}.y import x"])
@pytest.mark.parametrize("place", ["viva/exam/new.py", "judge/new.py", "tests/new.py", "bench/new.py"])
def test_no_module_is_imported_under_a_second_name(name: str, statement: str, place: str) -> None:
    words = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--no-cache", "--stdin-filename", place, "-"]
    done = subprocess.run(words, cwd=ROOT, input=statement.format(name=name), capture_output=True, text=True)
    assert f"import viva.{name}" in done.stdout
    assert "TID251" in PROJECT["tool"]["ruff"]["lint"]["select"]


def paths_on(page: Path) -> set[str]:
    """The paths in code type on a page: everything with a slash, and the names of Python files."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([\w./-]+)`", text)
    return {span for span in spans if "/" in span or span.endswith(".py")}


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_every_path_that_a_page_for_maintainers_names_is_there(page: Path) -> None:
    paths = paths_on(page)
    assert len(paths) > 15
    assert {path for path in paths if not (ROOT / path).exists()} <= {".venv"}
    assert {path for path in paths if (ROOT / path).is_dir() != path.endswith("/")} <= {".venv"}


def part_of(heading: str) -> str:
    """The part of the architecture page below a heading."""
    return ARCHITECTURE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]


def test_every_step_of_the_run_is_where_the_page_says() -> None:
    """A step that moved or was renamed is to be told on the page, too."""
    steps = re.findall(r"^\d+\. (.*(?:\n   .*)*)", part_of("One run, from command to verdict"), re.MULTILINE)
    assert 0 < len(steps) <= 10
    for step in steps:
        named = re.findall(r"`([\w/]+\.py)`: `(\w+)`", step)
        assert named, step
        for file, name in named:
            tree = ast.parse((ROOT / file).read_text())
            kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            assert name in {node.name for node in tree.body if isinstance(node, kinds)}, f"{file}: {name}"


def test_the_folders_on_the_page_are_in_the_order_that_is_enforced() -> None:
    (contract,) = (each for each in PROJECT["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    enforced = [set(layer.split(" | ")) for layer in contract["layers"]]
    rows = [row for row in part_of("What each folder promises").splitlines() if row.startswith("| `")]
    told = [{Path(path).stem for path in re.findall(r"`([\w./]+)`", row.split(" | ")[0])} for row in rows]
    assert told == enforced
    assert contract["exhaustive"] is True


def test_each_noun_is_defined_in_the_file_that_the_page_names() -> None:
    rows = re.findall(r"^\| (\w+) \| .* \| `([\w/]+\.py)` \|$", part_of("Twelve nouns"), re.MULTILINE)
    assert len(rows) == 12
    for noun, file in rows:
        defined = {node.name for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.ClassDef)}
        assert noun in defined, file
