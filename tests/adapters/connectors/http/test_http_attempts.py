"""A call that is made again: what a time-out says depends on whether somebody has taken the last attempt."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import tenacity
import yaml

from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, open_session
from viva.errors import AgentTimeout
from viva.models import retry

SPECS = {
    "chat": "{url}/v1#m",
    "responses": "{url}/v1/responses#m",
    "json": {"connector": "http", "api": "json", "url": "{url}", "request": {"body": "{{{{ message }}}}"}},
    "a2a": "a2a:{url}",
}


@pytest.fixture
def port() -> Iterator[socket.socket]:
    """A port at which nobody listens yet: connections are refused."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound


@pytest.fixture(params=SPECS)
def spec(request: pytest.FixtureRequest, port: socket.socket, tmp_path: Path) -> str:
    if request.param == "a2a":
        pytest.importorskip("a2a", reason="the package a2a-sdk is not installed")
    url, found = f"http://127.0.0.1:{port.getsockname()[1]}", SPECS[request.param]
    if isinstance(found, str):
        return found.format(url=url)
    file = tmp_path / "agent.yaml"
    file.write_text(yaml.safe_dump(found).format(url=url))
    return str(file)


@pytest.mark.parametrize("listens", [True, False])
async def test_a_time_out_means_that_nobody_is_there_only_if_the_last_attempt_was_not_taken(
    spec: str, port: socket.socket, listens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def between(_: float) -> None:
        if listens:
            port.listen()  # the next attempt gets a connection, and no answer
        else:
            await asyncio.sleep(600)

    monkeypatch.setattr(retry.tenacity, "AsyncRetrying", partial(tenacity.AsyncRetrying, sleep=between))
    session = await open_session(load_agent(spec).factory, AgentArguments("task"), 10)
    # Two attempts must be begun by then, or one, and what the connector imports for the first one be loaded.
    seconds = 6 if listens else 4
    with pytest.raises(AgentTimeout) as caught:
        await session.reply("Hello.", seconds)
    assert caught.value.unavailable is not listens
    assert ("the last attempt failed" in str(caught.value)) is not listens
    await session.close()
