"""Scaled pictures are kept between reports, and a cache that is damaged, full or not there changes no page."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.viva.reports.test_pictures import screenshot
from viva.reports.page import scaled_cache
from viva.reports.page.scaled_cache import ScaledPictures, _step

CONTENT = screenshot(1, (300, 200))


def files(folder: Path) -> list[Path]:
    return sorted((folder / "viva" / "scaled-pictures").iterdir())


@pytest.fixture
def kept(tmp_path: Path) -> bytes:
    made = ScaledPictures(tmp_path).scale(CONTENT, 10_000)
    assert made is not None
    assert len(made) <= 10_000
    return made


def test_a_picture_is_scaled_once(tmp_path: Path, kept: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaled_cache, "scale_picture", lambda *_: pytest.fail("scaled again"))
    assert ScaledPictures(tmp_path).scale(CONTENT, 10_000) == kept
    assert ScaledPictures(tmp_path).scale(CONTENT, _step(10_000) + 100) == kept, "sizes are told apart in steps"
    assert files(tmp_path)[0].stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"", b"\xff\xd8\xff cut off", b"<script>alert(1)</script>"])
def test_a_damaged_file_is_made_again(damage: bytes, tmp_path: Path, kept: bytes) -> None:
    (file,) = files(tmp_path)
    file.write_bytes(damage)
    assert ScaledPictures(tmp_path).scale(CONTENT, 10_000) == kept
    assert file.read_bytes() == kept


def test_a_link_is_not_read(tmp_path: Path, kept: bytes) -> None:
    (file,) = files(tmp_path)
    secret = tmp_path / "secret.jpeg"
    secret.write_bytes(b"\xff\xd8\xffsecret\xff\xd9")
    file.unlink()
    file.symlink_to(secret)
    assert ScaledPictures(tmp_path).scale(CONTENT, 10_000) == kept
    assert secret.read_bytes().endswith(b"secret\xff\xd9")


def test_without_a_folder_pictures_are_scaled(tmp_path: Path, kept: bytes) -> None:
    (tmp_path / "file").write_text("")
    assert ScaledPictures(tmp_path / "file").scale(CONTENT, 10_000) == kept


def test_the_cache_stays_within_its_size_and_what_was_used_last_is_kept(
    tmp_path: Path, kept: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (oldest,) = files(tmp_path)
    os.utime(oldest, (1, 1))
    abandoned = oldest.with_name(f".{'0' * 16}.part")
    abandoned.write_bytes(b"x" * 100)
    os.utime(abandoned, (1, 1))
    pictures = ScaledPictures(tmp_path)
    assert pictures.scale(CONTENT, 40_000) is not None
    pictures.trim()
    assert len(files(tmp_path)) == 2, "what a killed process left is removed"
    monkeypatch.setattr(scaled_cache, "MOST_KEPT", 35_000)
    assert pictures.scale(CONTENT, 14_000) is not None
    pictures.trim()
    assert oldest not in files(tmp_path)
    assert len(files(tmp_path)) == 2


def test_several_writers_at_once_leave_whole_files(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: ScaledPictures(tmp_path).scale(CONTENT, 10_000), range(8)))
    assert len(set(made)) == 1
    assert [file.read_bytes() for file in files(tmp_path)] == [made[0]]
