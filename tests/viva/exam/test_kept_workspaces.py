"""A journal holds the agents' files, wherever they worked, and its own paths lead nowhere else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.journals import edit
from tests.viva.conftest import Desk, point
from viva.exam import kept_workspaces
from viva.exam.kept_workspaces import find_workspace, keep_workspace, workspace_name
from viva.journal.reader import StoredRun, read_records, read_runs
from viva.journal.writer import FILE
from viva.records import Setting, Transcript

ELSEWHERE = """
def __init__(self, task_description, app_dir=None, config_var=None):
    self.workspace = app_dir
    Path(app_dir).mkdir(exist_ok=True)
def get_reply_from_agent(self, message):
    (Path(self.workspace) / "made.txt").write_text("made")
    return "done"
"""
CHECK = "assert open('made.txt').read() == 'made'"


def elsewhere(desk: Desk, check: str = CHECK) -> Path:
    """Hold an exam of an agent that works in a folder of its own; returns that folder."""
    work = desk.folder / "session" / "cwd"
    work.parent.mkdir()
    case = desk.case(app_dir=str(work), scoring_points=[point(check)])
    assert desk.run(case, "--agent", desk.agent(ELSEWHERE))["score"] == 1
    return work


def scores(folder: Path) -> list[tuple[str, float | None]]:
    return [(record.outcome.value, record.score) for record in read_records(folder)]


def test_files_of_an_agent_that_works_elsewhere_are_in_the_journal_and_are_judged_from_it(desk: Desk) -> None:
    work = elsewhere(desk)
    shutil.rmtree(work)
    (stored,) = read_runs(desk.folder / "journal")
    assert stored.setting.workspace == f"workspaces/{stored.id}"
    shutil.copytree(desk.folder / "journal", desk.folder / "moved")
    shutil.rmtree(desk.folder / "journal")
    for source, out in (("moved", "one"), ("one", "two")):
        desk.viva("judge", source, "--sandbox", "process", "--out", out, "--fail-under", "1", expect=0)
        shutil.rmtree(desk.folder / source)
    assert not any(".." in line for line in (desk.folder / "two" / FILE).read_text().split('"workspace":')[1:2])


def test_too_many_files_are_told_in_the_record_and_no_miss_for_the_agent(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = desk.folder / "much"
    work.mkdir()
    for number in range(60):
        (work / f"f{number}").write_text("x")
    for name, value, words in (("MOST_ENTRIES", 50, "more than 50 files"), ("MOST_BYTES", 40, "more than 0 MiB")):
        monkeypatch.setattr(kept_workspaces, name, value)
        assert words in (keep_workspace(work, desk.folder, "workspaces/x") or "")
        assert not (desk.folder / "workspaces" / "x").exists()
        monkeypatch.undo()
    assert keep_workspace(work, desk.folder, "workspaces/x") is None


def test_what_was_left_out_is_a_fault_of_nobody_and_the_files_can_be_named(desk: Desk) -> None:
    work = elsewhere(desk)
    left_out = "the agent's files in /far could not be copied into the journal: there are more than 20,000 files"
    for setting, words, named in (
        ({"workspace": None, "workspace_left_out": left_out}, left_out, False),
        # As older versions wrote it.
        ({"workspace": str(work)}, f"add --workspaces {work}", True),
        ({"workspace": "../session/cwd"}, f"add --workspaces {work}", True),
    ):
        shutil.copytree(desk.folder / "journal", desk.folder / "old")
        edit(desk.folder / "old", lambda line, told=setting: _told(line, told))  # type: ignore[misc]
        desk.viva("judge", "old", "--sandbox", "process", "--out", "again", expect=3)
        (record,) = read_records(desk.folder / "again")
        assert (record.outcome.value, record.score) == ("infra_error", None)
        assert words in (record.error or "")
        assert len(next(read_runs(desk.folder / "again")).transcript.rounds) == 1
        if named:
            desk.viva("judge", "old", "--workspaces", "session", "--sandbox", "process", "--out", "named", expect=0)
            assert scores(desk.folder / "named") == [("scored", 1.0)]
            # And from then on they are there.
            desk.viva("judge", "named", "--sandbox", "process", "--out", "third", "--fail-under", "1", expect=0)
            shutil.rmtree(desk.folder / "third")
            shutil.rmtree(desk.folder / "named")
        shutil.rmtree(desk.folder / "again")
        shutil.rmtree(desk.folder / "old")


def _told(line: bytes, told: dict[str, Any]) -> bytes:
    if b'"event":"setting"' not in line:
        return line
    event = json.loads(line)
    event["data"].update(told)
    event.pop("crc")
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize(
    "path",
    [
        "/etc",
        "..",
        "../other",
        "workspaces/../../other",
        "workspaces",
        "workspaces/",
        "workspaces/./../..",
        ".",
        "",
        "cases",
        "workspaces/run/../../../other",
    ],
)
def test_a_path_out_of_the_journal_is_not_followed(tmp_path: Path, path: str) -> None:
    journal, other = tmp_path / "journal", tmp_path / "other"
    (journal / "workspaces" / "run").mkdir(parents=True)
    (journal / "cases").mkdir()
    other.mkdir()
    stored = StoredRun(journal, "run", 1, Setting(workspace=path), Transcript(), True, (), None)
    assert find_workspace(stored).folder is None
    assert "--workspaces" in (find_workspace(stored).missing or "")
    assert find_workspace(stored, [str(tmp_path / "unlike")]).folder is None


@pytest.mark.parametrize("link", ["workspaces", "workspaces/run", "workspaces/run/deeper"])
def test_no_link_in_the_journal_is_followed_to_files(tmp_path: Path, link: str) -> None:
    journal, secret = tmp_path / "journal", tmp_path / "secret"
    (secret / "run" / "deeper").mkdir(parents=True)
    (journal / link).parent.mkdir(parents=True)
    (journal / link).symlink_to(secret)
    stored = StoredRun(journal, "run", 1, Setting(workspace="workspaces/run/deeper"), Transcript(), True, (), None)
    assert find_workspace(stored).folder is None
    if link != "workspaces/run/deeper":
        (journal / link).unlink()
        (journal / "workspaces" / "run" / "deeper").mkdir(parents=True)
        assert find_workspace(stored).folder == journal / "workspaces/run/deeper"


@pytest.mark.parametrize("share", [False, True])
def test_links_pipes_and_the_journal_itself_are_not_read_in_copying(tmp_path: Path, share: bool) -> None:
    source, journal = tmp_path / "source", tmp_path / "source" / "runs" / "journal"
    (source / "deep").mkdir(parents=True)
    journal.mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("key")
    (source / "deep" / "file").write_text("said")
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    (source / "folder").symlink_to(tmp_path / "secret")
    (source / "gone").symlink_to("nowhere")
    os.mkfifo(source / "pipe")
    assert keep_workspace(source, journal, "workspaces/run", link=share) is None
    copy = journal / "workspaces" / "run"
    found = {str(path.relative_to(copy)) for path in copy.rglob("*")}
    assert found == {"deep", "deep/file", "run.sh", "folder", "gone", "runs"}
    assert os.readlink(copy / "folder") == str(tmp_path / "secret")
    assert (copy / "deep" / "file").read_text() == "said"
    assert os.access(copy / "run.sh", os.X_OK)
    assert (os.stat(copy / "run.sh").st_ino == os.stat(source / "run.sh").st_ino) is share


def test_what_a_sandbox_accepts_is_kept_and_what_cannot_be_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a judgement of the stored run would lack all files, and an agent could bring that about by a mode."""
    work = tmp_path / "work"
    deep = work.joinpath(*["d"] * 150)
    deep.mkdir(parents=True)
    (deep / "last").write_text("x")
    (work / "locked").write_text("x")
    (work / "shut").mkdir()
    really = os.open

    def open_but_those(path: Any, flags: int, *rest: Any, dir_fd: int | None = None) -> int:
        if path in ("locked", "shut") and not flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return really(path, flags, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_but_those)
    assert keep_workspace(work, tmp_path, "workspaces/x") is None
    monkeypatch.undo()
    kept = tmp_path / "workspaces" / "x"
    assert kept.joinpath(*["d"] * 150, "last").read_text() == "x"
    assert not (kept / "locked").exists()
    assert not kept_workspaces._deep.locked()


def test_files_are_not_written_through_a_planted_link(tmp_path: Path) -> None:
    source, journal, outside = tmp_path / "source", tmp_path / "journal", tmp_path / "outside"
    for folder in (source, journal, outside):
        folder.mkdir()
    (source / "file").write_text("said")
    (journal / "workspaces").symlink_to(outside)
    assert "could not be copied" in (keep_workspace(source, journal, "workspaces/run") or "")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("run", ["../../evil", "/etc", ".", "..", "a/b", "x\0", "\x1b[31m", "", "a" * 5000])
def test_the_id_of_a_strangers_run_is_no_path(run: str) -> None:
    parts = workspace_name(run).split("/")
    assert parts[0] == "workspaces"
    assert len(parts) == 2
    assert parts[1] not in ("", ".", "..")
    assert len(parts[1]) <= 200
    assert parts[1].isprintable()
