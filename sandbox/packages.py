"""A case's dependencies: which they are, where this machine gets them, and a folder of them for bwrap and process."""

from __future__ import annotations

import asyncio
import configparser
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.interface import DependencyError, SandboxError

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


def normalised(dependencies: Sequence[str]) -> list[str]:
    """The requirements in PEP 508's own spelling, sorted, each once.

    Raises:
        DependencyError: one is no PEP 508 requirement, or points to a file of this machine.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    found = set()
    for text in dependencies:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise DependencyError(text, f"it is not a PEP 508 requirement: {str(error).splitlines()[0]}") from error
        if requirement.url and not requirement.url.startswith(("https://", "http://", "git+https://")):
            raise DependencyError(text, "only packages from an index or an http(s) address can be installed")
        found.add(str(requirement))
    return sorted(found)


def key_of(base: str, requirements: Sequence[str]) -> str:
    """Names one environment: what it is made of, and what is put in."""
    return hashlib.sha256("\n".join([base, *requirements]).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class PackageSource:
    """How this machine reaches its package index. May hold credentials: only ever sent, never stored or shown."""

    pip: dict[str, str] = field(default_factory=dict)
    proxies: dict[str, str] = field(default_factory=dict)
    certificates: str = ""

    @property
    def is_local(self) -> bool:
        """Whether it lies on this machine's loopback, which a container with a network of its own cannot see."""
        words = " ".join([*self.pip.values(), *self.proxies.values()])
        return bool(re.search(r"//([^/@\s]*@)?(localhost|127\.|\[::1\])", words))


def package_source(environment: Mapping[str, str] | None = None) -> PackageSource:
    """Read pip's configuration files, then its environment variables, as pip does; proxies; the CA bundle."""
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


def blame(requirements: Sequence[str], output: str) -> DependencyError:
    """Which requirement pip stumbled over, by its own words, and the end of what it said."""
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
    detail = re.sub(r"//[^/@\s]+@", "//", " ".join(errors)[-600:])
    return DependencyError(blamed, detail)


def cache_folder(below: str) -> Path:
    """Where environments and locks are kept. Root's is not below its home: other users' sandboxes must get there.

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
    """Hold a lock that all harnesses on this machine know; the kernel lets go of it when we die."""
    descriptor = os.open(cache_folder("locks") / key, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(0.1)
        yield
    finally:
        os.close(descriptor)


async def site_folder(dependencies: Sequence[str], python: str) -> str:
    """A folder with these packages for this interpreter, installed once; an empty string when there are none.

    Wheels only: a source distribution would run its author's code on this machine.

    Raises:
        DependencyError: one cannot be had.
    """
    if not dependencies:
        return ""
    requirements = normalised(dependencies)
    version = await asyncio.to_thread(_version_of, python)
    key = key_of(f"{version} {sys.platform} {os.uname().machine}", requirements)
    target = cache_folder("site") / key
    if target.is_dir():
        return str(target)
    async with only_one(key):
        if not target.is_dir():
            await asyncio.to_thread(_install, requirements, python, version, target)
    return str(target)


def _version_of(python: str) -> str:
    if os.path.realpath(python) == os.path.realpath(sys.executable):
        return f"{sys.version_info[0]}.{sys.version_info[1]}"
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=True).stdout.strip()


def _install(requirements: Sequence[str], python: str, version: str, target: Path) -> None:
    installer = next((one for one in (sys.executable, python) if _has_pip(one)), None)
    if installer is None:
        raise DependencyError(", ".join(requirements), "there is no pip here: install it into Viva's own environment")
    fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=".making-"))
    try:
        command = [installer, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--quiet"]
        command += ["--target", str(fresh), "--only-binary", ":all:", "--python-version", version, "--", *requirements]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise blame(requirements, done.stderr + done.stdout)
        fresh.chmod(0o755)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _has_pip(python: str) -> bool:
    return subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
