"""Backends for the tests: each is skipped where this machine lacks it, and fails there when VIVA_REQUIRE names it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
import pytest_asyncio

from tests.conftest import missing as missing
from tests.warm.boxes import fresh_boxes
from viva.sandbox import Sandbox, SandboxError
from viva.sandbox.choice import choose


@pytest.fixture(scope="module", autouse=True)
def fresh_sandboxes() -> Iterator[None]:
    """Sandboxes start as they do for users."""
    with fresh_boxes():
        yield


KINDS = ("docker", "bwrap", "process")


async def sandbox_of(kind: str, **options: object) -> Sandbox:
    try:
        return (await choose(kind, **options)).sandbox  # type: ignore[arg-type]
    except SandboxError as error:
        missing(kind, str(error))
        raise


async def eventually(holds: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
    """Wait for what others bring about in their own time: a daemon, a process that was killed."""
    async with asyncio.timeout(seconds):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.1)


@pytest.fixture(scope="session")
def kind(request: pytest.FixtureRequest) -> str:
    """The backend under test; modules name theirs with `parametrize("kind", ..., indirect=True, scope="session")`."""
    return str(request.param)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def box(kind: str) -> AsyncIterator[Sandbox]:
    """One sandbox of the kind for all tests: sessions are what is fresh."""
    sandbox = await sandbox_of(kind, concurrency=2)
    yield sandbox
    await sandbox.close()
