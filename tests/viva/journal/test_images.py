"""Pictures that an agent shows are kept in the journal, and nothing else is."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from viva.journal.images import keep_pictures, keep_recorded_pictures, keep_transcript_pictures
from viva.journal.reader import read_runs
from viva.journal.writer import Journal
from viva.records.transcript import Round, Step, Transcript

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


def test_a_picture_in_the_workspace_is_kept_by_its_content(tmp_path: Path, journal: Journal) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    round_ = Round(1, images=("shot.png",), steps=(Step("s1", images=(str(tmp_path / "shot.png"),)),))
    kept = keep_pictures(round_, journal, tmp_path)
    assert kept.images == kept.steps[0].images
    assert kept.images[0].startswith("images/")
    assert (journal.folder / kept.images[0]).read_bytes() == PNG
    assert len(list((journal.folder / "images").iterdir())) == 1


@pytest.mark.parametrize("encoder", [base64.b64encode, base64.encodebytes])
def test_a_picture_as_a_data_address_is_kept_as_a_file(journal: Journal, encoder: Callable[[bytes], bytes]) -> None:
    address = f"data:image/png;base64,{encoder(PNG).decode()}"
    (kept,) = keep_pictures(Round(1, images=(address,)), journal, None).images
    assert (journal.folder / kept).read_bytes() == PNG


@pytest.mark.parametrize(
    "image", ["secret.txt", "gone.png", "/dev/zero", "data:image/png;base64,%%%", "http://host/a.png", "a\0b", "", "."]
)
def test_what_is_no_picture_keeps_its_name_and_is_not_copied(tmp_path: Path, journal: Journal, image: str) -> None:
    (tmp_path / "secret.txt").write_text("the key to everything")
    assert keep_pictures(Round(1, images=(image,)), journal, tmp_path).images == (image,)
    assert not (journal.folder / "images").exists()


def test_a_round_without_pictures_is_passed_on_as_it_is(journal: Journal) -> None:
    round_ = Round(1, "hello", "hello")
    assert keep_pictures(round_, journal, None) is round_


def test_final_pictures_are_kept_with_those_of_rounds_and_steps(tmp_path: Path, journal: Journal) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    (tmp_path / "end.gif").write_bytes(b"GIF89a the end")
    round_ = Round(1, images=("shot.png",), steps=(Step("s1", images=("shot.png", "gone.png")),))
    kept = keep_transcript_pictures(Transcript((round_,), images=("end.gif",)), journal, tmp_path)
    (shot,), (end,) = kept.rounds[0].images, kept.images
    assert kept.rounds[0].steps[0].images == (shot, "gone.png")
    assert (journal.folder / shot).read_bytes() == PNG
    assert (journal.folder / end).read_bytes() == b"GIF89a the end"
    assert keep_transcript_pictures(kept, journal, None) == kept


def test_a_copied_conversation_brings_its_pictures_and_texts_along(tmp_path: Path, journal: Journal) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    (tmp_path / "end.png").write_bytes(PNG + b"end")
    round_ = Round(1, "ask", "tell " * 200_000, (Step("s1", images=("shot.png",)),))
    transcript = Transcript((round_,), source="desktop", images=("end.png",))
    kept = keep_transcript_pictures(transcript, journal, tmp_path)
    journal.append("round", "run", 1, kept.rounds[0])
    journal.append("transcript", "run", 1, replace(kept, rounds=()))
    (stored,) = read_runs(journal.folder, keep_lines=True)
    with Journal(tmp_path / "copy") as copy:
        copy.copy_lines(stored.lines, stored.folder)
    (copied,) = read_runs(tmp_path / "copy")
    assert copied.transcript == kept
    for name in (*kept.images, *kept.rounds[0].steps[0].images):
        assert (tmp_path / "copy" / name).read_bytes() == (journal.folder / name).read_bytes()
    assert len(list((tmp_path / "copy" / "images").iterdir())) == 2


@pytest.mark.parametrize("trick", ["another place", "a link", "another content"])
def test_copying_a_strangers_lines_takes_no_file_from_elsewhere_along(tmp_path: Path, trick: str) -> None:
    stranger = tmp_path / "stranger"
    secret = tmp_path / "secret.png"
    secret.write_bytes(PNG + b"secret")
    name = f"images/{'0' * 64}.png" if trick != "another place" else "images/../../secret.png"
    with Journal(stranger) as journal:
        (stranger / "images").mkdir()
        if trick == "a link":
            name = f"images/{hashlib.sha256(secret.read_bytes()).hexdigest()}.png"
            (stranger / name).symlink_to(secret)
        elif trick == "another content":
            (stranger / name).write_bytes(PNG)
        journal.append("round", "run", 1, Round(1, images=(name, "secret.png", str(secret))))
    (stored,) = read_runs(stranger, keep_lines=True)
    with Journal(tmp_path / "copy") as copy:
        copy.copy_lines(stored.lines, stranger)
    assert [file.name for file in (tmp_path / "copy").iterdir()] == ["journal.jsonl"]


def test_of_a_recording_only_pictures_in_its_folder_are_kept(tmp_path: Path, journal: Journal) -> None:
    inside = tmp_path / "session"
    inside.mkdir()
    for file in (inside / "shot.png", tmp_path / "private.png"):
        file.write_bytes(PNG + file.name.encode())
    (inside / "link.png").symlink_to(tmp_path / "private.png")
    names = (str(inside / "shot.png"), str(tmp_path / "private.png"), "../private.png", "link.png")
    kept = keep_recorded_pictures(Transcript((Round(1, images=names),), images=("shot.png",)), journal, inside)
    shot, *others = kept.rounds[0].images
    assert (shot, *others) == (kept.images[0], *names[1:])
    assert shot.startswith("images/")
    assert len(list((journal.folder / "images").iterdir())) == 1
    homeless = keep_recorded_pictures(Transcript(images=(str(inside / "shot.png"),)), journal, None)
    assert homeless.images == (str(inside / "shot.png"),)
