"""The run's own folder, and the case's data files in it; prompts that want a value are not sent without it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import jinja2
import pytest

from viva.adapters.machine import check_machine
from viva.adapters.workspace import clear_path, copy_data_files, make_folder
from viva.cases import load_case
from viva.errors import AgentError, SetupError
from viva.models.prompts import digest, render

CASE = """
task_description: Read the files.
data_files: [{files}]
scoring_points: [{{score_point: It read them., weight: 1}}]
"""


def case_with(folder: Path, *files: str) -> Path:
    (folder / "case.yaml").write_text(CASE.format(files=", ".join(files)))
    return folder


def test_a_workspace_is_fresh_and_what_lay_there_is_moved_aside(tmp_path: Path) -> None:
    for text in ("first", "second"):
        (make_folder(clear_path(tmp_path / "run")) / "file").write_text(text)
    assert not clear_path(tmp_path / "run").exists(), "it is made when somebody wants it"
    kept = sorted((folder.name, (folder / "file").read_text()) for folder in tmp_path.glob("run.*"))
    assert kept == [("run.1", "first"), ("run.2", "second")]


def test_a_workspace_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="Choose another --out"):
        make_folder(clear_path(tmp_path / "file" / "run"))


def test_what_cannot_be_moved_aside_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path / "run")

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(SetupError, match=r"No space left .* Choose another --out"):
        clear_path(tmp_path / "run")


def test_files_are_copied_by_name_and_folders_whole(tmp_path: Path) -> None:
    case, workspace = tmp_path / "case", tmp_path / "work"
    (case / "deep" / "er").mkdir(parents=True)
    (case / "deep" / "er" / "b.txt").write_text("b")
    (case / "a.csv").write_text("a")
    copy_data_files(load_case(case_with(case, "a.csv", "deep")), workspace)
    assert (workspace / "a.csv").read_text() == "a"
    assert (workspace / "deep" / "er" / "b.txt").read_text() == "b"
    (workspace / "a.csv").write_text("changed by the agent")
    assert (case / "a.csv").read_text() == "a"


def test_a_link_in_a_data_folder_reads_nothing_from_outside_the_case(tmp_path: Path) -> None:
    case, workspace = tmp_path / "case", tmp_path / "work"
    (case / "deep").mkdir(parents=True)
    (tmp_path / "outside").write_text("not for the agent")
    (case / "deep" / "link").symlink_to(tmp_path / "outside")
    copy_data_files(load_case(case_with(case, "deep")), workspace)
    assert (workspace / "deep" / "link").is_symlink()


def test_a_file_that_cannot_be_copied_is_told_with_both_places(tmp_path: Path) -> None:
    case = tmp_path / "case"
    case.mkdir()
    (case / "a.csv").write_text("a")
    loaded = load_case(case_with(case, "a.csv"))
    (case / "a.csv").unlink()
    with pytest.raises(SetupError, match=r"cannot copy the data file .*a\.csv to .*work"):
        copy_data_files(loaded, tmp_path / "work")


def test_an_agents_links_in_its_workspace_are_replaced_and_never_written_through(tmp_path: Path) -> None:
    case, workspace, outside = tmp_path / "case", tmp_path / "work", tmp_path / "outside"
    for folder in (case / "deep" / "er", workspace / "deep", outside):
        folder.mkdir(parents=True)
    (case / "a.csv").write_text("a")
    (case / "deep" / "b.txt").write_text("b")
    (outside / "precious").write_text("mine")
    (workspace / "a.csv").symlink_to(outside / "precious")
    (workspace / "deep" / "b.txt").symlink_to(outside / "new")
    os.link(outside / "precious", workspace / "linked")
    copy_data_files(load_case(case_with(case, "a.csv", "deep")), workspace)
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"precious": "mine"}
    assert [(workspace / name).read_text() for name in ("a.csv", "deep/b.txt")] == ["a", "b"]


def put(workspace: Path, what: str, outside: Path) -> None:
    """What an agent may leave where data files are to go."""
    if what == "a link":
        workspace.symlink_to(outside)
    elif what == "a dangling link":
        workspace.symlink_to(outside / "new")
    elif what == "a file":
        workspace.write_text("")
    else:
        workspace.mkdir()
        if what == "a folder as a file":
            (workspace / "a.csv").mkdir()
        elif what == "a file as a folder":
            (workspace / "deep").write_text("")
        else:
            (workspace / "deep").symlink_to(outside)


@pytest.mark.parametrize(
    "what", ["a link", "a dangling link", "a file", "a folder as a file", "a file as a folder", "a link as a folder"]
)
def test_an_agent_that_leaves_no_room_for_data_files_is_the_one_that_failed(tmp_path: Path, what: str) -> None:
    """Were it the disk's fault, an agent could keep out of the averages by it."""
    case, outside = tmp_path / "case", tmp_path / "outside"
    outside.mkdir()
    (case / "deep" / "er").mkdir(parents=True)
    (case / "a.csv").write_text("a")
    put(tmp_path / "work", what, outside)
    with pytest.raises(AgentError, match="its workspace"):
        copy_data_files(load_case(case_with(case, "a.csv", "deep")), tmp_path / "work")
    assert not list(outside.iterdir())


def test_a_full_disk_is_not_seen_through_a_link_of_the_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    real = tempfile.TemporaryFile

    def look(**asked: Any) -> Any:
        looked.append(str(asked["dir"]))
        return real(**asked)

    monkeypatch.setattr(tempfile, "TemporaryFile", look)
    (tmp_path / "full").mkdir()
    (tmp_path / "work").symlink_to(tmp_path / "full")
    check_machine(OSError(28, "No space left on device"), tmp_path / "work")
    assert looked == [str(tmp_path)]


def test_a_prompt_without_a_value_it_wants_is_not_rendered(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Task: {{ task }}")
    assert render(prompt, task="<b>{{ x }}</b>") == "Task: <b>{{ x }}</b>"
    with pytest.raises(jinja2.UndefinedError):
        render(prompt)
    assert len(digest(prompt)) == 12
