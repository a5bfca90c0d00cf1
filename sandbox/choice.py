"""Which sandbox a run gets: the one asked for, or with `auto` the strongest there is, and why not a stronger one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from sandbox.interface import Sandbox, SandboxError, SandboxLimits, SandboxUnavailable

LOOK_SECONDS = 15.0
"""How long a daemon that answers may take to say whether it has the base image."""
KINDS = ("auto", "docker", "bwrap", "process")


@dataclass(frozen=True)
class Choice:
    """A sandbox that is there."""

    sandbox: Sandbox
    note: str = ""
    """With `auto`: why it is not docker, and what would change that. Empty when there is nothing to say."""


async def choose(
    kind: str,
    *,
    image: str | None = None,
    concurrency: int = 1,
    limits: SandboxLimits | None = None,
    runtime: str | None = None,
    patience: float = 60.0,
) -> Choice:
    """Open the sandbox `kind`: `docker`, `bwrap`, `process`, or `auto` for the first of these that works here.

    `image` is the base image (else `VIVA_SANDBOX_IMAGE`, else the official slim Python image), `concurrency` how many
    rooms are kept ready, `limits` the default and the most of any check, `runtime` a Docker runtime (else
    `VIVA_SANDBOX_RUNTIME`), `patience` how many seconds a run waits for a daemon that went away.

    Raises:
        SandboxUnavailable: this kind is not there; never for `auto`.
        ValueError: no such kind.
    """
    if kind == "docker":
        return Choice(await _docker(image, concurrency, limits, runtime, patience))
    if kind == "bwrap":
        return Choice(await _bwrap(concurrency, limits))
    if kind == "process":
        return Choice(_process(concurrency, limits))
    if kind != "auto":
        raise ValueError(f"no sandbox is called {kind!r}: choose one of {', '.join(KINDS)}")
    try:
        return Choice(await _docker(image, concurrency, limits, runtime, patience))
    except SandboxError as error:
        why = str(error)
    try:
        return Choice(await _bwrap(concurrency, limits), f"Sandbox: bwrap, not docker: {why}")
    except SandboxError as error:
        note = f"Sandbox: process, which does NOT isolate. Not docker: {why} Not bwrap: {error}"
        return Choice(_process(concurrency, limits), note)


async def _docker(
    image: str | None, concurrency: int, limits: SandboxLimits | None, runtime: str | None, patience: float
) -> Sandbox:
    from sandbox.daemon import RESTART_REMEDY, Daemon
    from sandbox.docker import DockerSandbox

    daemon = Daemon(patience=patience)
    try:
        await daemon.reach()
        sandbox = DockerSandbox(daemon, image=image, concurrency=concurrency, limits=limits, runtime=runtime)
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await sandbox.images.find()
        except TimeoutError as error:
            raise SandboxUnavailable(
                f"the Docker daemon at {daemon.where} stopped answering.", RESTART_REMEDY
            ) from error
        await sandbox.images.base()
    except BaseException:
        daemon.close()
        raise
    return sandbox


async def _bwrap(concurrency: int, limits: SandboxLimits | None) -> Sandbox:
    from sandbox.bwrap import BwrapSandbox

    return await asyncio.to_thread(BwrapSandbox, concurrency=concurrency, limits=limits)


def _process(concurrency: int, limits: SandboxLimits | None) -> Sandbox:
    from sandbox.process import ProcessSandbox

    return ProcessSandbox(concurrency=concurrency, limits=limits)


__all__ = ["KINDS", "Choice", "SandboxUnavailable", "choose"]
