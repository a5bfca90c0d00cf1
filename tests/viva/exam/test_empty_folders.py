"""An empty workspace is removed, on a thread where the file system is slow, and what holds a file stays."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from viva.exam import empty_folders
from viva.exam.empty_folders import EmptyFolders


@pytest.fixture(params=[True, False], ids=["slow", "quick"])
def slow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(empty_folders, "SLOW", -1.0 if request.param else 3600.0)
    monkeypatch.setattr(empty_folders, "SLOW_FOR", 3600.0)
    return bool(request.param)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each removal was done on another thread than the event loop's."""
    found, remove, main = [], empty_folders._remove, threading.current_thread()

    def seen(folder: Path) -> None:
        found.append(threading.current_thread() is not main)
        remove(folder)

    monkeypatch.setattr(empty_folders, "_remove", seen)
    return found


async def test_it_is_removed_and_after_a_slow_removal_on_a_thread(
    tmp_path: Path, slow: bool, threads: list[bool]
) -> None:
    folders = EmptyFolders()
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        await folders.remove(tmp_path / str(number), at_once=True)
        assert not (tmp_path / str(number)).exists()
    assert threads == [False, slow, slow]


async def test_after_a_while_the_file_system_may_be_quick_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: list[bool]
) -> None:
    monkeypatch.setattr(empty_folders, "SLOW", -1.0)
    monkeypatch.setattr(empty_folders, "SLOW_FOR", 0.0)
    folders = EmptyFolders()
    for _ in range(2):
        await folders.remove(tmp_path / "missing", at_once=True)
    assert threads == [False, False]


@pytest.mark.usefixtures("slow")
async def test_what_holds_a_file_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    folders = EmptyFolders()
    for _ in range(2):
        await folders.remove(tmp_path / "kept", at_once=True)
    assert (tmp_path / "kept" / "file").exists()
