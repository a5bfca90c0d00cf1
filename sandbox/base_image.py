"""Gets or makes the base image: from a registry, or from Debian packages where none answers. For `sandbox build`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox import ownership as owner
from sandbox.daemon import Daemon
from sandbox.docker import DockerSandbox
from sandbox.images import HOME_MADE, IMAGE_VARIABLE, OFFICIAL, Images
from sandbox.interface import Ending, RunView, SandboxError, SandboxUnavailable

PACKAGES = ("python3", "python3-pip", "ca-certificates")
SUITE_VARIABLE, MIRROR_VARIABLE = "VIVA_DEBIAN_SUITE", "VIVA_DEBIAN_MIRROR"
# Nothing that a check or an installation reads.
NEEDLESS = (
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

    `from_packages` makes one from Debian packages without asking a registry. `say` is told each step.

    Raises:
        SandboxUnavailable: no registry answers, and this machine cannot make one.
        SandboxError: the image is there, but no sandbox works with it.
    """
    images = Images(daemon, image)
    name = images.wanted or OFFICIAL
    if from_packages:
        name = await _make(daemon, image or HOME_MADE, say)
    elif found := await images.find():
        name = found[0]
        say(f"The image {name} is there already.")
    else:
        try:
            say(f"Asking the registry for {name}.")
            await images.pull(name)
        except SandboxUnavailable as error:
            say(f"Not from a registry: {error.reason}")
            if images.wanted:
                raise
            name = await _make(daemon, HOME_MADE, say)
    say(f"Trying it: {await try_out(daemon, name)}")
    return name


async def _make(daemon: Daemon, name: str, say: Callable[[str], None]) -> str:
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise SandboxUnavailable(
            "an image of one's own is made from Debian packages, which takes root and debootstrap.",
            "Debian, Ubuntu: `apt-get install debootstrap`, then `viva sandbox build` as root; or name an image "
            f"that you have with {IMAGE_VARIABLE}.",
        )
    say(f"Making {name} from the Debian packages {', '.join(PACKAGES)} (a minute or two).")
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
        labels = " ".join(f'{key}="{value}"' for key, value in owner.image_labels("base").items())
        repository, _, tag = name.rpartition(":")
        with subprocess.Popen(["tar", "-C", str(tree), "--numeric-owner", "-c", "."], stdout=subprocess.PIPE) as tar:
            assert tar.stdout
            api.import_image_from_stream(tar.stdout, repository, tag, changes=['CMD ["python3"]', f"LABEL {labels}"])
        if tar.returncode:
            raise SandboxError("tar could not read what debootstrap made")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def debootstrap_command(tree: Path) -> list[str]:
    """Suite and mirror from the environment, else this machine's own where it is a Debian, else debootstrap's."""
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
    for name in NEEDLESS:
        shutil.rmtree(tree / name, ignore_errors=True)
        (tree / name).mkdir(parents=True, exist_ok=True)
    for path in tree.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o6000:
            path.chmod(path.stat().st_mode & 0o777)  # nobody in there has to become somebody else


async def try_out(daemon: Daemon, image: str) -> str:
    """Run one check in a locked room of this image; what Python it has.

    Raises:
        SandboxError: no room could be had, or the check did not pass.
    """
    sandbox = DockerSandbox(Daemon(daemon.where), image=image)
    try:
        room = await sandbox.open(None, RunView(), run_id="try-out")
        result = await room.check(
            "import sys; assert sys.version_info >= (3, 9); print('Python', sys.version.split()[0])"
        )
        if result.ending is not Ending.PASSED:
            raise SandboxError(f"a check in {image} ended {result.ending}: {result.message}")
        return result.output.strip() + ", locked, works"
    finally:
        await sandbox.close()
