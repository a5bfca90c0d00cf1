"""Makes worlds: namespaces with file systems of their own, one for each run, and inside it one for each check."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without the enumerations of `signal`, which are slow
import _socket
import ctypes
import errno
import fcntl
import os
import struct
from typing import NamedTuple

_CLONE = {"x86_64": 56, "aarch64": 220}
_USER, _MOUNT, _PID, _IPC, _NETWORK, _UTS, _CGROUP = (
    0x10000000, 0x00020000, 0x20000000, 0x08000000, 0x40000000, 0x04000000, 0x02000000,
)  # fmt: skip
OF_A_RUN = _USER | _MOUNT | _PID | _IPC | _NETWORK | _UTS | _CGROUP
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_PROGRAMS, _BIND, _RECURSIVE, _PRIVATE, _DETACH = (
    1, 2, 4, 8, 4096, 16384, 1 << 18, 2,
)  # fmt: skip
_REMOUNT = 32
_MOUNT_FLAGS = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}
"""What statvfs says of a mount, and what mount(2) takes for it; a mount in a user namespace must keep them."""
_OF_CHECKS = "shm"
"""The only folder below /dev that a check writes to; it has a file system of its own."""
_PROC = _NO_SUID | _NO_DEVICES | _NO_PROGRAMS
# What Docker masks in a container's /proc, as far as an ordinary user could read it.
_MASKED = ("keys", "key-users", "kcore", "kmsg", "timer_list", "timer_stats", "sched_debug", "latency_stats")
_MASKED_FOLDERS = ("acpi", "asound", "scsi")
_EMPTY = "/sys"
"""An empty, read-only folder in every world: no check needs what the kernel shows there."""
_SET_FLAGS, _UP = 0x8914, 0x41
# Smallest, usual and largest bytes of each socket: version 1 of control groups does not count them.
TCP_BUFFERS = {"tcp_rmem": "4096 65536 131072", "tcp_wmem": "4096 16384 131072"}

_libc = ctypes.CDLL(None, use_errno=True)
_syscall, _mount, _umount2 = _libc.syscall, _libc.mount, getattr(_libc, "umount2", None)
_unshare, _setns = getattr(_libc, "unshare", None), getattr(_libc, "setns", None)
_clone, _PAUSE = _libc.clone, ctypes.cast(_libc.pause, ctypes.c_void_p)
_SHARE_MEMORY, _SHARE_FILES = 0x00000100, 0x00000400
_STACK = ctypes.create_string_buffer(16384)
_TOP = ctypes.c_void_p((ctypes.addressof(_STACK) + len(_STACK)) & ~15)


class FileSystem(NamedTuple):
    """A file system in memory that a check can write to."""

    place: str
    size: int
    """MiB."""
    holds_workspace: bool
    """Whether the copies of the workspace lie on it."""


def clone(flags: int) -> int:
    """Fork into new namespaces, as PID 1 of them where these are PID namespaces. Returns 0 in the child.

    Raises:
        OSError: the kernel, or a filter of system calls, forbids it.
    """
    machine = os.uname().machine
    number = _CLONE.get(machine)
    if number is None:
        raise OSError(38, f"the number of clone on {machine} is not known")
    words = [ctypes.c_long(word) for word in (number, flags | _signal.SIGCHLD, 0, 0, 0, 0)]
    pid = int(_syscall(*words))  # libc's own view of this process is not renewed: the child forks, and does no more
    if pid < 0:
        raise _failed("clone into namespaces")
    return pid


def own_pids() -> int:
    """Return a descriptor of this process's PID namespace, which `fork_apart` returns to. Raises OSError."""
    return os.open("/proc/self/ns/pid", os.O_RDONLY)


def fork_apart(own_pids: int) -> tuple[int, int]:
    """Fork into a new PID namespace. Returns zeros in the child, else the ids of the child and of the first process.

    The child is the second: signals do to it what they do to any process, unlike to a first one. The first shares this
    process's memory, so that it costs nothing to make or to end, and waits in libc's `pause` until it is killed: with
    it, everything in the namespace is. Orphaned processes there become its children, and are reaped.

    The caller must have no other children, and wait for the child before it waits for the first process.

    Raises:
        OSError: the kernel, or a filter of system calls, forbids it.
    """
    if _unshare is None or _setns is None or _unshare(_PID) != 0:
        raise _failed("unshare")
    first = _waiting_process()
    pid = os.fork()
    if pid == 0:
        return 0, 0
    # The next child needs another one, which the kernel makes only for a process whose children stay in its own.
    if _setns(own_pids, _PID) != 0:
        raise _failed("setns")
    return pid, first


def _waiting_process() -> int:
    # The only handler of ours must not run in it: this process's memory would change below it.
    before = _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
    pid = int(_clone(_PAUSE, _TOP, _SHARE_MEMORY | _SHARE_FILES | _signal.SIGCHLD, None))
    _signal.signal(_signal.SIGCHLD, before)
    if pid < 0:
        raise _failed("clone")
    return pid


def settle(user: int, group: int, devices: dict[str, int]) -> None:
    """Set up a run's new namespaces, as their first process: everything but the file systems of its checks.

    What the container has elsewhere stays as it is, read-only; what it shares between runs is covered, and what covers
    it cannot be taken away, since no check may unmount.

    `user` and `group` are those that this process had before, and keeps: the only ones that exist in here. `devices`
    are those of the container, from `device_mounts`.

    Raises:
        OSError: the kernel forbids something.
    """
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    mount("none", "/", None, _RECURSIVE | _PRIVATE)  # nothing goes out, and nothing comes in
    mount("proc", "/proc", "proc", _PROC)
    if os.path.isdir(_EMPTY):
        mount("tmpfs", _EMPTY, "tmpfs", _PROC | _READ_ONLY, "size=4k,nr_inodes=2,mode=0555")
    own = []
    if os.path.isdir("/dev/pts"):
        mount("devpts", "/dev/pts", "devpts", _NO_SUID | _NO_PROGRAMS, "newinstance,ptmxmode=0666,mode=0620")
        own.append("/dev/pts")
    if os.path.isdir("/dev/mqueue"):
        mount("mqueue", "/dev/mqueue", "mqueue", _PROC | _READ_ONLY)
        own.append("/dev/mqueue")
    # Nobody may change the modes and times of /dev and the devices in it: a bwrap has the host's own devices, and a
    # container's are those of the run after this one. They work as before.
    for place, flags in {**devices, **{place: _flags_of(place) for place in own}}.items():
        mount("none", place, None, _REMOUNT | _BIND | _READ_ONLY | flags)
    _raise_loopback()
    for name, words in TCP_BUFFERS.items():
        _write("/proc/sys/net/ipv4/" + name, words)


def refresh(file_systems: list[FileSystem], *, first: bool) -> None:
    """Replace each of the file systems by an empty one, here and in the namespaces that are made of these later.

    What was there is gone with its last process.
    """
    owner = f"mode=0700,uid={os.getuid()},gid={os.getgid()},nr_inodes=50000"
    for one in file_systems:
        if not first:
            unmount(one.place)
        data = f"size={one.size}m,{owner}"
        if not (one.holds_workspace and _mounted_in_large_pieces(one.place, data)):
            mount("tmpfs", one.place, "tmpfs", _NO_SUID | _NO_DEVICES, data)


def _mounted_in_large_pieces(place: str, data: str) -> bool:
    """Mount a file system whose files take memory in larger pieces than pages, as far as their size goes: copies of
    large files are made and removed in a quarter of the time. Returns False where the kernel has no such thing."""
    try:
        mount("tmpfs", place, "tmpfs", _NO_SUID | _NO_DEVICES, data + ",huge=within_size")
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return False
    return True


def overlay(place: str, lower: str, upper: str, scratch: str) -> None:
    """Mount a file system that shows the folder `lower`, and writes to the folder `upper`, which are on one file system
    with `scratch`. Extended attributes of users tell what was removed: others need rights in the first namespace.

    Raises:
        OSError: the kernel forbids it, or has no such thing.
    """
    data = f"lowerdir={lower},upperdir={upper},workdir={scratch},userxattr"
    mount("overlay", place, "overlay", _NO_SUID | _NO_DEVICES, data)


def unmount(place: str) -> None:
    """Unmount what was mounted last at a place. Raises OSError."""
    if _umount2 is None or _umount2(place.encode(), _DETACH) != 0:
        raise _failed("umount2 " + place)


def masks() -> list[tuple[str, str]]:
    """Return what has to be masked in a /proc of this machine, each with what covers it."""
    found = [("/dev/null", "/proc/" + name) for name in _MASKED if os.path.exists("/proc/" + name)]
    folders = [name for name in _MASKED_FOLDERS if os.path.isdir("/proc/" + name) and os.path.isdir(_EMPTY)]
    return found + [(_EMPTY, "/proc/" + name) for name in folders]


def close_off(masked: list[tuple[str, str]]) -> None:
    """Set up mounts for the first process of a PID namespace, and a /proc that shows no other processes.

    It is read-only: so are the kernel's settings, and the switches of processes.

    Raises:
        OSError: the kernel forbids something.
    """
    if _unshare is None or _unshare(_MOUNT) != 0:
        raise _failed("unshare")
    mount("proc", "/proc", "proc", _PROC | _READ_ONLY)
    for cover, place in masked:
        mount(cover, place, None, _BIND)


def mount(source: str, place: str, kind: str | None, flags: int, data: str = "") -> None:
    """Call mount(2). Raises OSError."""
    if (
        _mount(
            source.encode(),
            place.encode(),
            kind.encode() if kind else None,
            ctypes.c_ulong(flags),
            data.encode() or None,
        )
        != 0
    ):
        raise _failed("mount " + place)


def device_mounts() -> dict[str, int]:
    """Return where something is mounted at /dev or below it, but for what checks write to, and the flags of mount(2)
    that it has. In each world it is the same at first."""
    return {place: _flags_of(place) for place in _mounts_at("/dev") if place != "/dev/" + _OF_CHECKS}


def _flags_of(place: str) -> int:
    kept = os.statvfs(place).f_flag
    return sum(flag for shown, flag in _MOUNT_FLAGS.items() if kept & shown)


def _mounts_at(folder: str) -> list[str]:
    """Return where something is mounted at a folder or below it, unless its name has blanks, which no device has."""
    with open("/proc/self/mountinfo") as file:
        places = [line.split()[4] for line in file]
    return [place for place in places if place == folder or place.startswith(folder + "/")]


def _raise_loopback() -> None:
    """Switch on the only interface of a new network namespace."""
    any_socket = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    try:
        fcntl.ioctl(any_socket.fileno(), _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP))
    finally:
        any_socket.close()


def _write(path: str, words: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, words.encode())
    except OSError as error:
        raise OSError(error.errno, f"{path}: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _failed(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
