"""Whoever watches a journal reads its request once, however much is appended, and again if it was replaced."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.viva.reports.made import write_run
from viva.errors import SetupError
from viva.journal.kept_files import read_kept
from viva.journal.writer import Journal
from viva.suites.at_work.status import StatusReader
from viva.suites.request import SuiteRequest
from viva.suites.resuming import signature
from viva.suites.resuming.request_facts import RequestFacts, RequestReader
from viva.suites.resuming.signature import signed
from viva.suites.resuming.stored_request import FILE, save_request
from viva.viewer.watched import WatchedJournal


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read to find requests."""
    names: list[str] = []

    def noting(folder: Path, name: str) -> bytes | None:
        names.append(name)
        return read_kept(folder, name)

    monkeypatch.setattr(signature, "read_kept", noting)
    return names


def viewer(folder: Path) -> Callable[[], tuple[str, int]]:
    journal = WatchedJournal(folder)

    def look() -> tuple[str, int]:
        journal.follow()
        return journal.command, journal.planned

    return look


def status(folder: Path) -> Callable[[], tuple[str, int]]:
    reader = StatusReader(folder)

    def look() -> tuple[str, int]:
        found = reader.read()
        return found.command, found.planned

    return look


@pytest.mark.parametrize("kind", [viewer, status])
def test_a_request_is_read_once_while_its_journal_grows(
    tmp_path: Path,
    read: list[str],
    monkeypatch: pytest.MonkeyPatch,
    kind: Callable[[Path], Callable[[], tuple[str, int]]],
) -> None:
    monkeypatch.setattr("viva.suites.at_work.status.holder", lambda folder: os.getpid())
    with Journal(tmp_path) as journal:
        save_request(SuiteRequest(command="suite", paths=("x",), planned=7), journal)
        write_run(journal, "case 0")
        look = kind(tmp_path)
        for number in range(1, 6):
            assert look() == ("suite", 7)
            write_run(journal, f"case {number}")
    assert read == [FILE]


def test_a_request_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    reader = RequestReader(tmp_path)
    assert reader.read() is None
    with Journal(tmp_path) as journal:
        save_request(SuiteRequest(command="suite", paths=("x",), planned=7), journal)
    assert reader.read() == RequestFacts("suite", 7)
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(b"{")
    for _ in range(2):
        with pytest.raises(SetupError, match="cannot be read"):
            reader.read()
    new = tmp_path / "new"
    new.write_bytes(signed(whole.replace(b'"planned": 7', b'"planned": 8').replace(b'"planned":7', b'"planned":8')))
    new.replace(tmp_path / FILE)
    assert reader.read() == RequestFacts("suite", 8)
