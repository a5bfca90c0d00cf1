"""Cases in a journal of a stranger: found under their own hash only, and kept nowhere else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adapters.errors import SetupError
from cases import Case, ScoringPoint
from harness.exam.kept_cases import keep_case, stored_case
from records.codec import encode
from records.journal import Journal, JournalError
from records.kept_files import name_for

HASH = "ab" * 32
CASE = Case("exam", Path("exam/case.yaml"), HASH, "task", (ScoringPoint("p", "good", 1.0),))


def test_a_case_is_read_back_as_it_was(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        keep_case(CASE, journal)
        keep_case(CASE, journal)
    assert stored_case(tmp_path, "exam", HASH) == CASE
    assert stored_case(tmp_path, "other name", HASH).name == "other name"


@pytest.mark.parametrize("other", ["cd" * 32, "../../../evil", HASH[:-1] + "\n", "", HASH.upper()])
def test_a_case_that_calls_itself_otherwise_is_not_taken(tmp_path: Path, other: str) -> None:
    """The name in it became the name of a file that was written."""
    (tmp_path / "cases").mkdir()
    content = {**json.loads(encode(CASE)), "hash": other}
    (tmp_path / "cases" / f"{HASH}.json").write_text(json.dumps(content))
    with pytest.raises(SetupError, match="another case"):
        stored_case(tmp_path, "exam", HASH)
    if other != "cd" * 32:
        with pytest.raises(SetupError, match="names no case"):
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
        with pytest.raises(JournalError, match="no name of a file in a journal"):
            journal.keep(name, b"content")
    assert sorted(tmp_path.rglob("*")) == before
