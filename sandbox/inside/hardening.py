"""What the kernel can forbid from inside: tracing, system calls, resources. Leaves namespaces to the backend."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
import struct

PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
MIB = 1024 * 1024

libc = ctypes.CDLL(None, use_errno=True)
_syscall, _capset = libc.syscall, libc.capset  # looked up once, and not again by each check


def set_dumpable(on: bool) -> None:
    """A process that is not dumpable cannot be traced, and its `/proc/PID/fd` and `mem` belong to root."""
    libc.prctl(PR_SET_DUMPABLE, 1 if on else 0, 0, 0, 0)


def drop_capabilities() -> None:
    """Root without them is an ordinary user who is called root: it cannot look into processes that have some."""
    version_3 = struct.pack("Ii", 0x20080522, 0)
    _capset(version_3, bytes(24))


def landlock() -> int:
    """What a fence is made of: a descriptor for `fence`, or -1 where the kernel has no Landlock (before 5.19).

    A process inside the fence cannot look into anything outside: no `/proc/PID/environ`, `mem` or `fd` of the server,
    of the harness or of anybody else; and since Linux 6.12 it cannot signal them. Files are no matter of this fence:
    a ruleset must rule something, and a block device is what no check makes.
    """
    create, add = 444, 445  # the same on every machine
    version = _syscall(create, None, 0, 1)
    if version < 2:  # the first version forbids every move of a file between folders
        return -1
    make_block, refer, scope_signal = 1 << 11, 1 << 13, 1 << 1
    rules = struct.pack("QQQ", make_block | refer, 0, scope_signal)
    ruleset = int(_syscall(create, rules, len(rules) if version >= 6 else 8, 0))
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    anywhere = struct.pack("=Qi", refer, root)
    made = ruleset >= 0 and _syscall(add, ruleset, 1, anywhere, 0) == 0
    os.close(root)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return ruleset if made else -1


def fence(ruleset: int) -> None:
    """Enter a Landlock domain of this process's own, with all that will come from it, for good."""
    if ruleset >= 0:
        _syscall(446, ruleset, 0)


def become_subreaper() -> None:
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


# System calls that no check needs. Docker's default profile has most of them; bwrap and process have no profile
# of their own, and Docker before 24 lets AF_VSOCK through, which a network namespace does not hold back.
# Numbers from the kernel's tables: (x86_64, aarch64).
_DENIED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "swapon": (167, 224),
    "swapoff": (168, 225), "reboot": (169, 142), "unshare": (272, 97), "setns": (308, 268), "init_module": (175, 105),
    "delete_module": (176, 106), "finit_module": (313, 273), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "keyctl": (250, 219),
    "add_key": (248, 217), "request_key": (249, 218), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "quotactl": (179, 60),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "syslog": (103, 116), "personality": (135, 92), "vhangup": (153, 58),
    "lookup_dcookie": (212, 18), "mbind": (237, 235), "set_mempolicy": (238, 237), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "fanotify_init": (300, 262), "pidfd_getfd": (438, 438),
    # Memory that belongs to no process and no file system, so that nothing but a control group would see it grow.
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "semget": (64, 190),
    "msgget": (68, 186),
}  # fmt: skip
_SOCKET, _CLONE, _CLONE3 = (41, 198), (56, 220), (435, 435)
_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink (glibc lists interfaces through it)
_NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW* flag that `clone` knows
_ARCHES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_ALLOW, _EPERM, _ENOSYS, _EAFNOSUPPORT = 0x7FFF0000, 0x00050001, 0x00050026, 0x00050061
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06


def filter_program(machine: str) -> bytes | None:
    """The seccomp filter as classic BPF (`struct sock_filter[]`), or none where the system call numbers are unknown."""
    if machine not in _ARCHES:
        return None
    column, arch = _ARCHES[machine]
    code = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, arch), (_RETURN, 0, 0, _EPERM), (_LOAD, 0, 0, 0)]
    if machine == "x86_64":
        code += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _EPERM)]  # the x32 numbers
    for numbers in _DENIED.values():
        code += [(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, _EPERM)]
    # clone3 hides its flags behind a pointer; libc falls back to clone when it is not there.
    code += [(_EQUAL, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, _ENOSYS)]
    code += [(_EQUAL, 0, 4, _CLONE[column]), (_LOAD, 0, 0, 16), (_ANY_BIT, 0, 1, _NEW_NAMESPACES)]
    code += [(_RETURN, 0, 0, _EPERM), (_RETURN, 0, 0, _ALLOW)]
    code += [(_EQUAL, 0, 3 + len(_FAMILIES), _SOCKET[column]), (_LOAD, 0, 0, 16)]
    for place, family in enumerate(_FAMILIES):
        code += [(_EQUAL, len(_FAMILIES) - place, 0, family)]
    code += [(_RETURN, 0, 0, _EAFNOSUPPORT), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *line) for line in code)


def forbid_system_calls() -> bool:
    """Install the filter for this process and all that come from it. False where it cannot be had."""
    program = filter_program(platform.machine())
    if program is None:
        return False

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    buffer = ctypes.create_string_buffer(program, len(program))
    prog = Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return bool(libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(prog), 0, 0) == 0)


def own_memory() -> tuple[int, int, int]:
    """This process's size, data and private resident bytes: what every fork starts from, and is not the check's."""
    with open("/proc/self/statm") as file:
        size, resident, shared, _text, _lib, data, _dirty = (int(word) for word in file.read().split())
    page = resource.getpagesize()
    return size * page, data * page, (resident - shared) * page


def limit_resources(limits: dict[str, float], base: tuple[int, int, int], count_processes: bool) -> None:
    """Set the rlimits of a check's process, for good: soft and hard alike."""
    memory = int(limits["memory_mb"] * MIB)
    cpu = max(1, int(-(-limits["cpu_seconds"] // 1)))
    wanted = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_DATA, base[1] + memory, base[1] + memory),
        # Address space is reserved far beyond what is used (thread arenas, mapped libraries); the room above
        # `memory` is theirs, and what is really resident is watched by the server.
        (resource.RLIMIT_AS, base[0] + memory + 1024 * MIB, base[0] + memory + 1024 * MIB),
        (resource.RLIMIT_NOFILE, int(limits["open_files"]), int(limits["open_files"])),
        (resource.RLIMIT_FSIZE, int(limits["file_mb"] * MIB), int(limits["file_mb"] * MIB)),
        (resource.RLIMIT_MEMLOCK, 65536, 65536),
    ]
    if hasattr(resource, "RLIMIT_MSGQUEUE"):
        wanted.append((resource.RLIMIT_MSGQUEUE, 0, 0))
    if count_processes:
        most = int(limits["processes"]) + 1  # the server itself counts
        wanted.append((resource.RLIMIT_NPROC, most, most))
    for kind, soft, hard in wanted:
        ceiling = resource.getrlimit(kind)[1]
        if ceiling == resource.RLIM_INFINITY:
            ceiling = hard
        resource.setrlimit(kind, (min(soft, ceiling), min(hard, ceiling)))


def first_to_die() -> None:
    """Out of memory, the kernel should take the check and not the server."""
    try:
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except OSError:
        return
    with contextlib.suppress(OSError):
        os.write(descriptor, b"1000")
    os.close(descriptor)


def default_signals() -> None:
    """Undo what the server set; Python's own settings (SIGPIPE and SIGXFSZ ignored) are what a check expects."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def remove_sysv() -> None:
    """System V shared memory, semaphores and queues outlive the process that made them."""
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


def drop_environment(home: str, site: str | None) -> None:
    os.environ.clear()
    os.environ.update(
        PATH="/usr/local/bin:/usr/bin:/bin", HOME=home, TMPDIR=home, LANG="C.UTF-8", PYTHONDONTWRITEBYTECODE="1"
    )
    if site:
        os.environ["PYTHONPATH"] = site  # for Python programs that a check starts
