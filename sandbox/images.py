"""Which image a run's containers come from: the base image, or one made of it with a case's dependencies."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from typing import Any

from sandbox.daemon import Daemon, is_missing
from sandbox.interface import DependencyError, SandboxUnavailable

OFFICIAL = "python:3.12-slim"
HOME_MADE = "viva-base:debian"
IMAGE_VARIABLE = "VIVA_SANDBOX_IMAGE"
BUILD_REMEDY = "`viva sandbox build` gets or makes one."
ANSWER_SECONDS = 5.0
"""How long a registry may take to begin to answer."""


class Images:
    """The images of one daemon. `image` is the base image's name; none: `VIVA_SANDBOX_IMAGE`, else the official one."""

    def __init__(self, daemon: Daemon, image: str | None = None) -> None:
        self._daemon = daemon
        self.wanted = image or os.environ.get(IMAGE_VARIABLE) or None
        self._base: tuple[str, str] | None = None
        self._turn = asyncio.Lock()

    async def base(self) -> str:
        """The id of the base image, pulled when it is not there.

        Raises:
            SandboxUnavailable: it is not there, and no registry gives it.
        """
        async with self._turn:
            if self._base is None:
                self._base = await self._find() or await self._pull(self.wanted or OFFICIAL)
            return self._base[1]

    @property
    def base_name(self) -> str:
        return self._base[0] if self._base else self.wanted or OFFICIAL

    async def _find(self) -> tuple[str, str] | None:
        for name in [self.wanted] if self.wanted else [OFFICIAL, HOME_MADE]:
            try:
                return name, (await self._daemon.call("inspect_image", name))["Id"]
            except Exception as error:
                if not is_missing(error):
                    raise
        return None

    async def _pull(self, name: str) -> tuple[str, str]:
        try:
            await self._daemon.run(_pull, name)
            return name, (await self._daemon.call("inspect_image", name))["Id"]
        except Exception as error:
            reason = f"the image {name} is not here, and no registry gives it ({str(error)[:200]})."
            raise SandboxUnavailable(reason, BUILD_REMEDY) from error

    async def with_dependencies(self, dependencies: Sequence[str]) -> str:
        base = await self.base()
        if not dependencies:
            return base
        raise DependencyError(dependencies[0], "not yet supported")


def _pull(api: Any, name: str) -> None:
    """Pull; gives up when the registry has not begun to answer after `ANSWER_SECONDS`."""
    patient, usual = time.monotonic(), api.timeout
    api.timeout = ANSWER_SECONDS
    try:
        for event in api.pull(*split_tag(name), stream=True, decode=True):
            api.timeout = usual
            if "error" in event:
                raise RuntimeError(event["error"])
            if time.monotonic() - patient > 900:
                raise TimeoutError("it took longer than 15 minutes")
    finally:
        api.timeout = usual


def split_tag(name: str) -> tuple[str, str | None]:
    """Repository and tag; a digest stays with the repository, a port is no tag."""
    if "@" in name:
        return name, None
    head, colon, tag = name.rpartition(":")
    return (head, tag) if colon and "/" not in tag else (name, "latest")
