"""Finds out what Viva can use on this machine, what is missing, and how to get it. Prints nothing."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from dataclasses import dataclass

from harness.wording import UNSAFE
from sandbox import SandboxError, SandboxUnavailable
from sandbox.choice import choose
from sandbox.daemon import Daemon

KEY = "OPENAI_API_KEY"
FACTS_SECONDS = 10.0
"""How long a daemon may take to speak of itself."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for."""

    name: str
    there: bool
    detail: str
    remedy: str = ""
    """How to get it; empty when it is there."""
    needed: bool = True
    """False for what only some runs need."""
    weaknesses: tuple[str, ...] = ()
    """What it does not guarantee."""


@dataclass(frozen=True)
class Diagnosis:
    """Everything that was found, and what `--sandbox auto` takes here."""

    findings: tuple[Finding, ...]
    sandbox: str
    note: str = ""


async def diagnose() -> Diagnosis:
    """Look at this machine. Starts no container, downloads nothing but a missing base image that a registry offers."""
    docker, bwrap, process = await asyncio.gather(_sandbox("docker"), _sandbox("bwrap"), _sandbox("process"))
    chosen = next(one for one in (docker, bwrap, process) if one.there)
    note = "" if chosen is docker else f"{docker.detail} {docker.remedy}"
    if chosen is process:
        note += f" {bwrap.detail} {bwrap.remedy}"
    found = (_python(), docker, bwrap, process, _pip(), _base_maker(), _model())
    return Diagnosis(found, chosen.name.removeprefix("sandbox "), note)


async def _sandbox(kind: str) -> Finding:
    name = f"sandbox {kind}"
    try:
        sandbox = (await choose(kind, patience=3)).sandbox
    except SandboxUnavailable as error:
        return Finding(name, False, error.reason, error.remedy, needed=False)
    except SandboxError as error:
        return Finding(name, False, str(error), "Look at the daemon's own log.", needed=False)
    detail = await _docker_facts() if kind == "docker" else "works" if sandbox.isolates else f"works, {UNSAFE}"
    await sandbox.close()
    return Finding(name, True, detail, needed=False, weaknesses=sandbox.weaknesses)


async def _docker_facts() -> str:
    from sandbox.images import Images

    daemon = Daemon(patience=3)
    try:
        images = Images(daemon)
        async with asyncio.timeout(FACTS_SECONDS):
            info = await daemon.call("info")
            await images.base()
    except Exception as error:
        return f"works, but says little of itself ({type(error).__name__})"
    finally:
        daemon.close()
    words = [f"Docker {info.get('ServerVersion')} at {daemon.where}", f"base image {images.base_name}"]
    options = " ".join(info.get("SecurityOptions") or [])
    words.append("seccomp" if "seccomp" in options else "NO seccomp of its own")
    words += [
        text for mark, text in (("userns", "user namespaces"), ("rootless", "rootless")) if f"name={mark}" in options
    ]
    stronger = sorted(set(info.get("Runtimes") or {}) & {"runsc", "kata", "kata-runtime", "sysbox-runc"})
    words += [f"runtime {name} to be had (VIVA_SANDBOX_RUNTIME={name})" for name in stronger]
    return ", ".join(words)


def _python() -> Finding:
    good = sys.version_info >= (3, 11)
    detail = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Finding("python", good, detail, "" if good else "Viva needs Python 3.11 or newer.")


def _pip() -> Finding:
    from importlib.util import find_spec

    there = find_spec("pip") is not None
    remedy = "" if there else f"`{sys.executable} -m ensurepip`; bwrap and process need it for cases with dependencies."
    return Finding(
        "pip", there, "installs a case's dependencies" if there else "not in this environment", remedy, needed=False
    )


def _base_maker() -> Finding:
    there = shutil.which("debootstrap") is not None and os.geteuid() == 0
    detail = "can make a base image without a registry" if there else "a base image can only come from a registry"
    remedy = (
        "" if there else "`apt-get install debootstrap`, and `viva sandbox build` as root, where no registry answers."
    )
    return Finding("debootstrap", there, detail, remedy, needed=False)


def _model() -> Finding:
    there = bool(os.environ.get(KEY))
    detail = f"{KEY} is set" if there else f"{KEY} is not set; cases with a script and eval_code need no model"
    remedy = "" if there else f"export {KEY}=…, and for another provider OPENAI_BASE_URL; then `--model openai:NAME`."
    return Finding("model", there, detail, remedy, needed=False)
