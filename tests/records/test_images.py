"""Pictures that an agent shows are kept in the journal, and nothing else is."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from records.images import keep_pictures
from records.journal import Journal
from records.transcript import Round, Step

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
