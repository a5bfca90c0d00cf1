"""What the tests of models share: keys in the environment, and waits that are noted instead of waited."""

from __future__ import annotations

from functools import partial

import pytest
import tenacity

from adapters import retry
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
