"""What carries an agent's mark is found and killed, whatever it is just doing, and nothing else is."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.adapters.connectors.child.child_connectors import until
from viva.adapters.connectors.child import leftovers
from viva.adapters.connectors.child.leftovers import MARK, sweep

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def mark() -> str:
    return secrets.token_hex(12)


def sleeper(mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"], env={**os.environ, MARK: mark})


@pytest.fixture
def marked(mark: str) -> Iterator[subprocess.Popen[bytes]]:
    with sleeper(mark) as process:
        yield process
        process.kill()


@pytest.fixture
def stranger(mark: str) -> Iterator[subprocess.Popen[bytes]]:
    """Of another agent, whose mark begins the same."""
    with sleeper(f"{mark}0") as process:
        yield process
        process.kill()


def test_what_carries_the_mark_is_killed_and_nothing_else(
    mark: str, marked: subprocess.Popen[bytes], stranger: subprocess.Popen[bytes]
) -> None:
    assert sweep(mark) == []
    assert marked.wait(20) < 0
    assert stranger.poll() is None


def test_one_that_is_about_to_run_another_program_is_waited_for(
    mark: str, marked: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two programs the kernel shows no environment: here for so many looks, as on a busy machine."""
    shown, looks = leftovers._environment, iter(range(5))
    monkeypatch.setattr(
        leftovers,
        "_environment",
        lambda pid: b"" if pid == marked.pid and next(looks, None) is not None else shown(pid),
    )
    assert sweep(mark) == []
    assert marked.wait(20) < 0


def test_one_without_any_environment_is_not_waited_for() -> None:
    with subprocess.Popen(["sleep", "600"], env={}) as bare:
        try:
            assert asyncio.run(until(lambda: not leftovers._is_between(bare.pid)))  # `sleep` may only just be starting
            assert leftovers._environment(bare.pid) == b""
        finally:
            bare.kill()
