"""What tests of adapters share: keys in the environment, waits that are only noted, connectors to agents."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import tenacity

from adapters.models import retry
from tests.conftest import KEY


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("VIVA_AGENT_API_KEY", raising=False)
    return KEY


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of each wait between attempts; nobody really waits."""
    noted: list[float] = []

    async def sleep(seconds: float) -> None:
        noted.append(seconds)

    monkeypatch.setattr(retry.tenacity, "AsyncRetrying", partial(tenacity.AsyncRetrying, sleep=sleep))
    return noted


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
