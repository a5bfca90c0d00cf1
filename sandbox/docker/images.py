"""Finds or makes the image for a run's containers: the base image, or one with a case's dependencies on top."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any

from viva.sandbox.docker import ownership
from viva.sandbox.docker.container import ContainerPipe, remove
from viva.sandbox.docker.daemon import Daemon, explain, is_api_error, is_missing
from viva.sandbox.interface import DependencyError, SandboxUnavailable
from viva.sandbox.packages import blame, key_of, normalised, only_one, package_source

OFFICIAL = "python:3.12-slim"
HOME_MADE = "viva-base:debian"
IMAGE_VARIABLE = "VIVA_SANDBOX_IMAGE"
REPOSITORY = "viva-dependencies"
SITE = "/opt/viva/site"
SCRATCH = "/tmp/viva"  # noqa: S108 - a tmpfs of the builder's: nothing written there becomes part of the image
BUILD_REMEDY = "`viva sandbox build` pulls or builds one."
ANSWER_SECONDS = 10.0
"""How long a registry may take to begin to answer."""
BUILD_SECONDS = 900.0


class DockerImages:
    """The images of one daemon. `image` names the base image (else `VIVA_SANDBOX_IMAGE`, else the official one)."""

    def __init__(self, daemon: Daemon, image: str | None = None, *, allow_source: bool = False) -> None:
        self._daemon = daemon
        self._allow_source = allow_source
        self.wanted = image or os.environ.get(IMAGE_VARIABLE) or None
        self._base: tuple[str, str] | None = None
        self._turn = asyncio.Lock()
        self._known: dict[tuple[str, ...], asyncio.Task[str]] = {}

    async def base(self) -> str:
        """Return the id of the base image, and pull it where the daemon does not have it.

        Raises:
            SandboxUnavailable: the daemon does not have it, and no registry gives it.
        """
        async with self._turn:
            if self._base is None:
                self._base = await self.find() or await self.pull(self.wanted or OFFICIAL)
            return self._base[1]

    @property
    def base_name(self) -> str:
        """The name of the base image, once it was looked for."""
        return self._base[0] if self._base else self.wanted or OFFICIAL

    async def find(self) -> tuple[str, str] | None:
        """Return name and id of the base image where the daemon has it."""
        for name in [self.wanted] if self.wanted else [OFFICIAL, HOME_MADE]:
            try:
                return name, (await self._daemon.call("inspect_image", name))["Id"]
            except Exception as error:
                if not is_missing(error):
                    raise
        return None

    async def pull(self, name: str) -> tuple[str, str]:
        """Get an image from its registry.

        Raises:
            SandboxUnavailable: it cannot be had, or the registry does not begin to answer within `ANSWER_SECONDS`.
        """
        answered, loop = asyncio.Event(), asyncio.get_running_loop()

        def heard() -> None:
            with contextlib.suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(answered.set)

        # The SDK lets a pull wait for ever; one that hangs is left behind in its thread.
        pulling = asyncio.ensure_future(self._daemon.run(_pull, name, heard))
        pulling.add_done_callback(lambda _: answered.set())
        try:
            try:
                await asyncio.wait_for(answered.wait(), ANSWER_SECONDS)
            except TimeoutError as error:
                raise TimeoutError(f"no answer within {ANSWER_SECONDS:g} s") from error
            await pulling
            return name, (await self._daemon.call("inspect_image", name))["Id"]
        except Exception as error:
            why = str(getattr(error, "explanation", None) or error)[:200]
            reason = f"the image {name} is not available locally, and no registry provides it ({why})."
            raise SandboxUnavailable(reason, BUILD_REMEDY) from error
        finally:
            pulling.cancel()

    async def with_dependencies(self, dependencies: Sequence[str]) -> str:
        """Return the id of an image with these packages. It is built once, however many runs ask for it.

        Raises:
            DependencyError: one cannot be installed.
        """
        if not dependencies:
            return await self.base()
        wanted = tuple(normalised(dependencies, allow_source=self._allow_source))
        task = self._known.get(wanted)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = self._known[wanted] = asyncio.create_task(self._ensure(wanted))
        return await asyncio.shield(task)

    def forget(self) -> None:
        """Forget what is known of images: somebody removed one."""
        self._base = None
        self._known.clear()

    async def _ensure(self, requirements: tuple[str, ...]) -> str:
        base = await self.base()
        key = key_of(f"{base} {'source' if self._allow_source else 'wheels'}", requirements)
        name = f"{REPOSITORY}:{key}"
        async with only_one(key):
            try:
                return str((await self._daemon.call("inspect_image", name))["Id"])
            except Exception as error:
                if not is_missing(error):
                    raise
            return await self._build(base, requirements, name)

    async def _build(self, base: str, requirements: tuple[str, ...], name: str) -> str:
        """Install into a container that has a network and never runs a check, and keep the result as an image."""
        source = package_source()
        if self._allow_source:
            source = source.without_credentials()  # a build could read them, and keep them in the image
            if source.is_local:
                raise DependencyError(
                    ", ".join(requirements),
                    "the package index is on this machine's loopback: source packages are built in a container that "
                    "must not reach it. Name an index elsewhere, or build wheels of them.",
                )
        order = {
            **asdict(source),
            "requirements": requirements,
            "target": SITE,
            "scratch": SCRATCH,
            "home": SCRATCH,
            "abandon": "",
            "source": self._allow_source,
            "options": ["--no-cache-dir", "--root-user-action=ignore"],
        }
        container = ""
        try:
            settings = await self._daemon.run(_builder_settings, base, source.is_local)
            container = (await self._daemon.call("create_container", **settings))["Id"]
            pipe = ContainerPipe(self._daemon, container)
            try:
                await pipe.connect()
                await self._daemon.call("start", container)
                await pipe.write(json.dumps(order).encode() + b"\n")
                async with asyncio.timeout(BUILD_SECONDS):
                    said = await pipe.rest()
            finally:
                pipe.hang_up()
            status = (await self._daemon.call("wait", container))["StatusCode"]
            if status != 0:
                raise blame(requirements, said.decode("utf-8", "replace"), allow_source=self._allow_source)
            return str(await self._daemon.run(_commit, container, name, seconds=BUILD_SECONDS))
        except TimeoutError as error:
            raise DependencyError(", ".join(requirements), f"not done after {BUILD_SECONDS:g} s") from error
        except Exception as error:
            if is_api_error(error):
                raise explain(error) from error
            raise
        finally:
            if container:
                await asyncio.shield(self._daemon.run(remove, container))


def _builder_settings(api: Any, base: str, local_index: bool) -> dict[str, Any]:
    name = f"viva-builder-{uuid.uuid4().hex[:12]}"
    return {
        "image": base,
        "entrypoint": ["python3"],
        "command": ["-I", "-c", (resources.files("sandbox") / "inside" / "install.py").read_text()],
        "user": "0:0",
        "use_config_proxy": False,  # it would stay in the image; what is needed goes in over stdin
        "working_dir": "/",
        "stdin_open": True,
        "healthcheck": {"test": ["NONE"]},
        "labels": ownership.labels("builder", name=name),
        "name": name,
        "host_config": api.create_host_config(
            network_mode="host" if local_index else "default",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            tmpfs={"/tmp": "rw,exec,nosuid,nodev,mode=1777"},  # noqa: S108 - inside the container
            mem_limit="4g",
            pids_limit=512,
            log_config={"Type": "none", "Config": {}},
        ),
    }


def _commit(api: Any, container: str, name: str) -> str:
    repository, tag = name.split(":")
    # The builder's labels would stay on the image, and on every container made from it.
    given = {**ownership.image_labels("dependencies"), ownership.KIND: ""}
    labels = " ".join(f'{key}="{value}"' for key, value in given.items())
    changes = ["ENTRYPOINT []", 'CMD ["python3"]', f"LABEL {labels}"]
    return str(api.commit(container, repository=repository, tag=tag, changes=changes)["Id"])


def _pull(api: Any, name: str, heard: Callable[[], None]) -> None:
    began = time.monotonic()
    for event in api.pull(*split_tag(name), stream=True, decode=True):
        heard()
        if "error" in event:
            raise RuntimeError(event["error"])
        if time.monotonic() - began > BUILD_SECONDS:
            raise TimeoutError(f"not done after {BUILD_SECONDS:g} s")


def split_tag(name: str) -> tuple[str, str | None]:
    """Return repository and tag. A digest stays with the repository, and a port is not a tag."""
    if "@" in name:
        return name, None
    head, colon, tag = name.rpartition(":")
    return (head, tag) if colon and "/" not in tag else (name, "latest")
