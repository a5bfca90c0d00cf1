"""What tests of all rooms share: parts that a machine may lack, and whether it may."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, NoReturn

import pytest

from adapters.models.retry import RetryPolicy
from adapters.models.silenced import filters_for_pytest

if TYPE_CHECKING:
    from adapters.models.client import Model

KEY = "test-key-123456"
QUICK = RetryPolicy(attempts=3, initial_seconds=0.001, longest_seconds=0.002, longest_retry_after=120)

ModelAt = Callable[..., "Model"]
"""`model_at(url, spec="openai:m")`."""


def pytest_configure(config: pytest.Config) -> None:
    """What Viva silences for its users is silent in its tests."""
    for silenced in filters_for_pytest():
        config.addinivalue_line("filterwarnings", silenced)


@pytest.fixture
async def model_at(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelAt]:
    """Makes clients of the server at an address, quick to try again and with `KEY`; closes them in the end."""
    from adapters.models.factory import make_model  # loads AutoGen, which most tests do without

    made: list[Model] = []

    def make(url: str, spec: str = "openai:m") -> Model:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        made.append(make_model(spec, policy=QUICK))
        return made[-1]

    yield make
    for model in made:
        await model.close()


def _heed_signals() -> None:
    """Processes started by tests heed the signals that a runner in the background, or `nohup`, has us ignore.

    An ignored signal stays ignored across execve(2); one with a handler is reset to its default.
    """
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, lambda *_: None)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


_heed_signals()


def require(name: str, present: object, reason: str) -> None:
    """Skip the test where a part is not there; fail it where `VIVA_REQUIRE` (a comma list) says that it must be."""
    if not present:
        missing(name, reason)


def missing(name: str, reason: str) -> NoReturn:
    """What `require` does where the part is not there."""
    if name in os.environ.get("VIVA_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required here: {reason}")
    pytest.skip(f"{name}: {reason}")
