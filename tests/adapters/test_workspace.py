"""The run's own folder, and the case's data files in it; prompts that want a value are not sent without it."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest

from adapters.errors import SetupError
from adapters.models.prompts import digest, render
from adapters.workspace import clear_path, copy_data_files, make_folder
from cases import load_case

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


def test_a_prompt_without_a_value_it_wants_is_not_rendered(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Task: {{ task }}")
    assert render(prompt, task="<b>{{ x }}</b>") == "Task: <b>{{ x }}</b>"
    with pytest.raises(jinja2.UndefinedError):
        render(prompt)
    assert len(digest(prompt)) == 12
