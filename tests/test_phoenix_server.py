"""The Phoenix server that tests share."""

from __future__ import annotations

import urllib.request
from pathlib import Path

from tests.phoenix_server import shared_phoenix


def test_a_phoenix_server_answers(phoenix: str) -> None:
    with urllib.request.urlopen(f"{phoenix}/arize_phoenix_version", timeout=30) as answer:
        assert answer.read().decode().count(".") == 2


def test_a_second_user_gets_the_same_server_and_its_end_leaves_it_running(
    phoenix: str, tmp_path_factory: object
) -> None:
    folder = next(path for path in _folders(tmp_path_factory) if (path / "state.json").exists())
    with shared_phoenix(folder) as address:
        assert address == phoenix
    with urllib.request.urlopen(f"{phoenix}/healthz", timeout=30) as answer:
        assert answer.status == 200


def _folders(tmp_path_factory: object) -> list[Path]:
    base = tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    return [base / "phoenix", base.parent / "phoenix"]
