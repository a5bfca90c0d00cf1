"""What tests of adapters share: connectors to agents."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def bare_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with nothing of Viva's."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


@pytest.fixture(params=["in Viva's process", "isolated", "bare environment"])
def connector(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, bool]:
    """What follows the class in the SPEC, and whether `--isolate` is given."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    if request.param == "bare environment":
        return f"@{request.getfixturevalue('bare_environment')}", False
    return "", request.param == "isolated"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder
