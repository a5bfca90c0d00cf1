"""A case's dependencies: their names, this machine's package index, and the lock under which they are installed."""

from __future__ import annotations

import asyncio
import configparser
import contextlib
import hashlib
import os
import re
import ssl
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from viva.file_locks import try_lock
from viva.sandbox.interface import DependencyError, SandboxError

_PIP_KEYS = (
    "index-url",
    "extra-index-url",
    "trusted-host",
    "proxy",
    "timeout",
    "default-timeout",
    "retries",
    "find-links",
)
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE")


# `pip install x.tar.gz` means the file, although it could be a package's name.
_ARCHIVE = re.compile(r"\.(zip|whl|egg|tar|tgz|tbz2?|txz|tlz|gz|bz2|xz|lz|lzma)$", re.IGNORECASE)
_CREDENTIALS = re.compile(r"//[^/@\s]+@")
_ELSEWHERE = "Name a folder on a disk of this machine with XDG_CACHE_HOME."
SOURCE_OPTION = "--allow-source-dependencies"


def normalised(dependencies: Sequence[str], *, allow_source: bool = False) -> list[str]:
    """Return the requirements in PEP 508's own spelling, sorted and without duplicates.

    Raises:
        DependencyError: one is no PEP 508 requirement, names a file, or an address without leave.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    found = set()
    for text in dependencies:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise DependencyError(text, f"it is not a PEP 508 requirement: {str(error).splitlines()[0]}") from error
        if _ARCHIVE.search(requirement.name):
            raise DependencyError(text, "it names a file; only packages from an index can be installed")
        if requirement.url and not allow_source:
            raise DependencyError(
                text,
                "it names an address, and an installation from there could run its author's code; only wheels from a "
                f"package index are installed. If you trust the case, add {SOURCE_OPTION}.",
            )
        if requirement.url and not requirement.url.startswith(("https://", "http://", "git+https://")):
            raise DependencyError(text, "only packages from an index or an http(s) address can be installed")
        found.add(str(requirement))
    return sorted(found)


def key_of(base: str, requirements: Sequence[str]) -> str:
    """Return a name for the environment that has these requirements on top of this base."""
    return hashlib.sha256("\n".join([base, *requirements]).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class PackageSource:
    """How this machine reaches its package index. It may hold credentials: it is sent, and never stored or shown."""

    pip: dict[str, str] = field(default_factory=dict)
    proxies: dict[str, str] = field(default_factory=dict)
    certificates: str = ""

    def without_credentials(self) -> PackageSource:
        """Return the same without user names and passwords, for a process that runs programs of a package's author."""
        pip = {key: _CREDENTIALS.sub("//", value) for key, value in self.pip.items()}
        proxies = {name: _CREDENTIALS.sub("//", value) for name, value in self.proxies.items()}
        return PackageSource(pip, proxies, self.certificates)

    @property
    def is_local(self) -> bool:
        """Return whether the index is on the loopback, which a container with its own network cannot reach."""
        words = " ".join([*self.pip.values(), *self.proxies.values()])
        return bool(re.search(r"//([^/@\s]*@)?(localhost|127\.|\[::1\])", words))


def package_source(environment: Mapping[str, str] | None = None) -> PackageSource:
    """Read the configuration files and environment variables of pip, as pip does, the proxies and the CA bundle."""
    env = os.environ if environment is None else environment
    home = Path(env.get("HOME", "/nonexistent"))
    files = [
        Path("/etc/xdg/pip/pip.conf"),
        Path("/etc/pip.conf"),
        home / ".pip/pip.conf",
        home / ".config/pip/pip.conf",
    ]
    files += [Path(sys.prefix) / "pip.conf", Path(env.get("PIP_CONFIG_FILE", "/nonexistent"))]
    parser = configparser.RawConfigParser()
    with contextlib.suppress(configparser.Error):
        parser.read(files)
    pip: dict[str, str] = {}
    cert = ""
    for section in ("global", "install"):
        if parser.has_section(section):
            pip |= {key: value for key, value in parser.items(section) if key in _PIP_KEYS}
            cert = parser.get(section, "cert", fallback=cert)
    for key in _PIP_KEYS:
        if value := env.get("PIP_" + key.upper().replace("-", "_")):
            pip[key] = value
    # A folder of this machine means nothing to a daemon elsewhere.
    links = [word for word in pip.pop("find-links", "").split() if word.startswith(("http://", "https://"))]
    if links:
        pip["find-links"] = " ".join(links)
    proxies = {name: env[name] for low in _PROXY_VARIABLES for name in (low, low.upper()) if env.get(name)}
    bundles = [env.get(name, "") for name in _CA_VARIABLES] + [cert, ssl.get_default_verify_paths().cafile or ""]
    bundle = next((name for name in [bundles[0], cert, *bundles[1:]] if name and os.path.isfile(name)), None)
    return PackageSource(pip, proxies, Path(bundle).read_text(errors="replace") if bundle else "")


def blame(requirements: Sequence[str], output: str, *, allow_source: bool = True) -> DependencyError:
    """Return an error that names the requirement at which pip failed, with the end of what pip said."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:] or ["pip said nothing"]
    names = {
        re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower(): requirement for requirement in requirements
    }
    said = " ".join(errors).lower()
    named = [
        requirement for name, requirement in names.items() if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said)
    ]
    blamed = named[0] if named else ", ".join(requirements)
    # An index address can hold a password.
    detail = _CREDENTIALS.sub("//", " ".join(errors)[-600:])
    if not allow_source:
        detail += f" (Only wheels are installed. If you trust the case, {SOURCE_OPTION} allows source packages.)"
    return DependencyError(blamed, detail)


def cache_folder(below: str) -> Path:
    """Return the folder for environments or locks. Root's is not below its home: other users' sandboxes must reach it.

    Raises:
        SandboxError: it cannot be written, or belongs to somebody else, whose code would run in our checks.
    """
    if os.geteuid() == 0:
        folder = Path("/var/cache/viva") / below
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = Path(cache) / "viva" / below
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxError(f"no folder for packages: {error}. Name another one with XDG_CACHE_HOME.") from error
    if folder.stat().st_uid != os.geteuid():
        raise SandboxError(f"{folder} belongs to another user. Name another one with XDG_CACHE_HOME.")
    return folder


@contextlib.asynccontextmanager
async def only_one(key: str) -> AsyncIterator[None]:
    """Hold a lock that all Viva processes on this machine share. The kernel releases it when this process dies.

    Raises:
        SandboxError: the folder of the locks cannot be written, or has no locks. Without one, a process could sweep
            away what another one is installing.
    """
    folder = cache_folder("locks")
    try:
        descriptor = os.open(folder / key, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SandboxError(f"no lock for packages: {error}. Name another folder with XDG_CACHE_HOME.") from error
    try:
        try:
            while (locked := try_lock(descriptor)) is False:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)
        except OSError as error:
            raise SandboxError(f"{folder} cannot be locked: {error.strerror}. {_ELSEWHERE}") from error
        if locked is None:
            raise SandboxError(f"{folder} is on a file system without locks. {_ELSEWHERE}")
        yield
    finally:
        os.close(descriptor)
