"""The base image: found, or made from Debian packages where no registry answers; and tried before it is called good."""

from __future__ import annotations

import uuid

import pytest

from tests.sandbox.conftest import sandbox_of
from viva.sandbox import SandboxError, SandboxUnavailable
from viva.sandbox.docker.base_image import build
from viva.sandbox.docker.daemon import Daemon
from viva.sandbox.docker.images import DockerImages

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_image_that_is_there_is_tried_and_used() -> None:
    await (await sandbox_of("docker")).close()
    said: list[str] = []
    daemon = Daemon()
    name = await build(daemon, say=said.append)
    images = DockerImages(daemon)
    await images.base()
    assert name == images.base_name
    assert "locked, works" in said[-1]
    daemon.close()


async def test_an_image_without_python_is_not_called_good() -> None:
    await (await sandbox_of("docker")).close()
    daemon = Daemon()
    name = f"viva-empty:{uuid.uuid4().hex[:8]}"
    await daemon.run(lambda api: api.import_image_from_data(EMPTY_TAR, *name.split(":")))
    try:
        with pytest.raises(SandboxError, match="python3"):
            await build(daemon, name, say=lambda words: None)
    finally:
        await daemon.call("remove_image", name)
        daemon.close()


async def test_an_image_asked_for_by_name_is_never_replaced_by_another() -> None:
    await (await sandbox_of("docker")).close()
    daemon = Daemon()
    with pytest.raises(SandboxUnavailable, match=r"127\.0\.0\.1:9/none"):
        await build(daemon, "127.0.0.1:9/none:1", say=lambda words: None)
    daemon.close()


@pytest.mark.soak
async def test_an_image_is_made_from_debian_packages() -> None:
    await (await sandbox_of("docker")).close()
    daemon = Daemon()
    name = f"viva-base:{uuid.uuid4().hex[:8]}"
    said: list[str] = []
    try:
        assert await build(daemon, name, from_packages=True, say=said.append) == name
        assert "Debian packages" in said[0]
        assert "locked, works" in said[-1]
    finally:
        await daemon.call("remove_image", name)
        daemon.close()


EMPTY_TAR = bytes(10240)
