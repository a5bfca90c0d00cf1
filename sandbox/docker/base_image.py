"""Gets the base image for `viva sandbox build`: from a registry, or made from Debian packages where none answers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from viva.sandbox.docker import ownership
from viva.sandbox.docker.backend import DockerSandbox
from viva.sandbox.docker.daemon import Daemon
from viva.sandbox.docker.images import HOME_MADE, IMAGE_VARIABLE, OFFICIAL, DockerImages
from viva.sandbox.interface import Ending, RunView, SandboxError, SandboxUnavailable

PACKAGES = ("python3", "python3-pip", "ca-certificates")
SUITE_VARIABLE, MIRROR_VARIABLE = "VIVA_DEBIAN_SUITE", "VIVA_DEBIAN_MIRROR"
# No check and no installation reads these.
UNNEEDED_FOLDERS = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "var/cache/apt",
    "var/lib/apt/lists",
)


async def build(
    daemon: Daemon, image: str | None = None, *, from_packages: bool = False, say: Callable[[str], None] = print
) -> str:
    """Make sure that the daemon has a base image that works, and return its name.

    With `from_packages`, the image is made from Debian packages without asking a registry. `say` receives each step.

    Raises:
        SandboxUnavailable: no registry answers, and this machine cannot make one.
        SandboxError: the image is there, but no sandbox works with it.
    """
    images = DockerImages(daemon, image)
    name = images.wanted or OFFICIAL
    if from_packages:
        name = await _make(daemon, image or HOME_MADE, say)
    elif found := await images.find():
        name = found[0]
        say(f"The image {name} exists already.")
    else:
        try:
            say(f"Pulling {name} from the registry.")
            await images.pull(name)
        except SandboxUnavailable as error:
            say(f"It could not be pulled: {error.reason}")
            if images.wanted:
                raise
            name = await _make(daemon, HOME_MADE, say)
    say(f"Test: {await try_out(daemon, name)}")
    return name


async def _make(daemon: Daemon, name: str, say: Callable[[str], None]) -> str:
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise SandboxUnavailable(
            "building an image from Debian packages requires root and debootstrap.",
            "Debian, Ubuntu: `apt-get install debootstrap`, then `viva sandbox build` as root; or name an image "
            f"that you have with {IMAGE_VARIABLE}.",
        )
    say(f"Building {name} from the Debian packages {', '.join(PACKAGES)} (a minute or two).")
    await daemon.run(_make_and_import, name)
    return name


def _make_and_import(api: Any, name: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="viva-base-", dir="/var/tmp"))
    try:
        tree = folder / "tree"
        log = folder / "log"
        with log.open("wb") as output:
            done = subprocess.run(debootstrap_command(tree), stdout=output, stderr=output, check=False)
        if done.returncode:
            raise SandboxError(f"debootstrap failed: {log.read_text(errors='replace')[-800:]}")
        _slim(tree)
        labels = " ".join(f'{key}="{value}"' for key, value in ownership.image_labels("base").items())
        repository, _, tag = name.rpartition(":")
        with subprocess.Popen(["tar", "-C", str(tree), "--numeric-owner", "-c", "."], stdout=subprocess.PIPE) as tar:
            assert tar.stdout
            api.import_image_from_stream(tar.stdout, repository, tag, changes=['CMD ["python3"]', f"LABEL {labels}"])
        if tar.returncode:
            raise SandboxError("tar could not read what debootstrap made")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def debootstrap_command(tree: Path) -> list[str]:
    """Return the command that makes a system in the folder `tree`.

    Suite and mirror come from the environment, else from this machine where it is a Debian, else from debootstrap.
    """
    release = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    debian = re.search(r"^ID=debian$", release, re.MULTILINE)
    suite = re.search(r"^VERSION_CODENAME=(\w+)$", release, re.MULTILINE)
    words = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
    words += [os.environ.get(SUITE_VARIABLE) or (suite[1] if debian and suite else "stable"), str(tree)]
    mirror = os.environ.get(MIRROR_VARIABLE) or (_mirror_of_this_machine() if debian else None)
    return [*words, mirror] if mirror else words


def _mirror_of_this_machine() -> str | None:
    folder = Path("/etc/apt")
    for path in [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]:
        if path.is_file():
            for line in path.read_text(errors="replace").splitlines():
                found = re.match(r"(?:deb\s+(?:\[.*?\]\s+)?|URIs:\s*)(https?://\S+)", line)
                if found and "security" not in found[1]:
                    return found[1]
    return None


def _slim(tree: Path) -> None:
    for name in UNNEEDED_FOLDERS:
        shutil.rmtree(tree / name, ignore_errors=True)
        (tree / name).mkdir(parents=True, exist_ok=True)
    for path in tree.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o6000:
            path.chmod(path.stat().st_mode & 0o777)  # nothing in the image may change its user


async def try_out(daemon: Daemon, image: str) -> str:
    """Run one check in a container of this image, and return which Python it has.

    Raises:
        SandboxError: no session could be had, or the check did not pass.
    """
    sandbox = DockerSandbox(Daemon(daemon.where), image=image)
    try:
        session = await sandbox.open(None, RunView(), run_id="try-out")
        result = await session.check(
            "import sys; assert sys.version_info >= (3, 9); print('Python', sys.version.split()[0])"
        )
        if result.ending is not Ending.PASSED:
            raise SandboxError(f"a check in {image} ended {result.ending}: {result.message}")
        return result.output.strip() + ", locked, works"
    finally:
        await sandbox.close()
