"""What tests of all rooms share: parts that a machine may lack, and whether it may."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

import pytest

from adapters.silenced import filters_for_pytest


def pytest_configure(config: pytest.Config) -> None:
    """What Viva silences for its users is silent in its tests."""
    for silenced in filters_for_pytest():
        config.addinivalue_line("filterwarnings", silenced)


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
