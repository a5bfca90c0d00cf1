"""The scripted model that the agents of the framework tests ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.adapters.frameworks.played import files_model, played
from tests.model_server import ModelServer


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer({"scripted": played, "files": files_model}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server
