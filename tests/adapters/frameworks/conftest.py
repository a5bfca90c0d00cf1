"""What the agents of the framework tests share: the scripted model that they ask, and imports that are made once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.adapters.frameworks.frameworks import warm_frameworks
from tests.adapters.frameworks.played import files_model, played
from tests.model_server import ModelServer
from tests.ports import free_port


@pytest.fixture(scope="session", autouse=True)
def imported_frameworks() -> Iterator[None]:
    """Fork agents from interpreters that have imported their framework."""
    with warm_frameworks():
        yield


@pytest.fixture(scope="session")
def model_port() -> int:
    """The port of every test's model: ready processes of agents are for one environment, which names it."""
    return free_port()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, model_port: int) -> Iterator[ModelServer]:
    with ModelServer({"scripted": played, "files": files_model}, port=model_port) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server
