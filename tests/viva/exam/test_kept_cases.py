"""Cases in a journal of a stranger: found under their own hash only, and kept nowhere else."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.viva.conftest import Desk, point
from viva.adapters.workspace import copy_data_files
from viva.cases import Case, ScoringPoint, load_case
from viva.cases.data_files import hash_case
from viva.errors import SetupError
from viva.journal import kept_cases
from viva.journal.kept_cases import NOWHERE, keep_case, stored_case, unpack_data_files
from viva.journal.kept_files import name_for
from viva.journal.reader import read_records
from viva.journal.writer import Journal, JournalError
from viva.records.codec import encode

HASH = "ab" * 32
CASE = Case("exam", Path("exam/case.yaml"), HASH, "task", (ScoringPoint("p", "good", 1.0),))


def test_a_case_is_read_back_as_it_was(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        keep_case(CASE, journal)
        keep_case(CASE, journal)
    assert stored_case(tmp_path, "exam", HASH) == replace(CASE, data_folder=NOWHERE)
    assert stored_case(tmp_path, "other name", HASH).name == "other name"


@pytest.mark.parametrize("other", ["cd" * 32, "../../../evil", HASH[:-1] + "\n", "", HASH.upper()])
def test_a_case_that_calls_itself_otherwise_is_not_taken(tmp_path: Path, other: str) -> None:
    """The name in it became the name of a file that was written."""
    (tmp_path / "cases").mkdir()
    content = {**json.loads(encode(CASE)), "hash": other}
    (tmp_path / "cases" / f"{HASH}.json").write_text(json.dumps(content))
    with pytest.raises(SetupError, match="a different case"):
        stored_case(tmp_path, "exam", HASH)
    if other != "cd" * 32:
        with pytest.raises(SetupError, match="has an invalid case hash"):
            stored_case(tmp_path, "exam", other)


@pytest.mark.parametrize("what", ["link", "folder that is a link", "pipe", "device", "nested", "missing"])
def test_a_case_that_is_no_plain_file_of_the_journal_is_not_read(tmp_path: Path, what: str) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "journal"
    with Journal(elsewhere) as journal:
        keep_case(CASE, journal)
    folder.mkdir()
    file = folder / "cases" / f"{HASH}.json"
    if what == "folder that is a link":
        (folder / "cases").symlink_to(elsewhere / "cases")
    else:
        file.parent.mkdir()
    if what == "link":
        file.symlink_to(elsewhere / "cases" / file.name)
    elif what == "pipe":
        os.mkfifo(file)
    elif what == "device":
        file.symlink_to("/dev/zero")
    elif what == "nested":
        file.write_text('{"config_var": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(SetupError, match="cannot be read"):
        stored_case(folder, "exam", HASH)


@pytest.mark.parametrize(
    "name",
    [
        "../evil.json",
        "/tmp/evil",
        "cases/../../evil.json",
        f"cases/{'0' * 63}.json",
        f"cases/{'0' * 64}.json/x",
        "journal.jsonl",
        "report.html",
        ".lock",
        "texts/evil.txt",
        f"texts/{'0' * 64}.txt",
        name_for("images", b"another content", "png"),
        "",
        "workspaces/x",
    ],
)
def test_a_journal_writes_no_file_under_a_name_of_another_form_or_content(tmp_path: Path, name: str) -> None:
    with Journal(tmp_path / "journal") as journal:
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(JournalError, match="not a file name of a journal"):
            journal.keep(name, b"content")
    assert sorted(tmp_path.rglob("*")) == before


def with_files(folder: Path) -> Case:
    """A case on disk with two data files, one of them in a folder, and an empty folder."""
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "case.yaml").write_text(
        "task_description: t\ndata_files: [a.csv, deep, ./empty]\n"
        "scoring_points: [{score_point: s, weight: 1, eval_code: pass}]\n"
    )
    (folder / "a.csv").write_text("1\n")
    (folder / "deep" / "er" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "deep" / "er" / "run.sh").chmod(0o755)
    return load_case(folder)


def test_data_files_are_unpacked_as_they_were_from_any_journal_the_case_was_carried_to(tmp_path: Path) -> None:
    case = with_files(tmp_path / "exam")
    with Journal(tmp_path / "one") as journal:
        keep_case(case, journal)
    shutil.rmtree(tmp_path / "exam")
    stored = stored_case(tmp_path / "one", "exam", case.hash)
    with Journal(tmp_path / "two") as journal:
        keep_case(stored, journal, tmp_path / "one")
    shutil.rmtree(tmp_path / "one")
    place = tmp_path / "place"
    place.mkdir()
    unpacked = unpack_data_files(stored_case(tmp_path / "two", "exam", case.hash), tmp_path / "two", place)
    assert unpacked.file == case.file
    found = {str(each.relative_to(unpacked.folder)) for each in unpacked.folder.rglob("*")}
    assert found == {"a.csv", "deep", "deep/er", "deep/er/run.sh", "empty"}
    assert os.access(unpacked.folder / "deep/er/run.sh", os.X_OK)
    assert hash_case(case_yaml(), unpacked.folder, case.data_files) == case.hash
    copy_data_files(unpacked, tmp_path / "work")
    assert (tmp_path / "work" / "deep" / "er" / "run.sh").exists()


def case_yaml() -> bytes:
    return (
        b"task_description: t\ndata_files: [a.csv, deep, ./empty]\n"
        b"scoring_points: [{score_point: s, weight: 1, eval_code: pass}]\n"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"kept_files": [{"path": "../out", "name": "NAME"}]},
        {"kept_files": [{"path": "/tmp/out", "name": "NAME"}]},
        {"kept_files": [{"path": "a.csv", "name": "../../secret"}]},
        {"kept_files": [{"path": "a.csv", "name": "files/" + "0" * 64 + ".bin"}]},
        {"kept_files": [{"path": "a.csv/../../x", "name": "NAME"}]},
        {"kept_files": [{"path": "a.csv", "name": "NAME"}, {"path": "a.csv/b", "name": "NAME"}]},
        {"kept_files": "a.csv"},
        {"kept_files": [7, None, {"path": 1, "name": 2}]},
        {"kept_files": [], "kept_folders": ["../out", "a\0b", 3]},
        {"kept_folders": None, "kept_files": None},
        {"data_files": ["../../secret"]},
        {"data_files": ["/etc/passwd"]},
    ],
)
def test_a_strangers_list_of_data_files_leads_nowhere(tmp_path: Path, change: dict[str, object]) -> None:
    case = with_files(tmp_path / "exam")
    (tmp_path / "secret").write_text("mine")
    with Journal(tmp_path / "one") as journal:
        keep_case(case, journal)
    (paper,) = (tmp_path / "one" / "cases").iterdir()
    said = json.loads(paper.read_text())
    name = said["kept_files"][0]["name"]
    paper.write_text(json.dumps({**said, **change}).replace("NAME", name))
    (tmp_path / "place").mkdir()
    stored = stored_case(tmp_path / "one", "exam", case.hash)
    with pytest.raises(SetupError, match=r"--cases FOLDER|cannot be unpacked"):
        unpack_data_files(stored, tmp_path / "one", tmp_path / "place")
    outside = {each.name for each in tmp_path.iterdir()} | {each.name for each in (tmp_path / "place").iterdir()}
    assert outside == {"exam", "one", "place", "secret", case.hash}
    with Journal(tmp_path / "two") as journal:
        keep_case(stored, journal, tmp_path / "one")
    assert b"mine" not in b"".join(file.read_bytes() for file in (tmp_path / "two").rglob("*") if file.is_file())


def test_more_than_a_journal_takes_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = with_files(tmp_path / "exam")
    for number, (name, most) in enumerate((("MOST_BYTES", 5), ("MOST_FILES", 1))):
        monkeypatch.setattr(kept_cases, name, most)
        with Journal(tmp_path / str(number)) as journal:
            keep_case(case, journal)
        assert not (tmp_path / str(number) / "files").exists()
        (tmp_path / "place").mkdir(exist_ok=True)
        with pytest.raises(SetupError, match="--cases FOLDER"):
            unpack_data_files(
                stored_case(tmp_path / str(number), "exam", case.hash), tmp_path / str(number), tmp_path / "place"
            )
        monkeypatch.undo()


def test_another_agent_gets_the_files_of_then_and_the_old_folder_is_not_read(desk: Desk) -> None:
    reads = "def get_reply_from_agent(self, message): return (Path(self.workspace) / 'a.csv').read_text()"
    check = [point("assert rounds[0]['agent'] == 'then'")]
    case = desk.case(data={"a.csv": "then"}, data_files=["a.csv"], scoring_points=check)
    agent = desk.agent(reads)
    desk.run(case, "--agent", agent)
    kept = desk.folder / "kept"
    shutil.copytree(desk.folder / case, kept / case)
    (desk.folder / case / "a.csv").write_text("now")
    again = ("replay", "journal", "--against", agent, "--sandbox", "process")
    desk.viva(*again, "--out", "one", expect=0)
    desk.viva("replay", "one", "--against", agent, "--sandbox", "process", "--out", "two", expect=0)
    # As an older version left it.
    shutil.rmtree(desk.folder / "journal" / "files")
    said = desk.viva(*again, "--out", "three", expect=2).stderr
    assert "--cases FOLDER" in said
    # A folder in which the case is another one by now does not do.
    desk.viva(*again, "--cases", case, "--out", "three", expect=2)
    desk.viva(*again, "--cases", "kept", "--out", "three", expect=0)
    for journal in ("one", "two", "three"):
        assert [record.score for record in read_records(desk.folder / journal)] == [1.0]
