"""Checks what Viva can use on this machine, what is missing, and how to install it. Prints nothing."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from viva.adapters.connectors.table import CONNECTORS, connectors
from viva.judge.registry import EVALUATORS
from viva.plugins.kinds import FoundPart, names
from viva.recordings.table import READERS
from viva.records.wording import UNSAFE
from viva.reports.formats import FORMATS
from viva.sandbox import SandboxError, SandboxUnavailable
from viva.sandbox.choice import choose
from viva.sandbox.docker.daemon import Daemon
from viva.sinks import SINKS

KEY = "OPENAI_API_KEY"
FACTS_SECONDS = 10.0
"""Maximum wait for the daemon's information about itself."""
TABLES = {
    "connectors": CONNECTORS,
    "readers": READERS,
    "evaluators": EVALUATORS,
    "sinks": SINKS,
    "report formats": FORMATS,
}
"""The tables of the parts that can be added, by kind."""


@dataclass(frozen=True)
class DoctorFinding:
    """The result of one check."""

    name: str
    there: bool
    detail: str
    remedy: str = ""
    """How to install it; empty if it is there."""
    needed: bool = True
    """False if only some runs require it."""
    weaknesses: tuple[str, ...] = ()
    """What it does not guarantee."""


@dataclass(frozen=True)
class Diagnosis:
    """All results, and the sandbox that `--sandbox auto` selects here."""

    findings: tuple[DoctorFinding, ...]
    sandbox: str
    note: str = ""
    parts: Mapping[str, tuple[FoundPart, ...]] = field(default_factory=dict)
    """Connectors, readers and other parts that are available by name; none of them has been imported."""


async def diagnose() -> Diagnosis:
    """Check this machine. Starts one server in each sandbox, and downloads nothing but a missing base image."""
    docker, bwrap, process = await asyncio.gather(_sandbox("docker"), _sandbox("bwrap"), _sandbox("process"))
    chosen = next(one for one in (docker, bwrap, process) if one.there)
    note = "" if chosen is docker else f"{docker.detail} {docker.remedy}"
    if chosen is process:
        note += f" {bwrap.detail} {bwrap.remedy}"
    found = (_python(), docker, bwrap, process, _pip(), _base_maker(), _model())
    return Diagnosis(found, chosen.name.removeprefix("sandbox "), note, find_parts())


def find_parts() -> dict[str, tuple[FoundPart, ...]]:
    """List the parts that are built in or that installed distributions announce, by kind."""
    found = {name: tuple(names(kind)) for name, kind in TABLES.items()}
    return {**found, "connectors": tuple(connectors())}


async def _sandbox(kind: str) -> DoctorFinding:
    name = f"sandbox {kind}"
    try:
        sandbox = (await choose(kind, patience=3)).sandbox
    except SandboxUnavailable as error:
        return DoctorFinding(name, False, error.reason, error.remedy, needed=False)
    except SandboxError as error:
        return DoctorFinding(name, False, str(error), "See the daemon's log.", needed=False)
    detail = await _docker_facts() if kind == "docker" else "works" if sandbox.isolates else f"works, {UNSAFE}"
    try:
        runs = await sandbox.try_out()
    except SandboxError as error:
        return DoctorFinding(name, False, str(error), "See the daemon's log.", needed=False)
    finally:
        await sandbox.close()
    detail += f", each run has {runs.runs}" + (f" ({runs.note})" if runs.note else "")
    return DoctorFinding(name, True, detail, needed=False, weaknesses=sandbox.weaknesses)


async def _docker_facts() -> str:
    from viva.sandbox.docker.images import DockerImages

    daemon = Daemon(patience=3)
    try:
        images = DockerImages(daemon)
        async with asyncio.timeout(FACTS_SECONDS):
            info = await daemon.call("info")
            await images.base()
    except Exception as error:
        return f"works, but its details are not available ({type(error).__name__})"
    finally:
        daemon.close()
    words = [f"Docker {info.get('ServerVersion')} at {daemon.where}", f"base image {images.base_name}"]
    options = " ".join(info.get("SecurityOptions") or [])
    words.append("seccomp" if "seccomp" in options else "NO seccomp")
    words += [
        text for mark, text in (("userns", "user namespaces"), ("rootless", "rootless")) if f"name={mark}" in options
    ]
    stronger = sorted(set(info.get("Runtimes") or {}) & {"runsc", "kata", "kata-runtime", "sysbox-runc"})
    words += [f"runtime {name} available (VIVA_SANDBOX_RUNTIME={name})" for name in stronger]
    return ", ".join(words)


def _python() -> DoctorFinding:
    good = sys.version_info >= (3, 11)
    detail = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return DoctorFinding("python", good, detail, "" if good else "Viva requires Python 3.11 or newer.")


def _pip() -> DoctorFinding:
    from importlib.util import find_spec

    there = find_spec("pip") is not None
    required = "bwrap and process require it for cases with dependencies."
    remedy = "" if there else f"`{sys.executable} -m ensurepip`; {required}"
    return DoctorFinding(
        "pip", there, "installs a case's dependencies" if there else "not in this environment", remedy, needed=False
    )


def _base_maker() -> DoctorFinding:
    there = shutil.which("debootstrap") is not None and os.geteuid() == 0
    detail = "can build a base image without a registry" if there else "a base image can only come from a registry"
    remedy = (
        "" if there else "`apt-get install debootstrap`, and `viva sandbox build` as root, if no registry is available."
    )
    return DoctorFinding("debootstrap", there, detail, remedy, needed=False)


def _model() -> DoctorFinding:
    there = bool(os.environ.get(KEY))
    detail = f"{KEY} is set" if there else f"{KEY} is not set; cases with a script and eval_code require no model"
    remedy = "" if there else f"export {KEY}=…, and OPENAI_BASE_URL for another provider; then `--model openai:NAME`."
    return DoctorFinding("model", there, detail, remedy, needed=False)
