"""Chooses a run's sandbox: the one asked for, or with `auto` the strongest there is, and why not a stronger one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TypedDict

from viva.sandbox.interface import Fresh, Sandbox, SandboxError, SandboxUnavailable
from viva.sandbox.limits import SandboxLimits

LOOK_SECONDS = 15.0
"""How long a daemon that answers may take to say whether it has the base image."""
KINDS = ("auto", "docker", "bwrap", "process")


class _Options(TypedDict):
    concurrency: int
    limits: SandboxLimits | None
    allow_source: bool
    fresh: Fresh


@dataclass(frozen=True)
class Choice:
    """A sandbox that works here."""

    sandbox: Sandbox
    note: str = ""
    """With `auto`: why it is not docker, and what would change that. Otherwise empty."""


async def choose(
    kind: str,
    *,
    image: str | None = None,
    concurrency: int = 1,
    limits: SandboxLimits | None = None,
    runtime: str | None = None,
    patience: float = 60.0,
    allow_source: bool = False,
    fresh: Fresh = "world",
) -> Choice:
    """Open the sandbox `kind`: `docker`, `bwrap`, `process`, or `auto` for the first of these that works here.

    `image` is the base image (else `VIVA_SANDBOX_IMAGE`, else the official slim Python image), `concurrency` the
    number of servers kept ready, `limits` the largest limits of any check (`limits.largest`), `runtime` a Docker
    runtime (else `VIVA_SANDBOX_RUNTIME`), and `patience` how many seconds a run waits for a daemon that went away.
    `allow_source` allows dependencies that are not wheels of a package index, and so programs of their authors'.
    `fresh` is what each run has for itself: a `world` where this machine allows it, or always a `container`.

    Raises:
        SandboxUnavailable: this kind does not work here; never raised for `auto`.
        ValueError: there is no such kind.
    """
    options: _Options = {"concurrency": concurrency, "limits": limits, "allow_source": allow_source, "fresh": fresh}
    if kind == "docker":
        return Choice(await _docker(image, runtime, patience, options))
    if kind == "bwrap":
        return Choice(await _bwrap(options))
    if kind == "process":
        return Choice(_process(options))
    if kind != "auto":
        raise ValueError(f"no sandbox is called {kind!r}: choose one of {', '.join(KINDS)}")
    try:
        return Choice(await _docker(image, runtime, patience, options))
    except SandboxError as error:
        why = str(error)
    try:
        return Choice(await _bwrap(options), f"Sandbox: bwrap, not docker: {why}")
    except SandboxError as error:
        note = f"Sandbox: process, which does NOT isolate. Not docker: {why} Not bwrap: {error}"
        return Choice(_process(options), note)


async def _docker(image: str | None, runtime: str | None, patience: float, options: _Options) -> Sandbox:
    from viva.sandbox.docker.backend import DockerSandbox
    from viva.sandbox.docker.daemon import RESTART_REMEDY, Daemon

    daemon = Daemon(patience=patience)
    try:
        await daemon.reach()
        sandbox = DockerSandbox(daemon, image=image, runtime=runtime, **options)
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


async def _bwrap(options: _Options) -> Sandbox:
    from viva.sandbox.bwrap import BwrapSandbox

    return await asyncio.to_thread(BwrapSandbox, **options)


def _process(options: _Options) -> Sandbox:
    from viva.sandbox.process import ProcessSandbox

    return ProcessSandbox(**options)


__all__ = ["KINDS", "Choice", "SandboxUnavailable", "choose"]
