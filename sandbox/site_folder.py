"""A folder with a case's dependencies for bwrap and process: made once by pip, and swept if that was killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from viva.file_locks import try_lock
from viva.sandbox.interface import DependencyError, SandboxError
from viva.sandbox.packages import blame, cache_folder, key_of, normalised, only_one

_MAKING = ".making-"
# What a package's build may know of this machine's environment: how to reach a package index, and nothing else.
_FOR_A_BUILD = re.compile(
    r"PATH|LANG|LC_\w+|PIP_\w+|(https?|all|no)_proxy|REQUESTS_CA_BUNDLE|SSL_CERT_FILE", re.IGNORECASE
)


async def site_folder(dependencies: Sequence[str], python: str, *, allow_source: bool = False) -> str:
    """Return a folder with these packages for this interpreter, or an empty string when there are none.

    Only wheels are installed, and only once: a source distribution would run its author's code on this machine, which
    `allow_source` allows.

    Raises:
        DependencyError: one cannot be had.
    """
    if not dependencies:
        return ""
    requirements = normalised(dependencies, allow_source=allow_source)
    version = await asyncio.to_thread(_version_of, python)
    kind = "source" if allow_source else "wheels"
    key = key_of(f"{version} {sys.platform} {os.uname().machine} {kind}", requirements)
    target = cache_folder("site") / key
    if target.is_dir():
        return str(target)
    async with only_one(key):
        await asyncio.to_thread(sweep, key)
        if not target.is_dir():
            fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{_MAKING}{key}-"))
            try:
                await _install(_Order(requirements, python, version, allow_source), fresh)
                (fresh / "site").chmod(0o755)
                (fresh / "site").rename(target)
            finally:
                await asyncio.shield(asyncio.to_thread(shutil.rmtree, fresh, ignore_errors=True))
    return str(target)


def sweep(held: str = "") -> list[str]:
    """Remove the folders of installations that were killed half-way, and return their names.

    A running installation holds the lock of its folder, so that a folder whose lock is free is a leftover, or one whose
    lock the caller has `held`.
    """
    gone = []
    for folder in cache_folder("site").glob(_MAKING + "*"):
        key = folder.name.removeprefix(_MAKING).partition("-")[0]
        with _lock_if_free(key) as free:
            if free or key == held:
                shutil.rmtree(folder, ignore_errors=True)
                gone.append(folder.name)
    return gone


@contextlib.contextmanager
def _lock_if_free(key: str) -> Iterator[bool]:
    descriptor = os.open(cache_folder("locks") / key, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    free = False
    try:
        with contextlib.suppress(OSError):
            free = try_lock(descriptor) is True  # where there are no locks, nobody knows
        yield free
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class _Order:
    requirements: Sequence[str]
    python: str
    version: str
    allow_source: bool


async def _install(order: _Order, fresh: Path) -> None:
    installer = await asyncio.to_thread(_installer, order)
    if installer is None:
        words = "there is no pip here: install it into Viva's own environment"
        raise DependencyError(", ".join(order.requirements), words)
    # Built for another Python than the one that runs pip, a source package would be of no use.
    build = order.allow_source and await asyncio.to_thread(_version_of, installer) == order.version
    request = {
        "requirements": order.requirements,
        "target": str(fresh / "site"),
        "scratch": str(fresh / "scratch"),
        "abandon": str(fresh),
        "home": str(fresh / "scratch") if build else "",
        "source": build,
        "options": [] if build else ["--python-version", order.version],
        "pip": {},
        "proxies": {},
        "certificates": "",
    }
    code = (resources.files("sandbox") / "inside" / "install.py").read_text()
    try:
        process = await asyncio.create_subprocess_exec(
            *(installer, "-I", "-c", code),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=_environment(build),
            cwd="/",
            start_new_session=True,  # Ctrl-C is meant for the harness
        )
    except OSError as error:
        raise SandboxError(f"pip did not start: {error}") from error
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        said = await process.stdout.read()
        status = await process.wait()
    finally:
        process.stdin.close()  # ends it, if it has not ended
        await asyncio.shield(process.wait())
    if status:
        raise blame(order.requirements, said.decode("utf-8", "replace"), allow_source=order.allow_source)


def _environment(build: bool) -> dict[str, str]:
    if not build:
        return dict(os.environ)  # pip alone reads it
    known = {name: value for name, value in os.environ.items() if _FOR_A_BUILD.fullmatch(name)}
    return {name: re.sub(r"//[^/@\s]+@", "//", value) for name, value in known.items()}


def _installer(order: _Order) -> str | None:
    """Return the Python whose pip installs: our own, or else the one that the packages are for."""
    candidates = (order.python, sys.executable) if order.allow_source else (sys.executable, order.python)
    return next((one for one in candidates if _has_pip(one)), None)


def _version_of(python: str) -> str:
    if os.path.realpath(python) == os.path.realpath(sys.executable):
        return f"{sys.version_info[0]}.{sys.version_info[1]}"
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=True).stdout.strip()


def _has_pip(python: str) -> bool:
    return subprocess.run([python, "-I", "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
