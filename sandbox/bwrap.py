"""The backend for machines without a Docker daemon: bubblewrap runs the same server in its own namespaces."""

from __future__ import annotations

import os
import platform
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from viva.full_disk import error_words
from viva.sandbox.backend import ServerSandbox
from viva.sandbox.bundle import boot_script
from viva.sandbox.connection import ServerConnection
from viva.sandbox.interface import Fresh, Isolation, SandboxError, SandboxUnavailable
from viva.sandbox.limits import SandboxLimits
from viva.sandbox.places import PLACES, sizes
from viva.sandbox.process import CLEAN_ENVIRONMENT, ChildPipe
from viva.sandbox.site_folder import site_folder

MIB = 1024 * 1024
# The only parts of the host's system in a sandbox are what a Python program needs: libraries, programs, time zones.
SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/bin", "/usr/share/zoneinfo")
LINKED_FOLDERS = ("/lib", "/lib32", "/lib64", "/bin")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
ALONE = "namespaces made by bubblewrap"
"""What stands between a check and the host: see `arguments`."""
INSTALL_REMEDY = "Install bubblewrap (Debian, Ubuntu: `apt-get install bubblewrap`; Fedora: `dnf install bubblewrap`)."
NAMESPACE_REMEDY = (
    "User namespaces must be allowed: `sysctl -w user.max_user_namespaces=15000`, and where these exist "
    "`kernel.unprivileged_userns_clone=1` and `kernel.apparmor_restrict_unprivileged_userns=0`."
)


@dataclass(frozen=True)
class Launch:
    """How to call bubblewrap on this machine. This is found out once, by trying."""

    program: str
    python: str
    user: int | None
    """The user to become first when we are root; none to keep the present user."""

    @property
    def installation(self) -> list[str]:
        """The folders of a Python that is not the system's own: only those it needs, as its prefix may be a home."""
        prefix = Path(self.python).parent.parent
        if prefix == Path("/usr"):
            return []
        return [str(prefix / name) for name in ("bin", "lib", "lib64") if (prefix / name).is_dir()]


@dataclass(frozen=True)
class Room:
    """What differs between sandboxes on one machine."""

    limits: SandboxLimits
    """The largest limits of any check in it."""
    workspace_mb: int
    site: Path | None
    """The folder with the case's dependencies."""
    worlds: bool = False
    """Whether a keeper makes worlds in it, of which each has file systems of its own."""


def arguments(launch: Launch, room: Room) -> list[str]:
    """Return the command line of bubblewrap, up to the program to run. Only looks which system folders exist."""
    words = [launch.program, "--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1"]
    words += [] if room.worlds else ["--disable-userns"]
    words += ["--new-session", "--clearenv", "--hostname", "viva", "--cap-drop", "ALL"]
    for name, value in CLEAN_ENVIRONMENT.items():
        words += ["--setenv", name, value]
    user = str(launch.user if launch.user is not None else 20_000)
    words += ["--uid", user, "--gid", user]
    for folder in SYSTEM_FOLDERS:
        words += ["--ro-bind-try", folder, folder]
    for folder in LINKED_FOLDERS:
        if os.path.islink(folder):
            words += ["--symlink", os.readlink(folder), folder]
        else:
            words += ["--ro-bind-try", folder, folder]
    for file in SYSTEM_FILES:
        words += ["--ro-bind-try", file, file]
    for folder in launch.installation:
        words += ["--ro-bind", folder, folder]
    if room.site is not None:
        words += ["--ro-bind", str(room.site), "/opt/viva/site"]
    words += ["--proc", "/proc"]
    words += ["--dir", "/sys"] if room.worlds else []  # empty, to cover what is masked in /proc
    if not room.worlds:  # each check has a read-only /proc of its own, which the kernel allows where this one is whole
        # Some settings below /proc/sys belong to the namespaces (pid_max), and so to their owner.
        words += ["--ro-bind-try", "/proc/sys", "/proc/sys"]
    words += ["--dev", "/dev"]
    for place, size in zip(PLACES, sizes(room.limits, room.workspace_mb), strict=True):
        words += ["--perms", "0700", "--size", str(4096 if room.worlds else size * MIB), "--tmpfs", place]
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--"]


async def start(launch: Launch, room: Room, isolation: Isolation) -> ServerConnection:
    """Start a keeper, or a server for one run, in new namespaces.

    Raises:
        SandboxError: bubblewrap or the server did not come up.
    """
    if launch.user is not None:
        launch = replace(
            launch, user=_unused_user_id()
        )  # one for each session, so that its processes are counted separately
    command = [*arguments(launch, room), launch.python, "-I", "-c", boot_script()]
    connection = ServerConnection(await ChildPipe.start(command, CLEAN_ENVIRONMENT, user=launch.user), isolation)
    await connection.start(
        {
            "way": "world" if room.worlds else "once",
            "alone": True,
            "root": PLACES[0],
            "mounts": PLACES,
            "sizes": sizes(room.limits, room.workspace_mb),
            "count_processes": counts_processes(launch),
            "site": "/opt/viva/site" if room.site else None,
        }
    )
    return connection


def counts_processes(launch: Launch) -> bool:
    """Return whether the kernel's limit on processes (RLIMIT_NPROC) counts only those of one session.

    It counts by user, and since Linux 5.14 by user and user namespace. Before that an ordinary user's other programs
    would count as well, and leave none to a check. Root's own processes are not limited at all.
    """
    if launch.user is not None:
        return True
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    return os.geteuid() != 0 and release is not None and (int(release[1]), int(release[2])) >= (5, 14)


def _unused_user_id() -> int:
    """Return a user id that has no account."""
    return random.randint(20_000, 59_999)  # noqa: S311 - no secret


def find_launch() -> Launch:
    """Try the ways to start bubblewrap here, the strongest first.

    Raises:
        SandboxUnavailable: it is not installed, or this machine's settings forbid what it needs.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxUnavailable("bubblewrap is not installed.", INSTALL_REMEDY)
    reason = ""
    for launch in _candidates(program):
        words = arguments(launch, Room(SandboxLimits(), 1, None))
        try:
            command = [*words, launch.python, "-I", "-c", "import sys; assert sys.version_info >= (3, 9)"]
            tried = subprocess.run(
                command,
                env=CLEAN_ENVIRONMENT,
                capture_output=True,
                timeout=20,
                check=False,
                user=launch.user,
                group=launch.user,
                extra_groups=None if launch.user is None else [],
            )
        except (OSError, subprocess.SubprocessError) as error:
            reason = reason or str(error)
            continue
        if tried.returncode == 0:
            return launch
        reason = reason or tried.stderr.decode("utf-8", "replace").strip()[-300:]
    raise SandboxUnavailable(f"bubblewrap cannot make a sandbox here ({reason}).", NAMESPACE_REMEDY)


def _candidates(program: str) -> list[Launch]:
    ours = os.path.realpath(sys.executable)
    system = os.path.realpath("/usr/bin/python3")
    pythons = [ours] + ([system] if system != ours and os.path.exists(system) else [])
    if os.geteuid() != 0:
        return [Launch(program, python, None) for python in pythons]
    # As root, become another user first: root's processes are not counted, and root needs no permission.
    return [Launch(program, python, who) for who in (_unused_user_id(), None) for python in pythons]


class BwrapSandbox(ServerSandbox):
    """See `Sandbox`.

    Raises:
        SandboxUnavailable: by the constructor, which tries what works on this machine (some 20 ms).
    """

    name = "bwrap"
    isolates = True

    def __init__(
        self,
        *,
        concurrency: int = 1,
        limits: SandboxLimits | None = None,
        workspace_mb: int = 128,
        allow_source: bool = False,
        fresh: Fresh = "world",
    ) -> None:
        super().__init__(
            concurrency=concurrency, limits=limits, workspace_mb=workspace_mb, allow_source=allow_source, fresh=fresh
        )
        self.launch = find_launch()
        weaknesses = [
            "A check shares the host's kernel: a flaw in the kernel is a flaw in the sandbox.",
            "A check can read the programs and libraries of the host's /usr.",
            "Memory is limited per process, and only watched as a whole: a fast bomb can exceed it for a moment.",
        ]
        if not counts_processes(self.launch):
            weaknesses.append(
                "The number of processes is only watched: this machine's settings or kernel do not allow more."
            )
        self.weaknesses = tuple(weaknesses)

    async def environment(self, dependencies: Sequence[str]) -> str:
        return await site_folder(dependencies, self.launch.python, allow_source=self.allow_source)

    async def start_keeper(self, environment: str, run_id: str) -> ServerConnection:
        isolation = Isolation(
            f"{ALONE}, and namespaces in them", "a world of its own, in a bwrap that runs use one after the other"
        )
        return await self._start(environment, isolation, worlds=True)

    async def start_once(self, environment: str, run_id: str, note: str) -> ServerConnection:
        return await self._start(environment, Isolation(ALONE, "a bwrap of its own", note), worlds=False)

    async def _start(self, environment: str, isolation: Isolation, *, worlds: bool) -> ServerConnection:
        site = Path(environment) if environment else None
        try:
            return await start(self.launch, Room(self.limits, self.workspace_mb, site, worlds), isolation)
        except OSError as error:
            raise SandboxError(f"bubblewrap did not start: {error_words(error)}") from error
