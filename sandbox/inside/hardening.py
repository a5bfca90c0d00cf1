"""Asks the kernel to forbid from inside what a check does not need: tracing, capabilities, resources.

Namespaces are the backend's part, the filter of system calls is in `system_calls`, Landlock in `landlock`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without the enumerations of `signal`, which are slow
import ctypes
import os
import resource
import struct

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
MIB = 1024 * 1024
PAGE = resource.getpagesize()
_DONT_FORK = 10
_kept: list[memoryview] = []
"""What `keep_from_forks` has kept from them."""

libc = ctypes.CDLL(None, use_errno=True)
_capset = libc.capset  # looked up once, and not again by each check


def set_dumpable(on: bool) -> None:
    """Make this process dumpable or not: if not, it cannot be traced, and its `/proc/PID/fd` and `mem` are root's."""
    libc.prctl(PR_SET_DUMPABLE, 1 if on else 0, 0, 0, 0)


def drop_capabilities() -> None:
    """Drop all capabilities. Root without them is an ordinary user: it cannot look into processes that have some."""
    version_3 = struct.pack("Ii", 0x20080522, 0)
    _capset(version_3, bytes(24))


def become_subreaper() -> None:
    """Become the parent of every orphan below this process."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent(number: int) -> None:
    """Make the kernel send this process a signal when its parent ends."""
    libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def forks_memory(kept_from_them: int) -> tuple[int, int, int]:
    """Return the size, data and private resident bytes that every fork of this process begins with."""
    descriptor = os.open("/proc/self/statm", os.O_RDONLY)
    try:
        size, resident, shared, _text, _lib, data, _dirty = map(int, os.read(descriptor, 200).split())
    finally:
        os.close(descriptor)
    begin, begin_data, begin_private = (pages * PAGE - kept_from_them for pages in (size, data, resident - shared))
    return begin, begin_data, begin_private


def resource_ceilings() -> dict[int, int]:
    """Return the hard rlimits of this process, and of all that it forks, where it has one; by kind."""
    kinds = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
    hard = {kind: resource.getrlimit(kind)[1] for kind in kinds}
    return {kind: ceiling for kind, ceiling in hard.items() if ceiling != resource.RLIM_INFINITY}


def keep_from_forks(data: memoryview) -> int:
    """Leave this memory out of every later fork of this process: no check needs it, and copying its page tables takes
    a check's time. A fork that reads it dies, so it is never given back: what came there next would not be in forks
    either. Returns the number of bytes that forks do not have."""
    if data.nbytes < 64 * PAGE or data.readonly:
        return 0
    begin = ctypes.addressof(ctypes.c_char.from_buffer(data))
    first, last = -(-begin // PAGE) * PAGE, (begin + data.nbytes) // PAGE * PAGE
    if libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), _DONT_FORK) != 0:
        return 0
    _kept.append(data)
    return last - first


def limit_resources(
    limits: dict[str, float], base: tuple[int, int, int], helpers: int, ceilings: dict[int, int]
) -> None:
    """Set the soft and the hard rlimits of a check's process, for good.

    `ceilings` are the hard limits that it has, from `resource_ceilings`. `helpers` is how many processes of ours count
    against RLIMIT_NPROC; below zero, it is not set, since it would count those of others too.
    """
    memory = int(limits["memory_mb"] * MIB)
    cpu = max(1, int(-(-limits["cpu_seconds"] // 1)))
    wanted = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_DATA, base[1] + memory, base[1] + memory),
        # Far more address space is reserved than used (thread arenas, mapped libraries): they get the space above
        # `memory`, and the server watches what is really resident.
        (resource.RLIMIT_AS, base[0] + memory + 1024 * MIB, base[0] + memory + 1024 * MIB),
        (resource.RLIMIT_NOFILE, int(limits["open_files"]), int(limits["open_files"])),
        (resource.RLIMIT_FSIZE, int(limits["file_mb"] * MIB), int(limits["file_mb"] * MIB)),
        (resource.RLIMIT_MEMLOCK, 65536, 65536),
    ]
    if hasattr(resource, "RLIMIT_MSGQUEUE"):
        wanted.append((resource.RLIMIT_MSGQUEUE, 0, 0))
    if helpers >= 0:
        maximum = int(limits["processes"]) + helpers
        wanted.append((resource.RLIMIT_NPROC, maximum, maximum))
    for kind, soft, hard in wanted:
        ceiling = ceilings.get(kind, hard)
        resource.setrlimit(kind, (min(soft, ceiling), min(hard, ceiling)))


def first_to_die() -> None:
    """Make the kernel kill this process, and not the server, when memory runs out."""
    try:
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(descriptor, b"1000")
    except OSError:
        pass
    finally:
        os.close(descriptor)


def default_signals() -> None:
    """Undo the server's signal handlers. A check expects Python's own settings (SIGPIPE and SIGXFSZ ignored)."""
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def remove_sysv() -> None:
    """Remove System V shared memory, semaphores and queues: they outlive the process that made them."""
    for name, remove in (("shm", 0), ("sem", 1), ("msg", 2)):
        try:
            with open("/proc/sysvipc/" + name) as file:
                lines = file.read().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            number = int(line.split()[1])
            if remove == 0:
                libc.shmctl(number, 0, None)
            elif remove == 1:
                libc.semctl(number, 0, 0)
            else:
                libc.msgctl(number, 0, None)
