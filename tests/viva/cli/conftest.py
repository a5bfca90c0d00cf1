"""What tests of commands share: a judged suite, which is run once in each process that tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.judged_journals import judged_suite
from tests.viva.conftest import Desk


@pytest.fixture(scope="session")
def judged_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a suite that a scripted model judged, which nobody writes to: its journal is `runs/first`."""
    desk = Desk(tmp_path_factory.mktemp("judged"))
    judged_suite(desk)
    return desk.folder


@pytest.fixture
def judged_desk(desk: Desk, judged_once: Path) -> Desk:
    """A working folder with a copy of that suite."""
    shutil.copytree(judged_once, desk.folder, dirs_exist_ok=True)
    return desk
