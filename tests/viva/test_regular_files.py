"""Files that the user names, or that a stranger's recording contains, are regular files of limited size."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viva import regular_files
from viva.errors import SetupError
from viva.exam.judging.references import load_references
from viva.judge.session.settings import api_descriptions, prompt_text
from viva.models.factory import make_model
from viva.recordings import json_pieces
from viva.recordings.desktop.names import UFO, load_names
from viva.recordings.desktop.screenshots import Screenshots, pictures_in
from viva.recordings.given_tools import load_tools
from viva.recordings.recording import RecordingError
from viva.recordings.table import read_recordings

READERS: dict[str, Callable[[str], Any]] = {
    "--mapping": lambda name: load_names(Path(name)),
    "--reference": load_references,
    "--tools": load_tools,
    "--model": make_model,
    "--apis": lambda name: api_descriptions(Path(name)),
    "EVALUATION_PROMPT": prompt_text,
}
GIB = 2**30


@pytest.mark.parametrize("option", READERS)
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "huge", "missing"])
def test_a_file_of_an_option_is_a_regular_file_of_limited_size(tmp_path: Path, option: str, kind: str) -> None:
    file = tmp_path / "given.yaml"
    if kind == "link":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "huge":
        with file.open("wb") as opened:
            opened.truncate(30 * GIB)
    words = r"larger than \d+ MiB, the maximum" if kind == "huge" else "cannot be read"
    with pytest.raises(SetupError, match=words) as caught:
        READERS[option](str(file))
    assert str(file) in str(caught.value)


def test_a_file_that_the_shell_opened_may_be_named(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"hello")
    os.close(writing)
    assert regular_files.read_text(Path(f"/dev/fd/{reading}"), "the file") == "hello"
    os.close(reading)


@pytest.mark.parametrize("reader", ["chat", "atif", "spans"])
def test_a_document_that_is_too_large_is_refused_and_the_limit_named(
    tmp_path: Path, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_pieces, "MOST_DOCUMENT", 2**20)
    monkeypatch.setattr(json_pieces, "MOST_LINE", 2**20)
    file = tmp_path / "recording.json"
    with file.open("wb") as opened:
        opened.write(b'[\n{"role": "user", "content": "')
        opened.truncate(30 * GIB)
    with pytest.raises(RecordingError, match="than 1 MiB, the maximum"):
        list(read_recordings(f"{reader}:{file}"))


@pytest.mark.parametrize("reader", ["copilot", "spans"])
def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pieces, "MOST_LINE", 10_000)
    file = tmp_path / "recording.jsonl"
    good = {
        "copilot": '{"type": "user.message", "data": {"content": "hi"}}',
        "spans": json.dumps({"context": {"trace_id": "a" * 32, "span_id": "b" * 16}, "name": "s"}),
    }[reader]
    file.write_text(good + "\n" + '{"x": "' + "y" * 50_000 + '"}\n')
    (recording,) = read_recordings(f"{reader}:{file}")
    notes = " ".join((*recording.notes, *recording.transcript.notes))
    assert re.search(r"lines (of recording.jsonl skipped|left out) because they are not [a-zA-Z ]+: 1\b", notes), notes


@pytest.mark.parametrize("reader", ["copilot", "spans", "ufo"])
def test_lines_without_end_are_not_passed_over_for_ever(
    tmp_path: Path, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_pieces, "MOST_LINE", 10_000)
    monkeypatch.setattr(json_pieces, "MOST_PASSED_OVER", 2**20)
    file = tmp_path / "response.log"
    with file.open("wb") as opened:
        opened.write(b"{}\n")
        opened.truncate(30 * GIB)
    with pytest.raises(RecordingError, match="larger than 1 MiB"):
        list(read_recordings(f"{reader}:{tmp_path if reader == 'ufo' else file}"))


@pytest.mark.parametrize("kind", ["link", "pipe", "outside", "huge", "bomb"])
def test_a_screenshot_is_a_picture_of_limited_size_in_its_folder(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"\x89PNG\r\n\x1a\n private IEND")
    shot = folder / "action_step1.png"
    if kind == "link":
        shot.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(shot)
    elif kind == "outside":
        shot.symlink_to(tmp_path / "secret.png")
    elif kind == "bomb":
        shot.write_bytes(b"no picture at all")
    else:
        with shot.open("wb") as opened:
            opened.write(b"\x89PNG\r\n\x1a\n")
            opened.truncate(30 * GIB)
    fault = Screenshots(folder, UFO)._fault(shot.name)
    expected = {
        "link": "are missing",
        "pipe": "are missing",
        "outside": "lead out of the folder",
        "huge": "are larger than 20 MiB",
        "bomb": "are not pictures",
    }
    assert fault == expected[kind]
    if kind != "bomb":
        assert pictures_in(folder)(shot.name) is None
