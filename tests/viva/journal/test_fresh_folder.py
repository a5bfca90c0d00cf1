"""The folder of a new journal is removed with what Viva put there, and with nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from viva.journal.fresh_folder import MADE, FreshFolder
from viva.journal.writer import FILE, Journal


@pytest.mark.parametrize("before", [False, True])
def test_what_others_put_there_is_kept(tmp_path: Path, *, before: bool) -> None:
    folder = tmp_path / "build"
    if before:
        folder.mkdir()
    fresh = FreshFolder(folder)
    with Journal(folder):
        (folder / "junit.xml").write_text("of another program")
        (folder / "htmlcov").mkdir()
        (folder / "htmlcov" / "index.html").write_text("of another program")
    fresh.remove()
    assert sorted(each.name for each in folder.iterdir()) == ["htmlcov", "junit.xml"]
    assert (folder / "htmlcov" / "index.html").is_file()


def test_what_viva_put_there_is_removed_with_the_folders_made_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "new"
    fresh = FreshFolder(folder)
    with Journal(folder):
        for name in (".lock", "request.json", "last-words.txt"):
            (folder / name).touch()
        for name in ("cases", "files", "images", "texts", "workspaces"):
            (folder / name).mkdir()
            (folder / name / "x").touch()
    fresh.remove()
    assert not (tmp_path / "runs").exists()


def test_every_file_of_the_formats_page_is_removed_except_what_people_ordered(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    table = page.partition("| in the folder |")[2].partition("\n\n")[0]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = {name.partition("/")[0] for cell in first for name in re.findall("`([^`]+)`", cell)}
    assert listed == MADE | {"report.html", "report_files"}


def test_what_was_there_before_is_kept(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    fresh = FreshFolder(tmp_path)
    Journal(tmp_path).close()
    fresh.remove()
    assert not (tmp_path / FILE).exists()
    assert (tmp_path / "cases").is_dir()
