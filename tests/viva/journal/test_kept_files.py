"""Files beside a journal: written once by any number of writers, and read by names of one form and from one folder."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from viva.journal.kept_files import (
    MOST_JSON,
    batch_name,
    can_be_read,
    case_name,
    name_for,
    names_in,
    read_kept,
    read_sound,
)
from viva.journal.writer import FILE, Journal, JournalError
from viva.records import Round

PICTURE = b"\x89PNG\r\n\x1a\n and more"
NAME = name_for("images", PICTURE, "png")
SECRET = b"\x89PNG\r\n\x1a\n the secret of another folder"


def test_eight_threads_that_keep_the_same_files_all_succeed(tmp_path: Path) -> None:
    contents = [str(number).encode() * 500 for number in range(60)]
    failed: list[Exception] = []
    with Journal(tmp_path) as journal:
        begin = threading.Barrier(8)

        def keep() -> None:
            begin.wait()
            for content in contents:
                try:
                    journal.keep(name_for("texts", content, "txt"), content)
                except Exception as error:
                    failed.append(error)

        threads = [threading.Thread(target=keep) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []
    assert sorted(file.read_bytes() for file in (tmp_path / "texts").iterdir()) == sorted(contents)


def test_a_file_that_is_not_whole_is_written_again(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        (tmp_path / "images").mkdir()
        (tmp_path / NAME).write_bytes(b"")
        journal.keep(NAME, PICTURE)
    assert (tmp_path / NAME).read_bytes() == PICTURE


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"mine")
    folder = tmp_path / "journal"
    with Journal(folder) as journal:
        (folder / "images").symlink_to(outside)
        with pytest.raises(JournalError, match="cannot write"):
            journal.keep(NAME, PICTURE)
        (folder / "texts").mkdir()
        name = name_for("texts", b"said", "txt")
        (folder / name).symlink_to(outside / "file")
        journal.keep(name, b"said")
    assert [file.name for file in outside.iterdir()] == ["file"]
    assert (outside / "file").read_bytes() == b"mine"
    assert (folder / name).read_bytes() == b"said"
    assert not (folder / name).is_symlink()


@pytest.mark.parametrize(
    "name",
    [
        "../secret.png",
        "images/../../secret.png",
        "images/secret.png",
        f"images/{'0' * 64}.svg",
        f"images/{'0' * 63}/.png",
        f"texts/{'0' * 64}.png",
        f"/{NAME}",
        f"{NAME}\n",
        f"./{NAME}",
        "journal.jsonl",
        "",
        "images/\0",
    ],
)
def test_names_of_another_form_are_not_read(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "journal"
    (folder / "images").mkdir(parents=True)
    (folder / NAME).write_bytes(PICTURE)
    (folder / "images" / "secret.png").write_bytes(SECRET)
    (tmp_path / "secret.png").write_bytes(SECRET)
    assert read_kept(folder, name) is None
    assert read_kept(folder, NAME) == PICTURE


@pytest.mark.parametrize("what", ["link", "folder that is a link", "pipe", "folder", "missing"])
def test_what_is_no_plain_file_in_the_journal_itself_is_not_read(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "journal"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder.mkdir()
    path = folder / NAME
    (elsewhere / path.name).write_bytes(PICTURE)
    if what == "folder that is a link":
        (folder / "images").symlink_to(elsewhere)
    else:
        (folder / "images").mkdir()
    if what == "link":
        path.symlink_to(elsewhere / path.name)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    assert read_kept(folder, NAME) is None


def test_a_file_that_is_not_what_its_name_says_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / NAME).write_bytes(SECRET)
    assert read_kept(tmp_path, NAME) == SECRET
    assert read_sound(tmp_path, NAME) is None


def test_names_are_found_in_lines_however_another_writer_spells_them(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append("round", "run", 1, Round(1, f'say "{NAME}"', images=(NAME, "images/a.png", NAME + "x")))
    line = (tmp_path / FILE).read_bytes()
    assert list(names_in(line)) == [NAME]
    assert list(names_in(line.replace(b"images/", b"images\\/"))) == [NAME]
    assert hashlib.sha256(PICTURE).hexdigest() in NAME


@pytest.mark.parametrize("ending", ["", "/" * 100])
@pytest.mark.parametrize("name", [f"images/{'a' * 64}.png", f"texts/{'b' * 64}.txt"])
def test_a_name_in_a_line_is_found_behind_any_number_of_slashes(name: str, ending: str) -> None:
    escaped = name.replace("/", "\\/")
    line = f'{{"a":"x/y","b":"https://images/{ending}","c":"{name}","d":"{escaped}"}}'.encode()
    assert list(names_in(line)) == [name, name]
    assert not list(names_in(line.replace(b"images", b"pictures").replace(b"texts", b"words")))


@pytest.mark.parametrize(
    ("name", "head", "part", "times", "read"),
    [
        ("request.json", b'{"cases":[["', b"x", MOST_JSON, True),
        ("request.json", b"[", b"[],", MOST_JSON // 3 + 9, False),
        ("request.json", b" " * 9, b'{"a":  ', MOST_JSON // 3 + 1, False),
        (batch_name(1), b'{"rows":["', b"x", MOST_JSON, True),
        (batch_name(1), b"[", b"0,", MOST_JSON, False),
        (case_name("0" * 64), b'"', b"x", MOST_JSON, False),
    ],
    ids=["long names", "many lists", "deep objects", "a batch", "many numbers", "a case"],
)
def test_long_json_is_read_if_it_holds_no_more_values_than_fit_into_memory(
    tmp_path: Path, name: str, head: bytes, part: bytes, times: int, read: bool
) -> None:
    content = head + part * times
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    assert (read_kept(tmp_path, name) is not None) is read
    assert can_be_read(name, content) is read
