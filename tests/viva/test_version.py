"""Viva's own version is the one that `importlib.metadata` would tell."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from viva.version import viva_version


@pytest.fixture(autouse=True)
def _afresh() -> Iterator[None]:
    viva_version.cache_clear()
    yield
    viva_version.cache_clear()


def test_it_is_that_of_the_installed_distribution() -> None:
    assert viva_version() == metadata.version("vivavoce")


def test_it_is_that_of_the_first_distribution_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2):
        folder = tmp_path / str(number) / f"vivavoce-{number}.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: vivavoce\nVersion: {number}.0\n\nVersion: 9\n")
    (tmp_path / "1" / "vivavoce_other-5.0.dist-info").mkdir()
    path = [str(tmp_path / name) for name in ("none", "file.zip", "1", "2")]
    (tmp_path / "file.zip").write_bytes(b"")
    monkeypatch.setattr(sys, "path", path)
    assert viva_version() == "1.0" == metadata.version("vivavoce")


def test_it_can_be_given_where_nothing_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setenv("VIVA_VERSION", "3.0")
    assert viva_version() == "3.0"
