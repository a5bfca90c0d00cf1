"""What an agent sends as a file, or names as a folder, leads nowhere but into its workspace."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from viva.adapters.connectors.acp.terminals import TerminalRefused, Terminals
from viva.adapters.connectors.workspace_files import FileRefused, folder_inside, read_text, write_file


def linked_file(workspace: Path, outside: Path) -> None:
    (workspace / "report.txt").symlink_to(outside / "report.txt")


def linked_workspace(workspace: Path, outside: Path) -> None:
    workspace.rmdir()
    workspace.symlink_to(outside)


def pipe(workspace: Path, outside: Path) -> None:
    os.mkfifo(workspace / "report.txt")


def folder(workspace: Path, outside: Path) -> None:
    (workspace / "report.txt").mkdir()


@pytest.mark.parametrize("made", [linked_file, linked_workspace, pipe, folder])
def test_a_file_is_written_to_nothing_but_a_file_of_the_workspace(
    made: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    for each in (workspace, outside):
        each.mkdir()
    (outside / "report.txt").write_text("mine")
    made(workspace, outside)
    with pytest.raises(FileRefused, match=r"^report\.txt: "):
        write_file(workspace, ("report.txt",), b"theirs", "report.txt")
    assert (outside / "report.txt").read_text() == "mine"


def test_a_file_that_is_sent_again_has_its_new_content_only(tmp_path: Path) -> None:
    for content in (b"much longer", b"short"):
        write_file(tmp_path, ("report.txt",), content, "report.txt")
    assert (tmp_path / "report.txt").read_bytes() == b"short"


def test_a_remote_agents_file_with_the_name_of_a_link_is_its_fault(tmp_path: Path) -> None:
    types = pytest.importorskip("a2a.types")
    from viva.adapters.connectors.a2a.parts import Parts
    from viva.errors import AgentError

    (tmp_path / "report.txt").symlink_to(tmp_path / "other.txt")
    part = types.Part(raw=b"theirs", filename="report.txt")
    with pytest.raises(AgentError, match=r"the workspace cannot hold the agent's file report\.txt: .*link"):
        Parts(tmp_path).text_of([part])
    assert not (tmp_path / "other.txt").exists()


async def test_a_folder_that_was_replaced_since_it_was_checked_is_not_entered(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    for each in (workspace / "sub", outside):
        each.mkdir(parents=True)
    checked = folder_inside(workspace, str(workspace / "sub"))
    (workspace / "sub").rename(workspace / "moved")
    (workspace / "sub").symlink_to(outside)
    terminals = Terminals()
    with pytest.raises(TerminalRefused, match="cannot be run"):
        await terminals.create(["sh", "-c", "touch here"], checked, {}, None)
    assert not list(outside.iterdir())


def test_lines_are_counted_by_their_newlines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("one\fstill one\u2028and one\x85\r\ntwo\n\nfour".encode())
    lines = [read_text(tmp_path, str(tmp_path / "a.txt"), line, 1) for line in range(1, 6)]
    assert lines == ["one\fstill one\u2028and one\x85\r\n", "two\n", "\n", "four", ""]
