"""The agent's files of a run travel as bytes; they are hostile on both sides."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from viva.suites.on_ray.archives import MOST_DEPTH, TooLarge, pack_folder, unpack_folder


def test_files_folders_and_links_arrive_as_they_were(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "sub" / "empty").mkdir(parents=True)
    (folder / "sub" / "büro.txt").write_text("text")
    (folder / "tool").write_text("#!/bin/sh")
    (folder / "tool").chmod(0o755)
    (folder / "away").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe")
    content = pack_folder(folder)
    assert content is not None
    unpack_folder(content, tmp_path / "journal", "workspaces/run")
    made = tmp_path / "journal" / "workspaces" / "run"
    assert sorted(str(path.relative_to(made)) for path in made.rglob("*")) == [
        "away", "sub", "sub/büro.txt", "sub/empty", "tool",
    ]  # fmt: skip
    assert (made / "sub" / "büro.txt").read_text() == "text"
    assert (made / "away").readlink() == Path("/etc/passwd")
    assert os.access(made / "tool", os.X_OK)
    assert (made / "tool").stat().st_mtime == int((folder / "tool").stat().st_mtime)


def test_nothing_is_sent_for_a_missing_or_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    # A link counts as no folder: the agent may have put it there.
    assert [pack_folder(tmp_path / name) for name in ("empty", "missing", "link")] == [None, None, None]


def test_too_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "big").write_bytes(b"x" * 1001)
    with pytest.raises(TooLarge, match="MiB"):
        pack_folder(tmp_path / "run", most=1000)
    deep = tmp_path / "deep"
    deep.joinpath(*["d"] * (MOST_DEPTH + 2)).mkdir(parents=True)
    with pytest.raises(TooLarge, match="nested"):
        pack_folder(deep)


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", "a/./b", "", "."])
def test_no_entry_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="entry"):
        unpack_folder(_archive(_file(name)), tmp_path / "journal", "workspaces/run")
    assert not (tmp_path / "out").exists()


def test_no_entry_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tarfile.TarInfo("sub")
    link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"directory|link"):
        unpack_folder(_archive(link, _file("sub/file")), tmp_path / "journal", "workspaces/run")
    with pytest.raises(FileExistsError):
        unpack_folder(_archive(link, _file("sub")), tmp_path / "other", "workspaces/run")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="damaged"):
        unpack_folder(b"no archive at all", tmp_path, "run")


def _file(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = 4
    return entry


def _archive(*entries: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for entry in entries:
            archive.addfile(entry, io.BytesIO(b"text") if entry.size else None)
    return buffer.getvalue()
