"""The nearest `viva.yaml` counts, and the search ends at the home folder and at the border of the file system."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.project import finding
from viva.project.finding import find_file


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders `home/project/sub/deep`."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "project" / "sub" / "deep").mkdir(parents=True)
    return tmp_path


def found_from(folder: Path) -> Path | None:
    found = find_file(folder)
    return None if found is None else found.path


def test_the_nearest_one_is_found(tree: Path) -> None:
    project = tree / "home" / "project"
    assert found_from(project / "sub" / "deep") is None
    (project / "viva.yaml").write_text("run: {}")
    assert found_from(project / "sub" / "deep") == project / "viva.yaml"
    (project / "sub" / "viva.yaml").write_text("run: {}")
    assert found_from(project / "sub" / "deep") == project / "sub" / "viva.yaml"
    assert found_from(project) == project / "viva.yaml"


def test_nothing_above_the_home_folder_is_found(tree: Path) -> None:
    (tree / "viva.yaml").write_text("run: {}")
    assert found_from(tree / "home" / "project") is None
    assert found_from(tree / "home") is None
    assert found_from(tree) == tree / "viva.yaml"
    (tree / "home" / "viva.yaml").write_text("run: {}")
    assert found_from(tree / "home" / "project") == tree / "home" / "viva.yaml"


def test_nothing_on_another_file_system_is_found(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tree / "home" / "project"
    (project / "viva.yaml").write_text("run: {}")
    monkeypatch.setattr(finding, "_device", lambda folder: 2 if folder == project / "sub" / "deep" else 1)
    assert found_from(project / "sub" / "deep") is None
    assert found_from(project / "sub") == project / "viva.yaml"


def test_the_folders_above_are_those_of_the_real_folder(tree: Path) -> None:
    """A link into a stranger's folder does not lend that folder one's own file."""
    project = tree / "home" / "project"
    (project / "viva.yaml").write_text("run: {}")
    (tree / "stranger").mkdir()
    (project / "link").symlink_to(tree / "stranger")
    assert found_from(project / "link") is None
