"""The filter of system calls (seccomp) that every check inherits from its server."""

from __future__ import annotations

import ctypes
import os
import struct

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 38, 22

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
    # Contexts of asynchronous I/O count against a limit of the whole machine (aio-max-nr). libc does without them.
    "io_setup": (206, 0), "io_destroy": (207, 1), "io_submit": (209, 2), "io_cancel": (210, 3),
    "io_getevents": (208, 4), "io_pgetevents": (333, 292),
    # A watch on the system's folders tells what the host and other checks do with the same files.
    "inotify_init": (253, 26), "inotify_init1": (294, 26),
}  # fmt: skip
# System calls that reach other processes of the same user, the server among them: allowed only where every argument
# named here (its position, its value) says that the caller means itself.
_ON_ITSELF = {
    "prlimit64": ((302, 261), {0: 0}), "sched_setaffinity": ((203, 122), {0: 0}),
    "sched_setscheduler": ((144, 119), {0: 0}), "sched_setparam": ((142, 118), {0: 0}),
    "sched_setattr": ((314, 274), {0: 0}), "setpriority": ((141, 140), {0: 0, 1: 0}),
    "ioprio_set": ((251, 30), {0: 1, 1: 0}),
}  # fmt: skip
_SOCKET, _CLONE, _CLONE3, _FCNTL = (41, 198), (56, 220), (435, 435), (72, 25)
_FAMILIES = (1, 2, 10)  # unix, inet, inet6
_NETLINK, _ROUTE = 16, 0  # glibc lists interfaces through it; its other protocols tell of the kernel's events
_F_NOTIFY = 1026  # a watch on a folder, as inotify
_NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW* flag that `clone` knows
_ARCHES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_ALLOW, _EPERM, _ENOSYS, _EAFNOSUPPORT, _EPROTONOSUPPORT = 0x7FFF0000, 0x00050001, 0x00050026, 0x00050061, 0x0005005D
_LOAD, _JUMP, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
_WORLD_MAKING = ("mount", "umount2", "unshare", "setns")
"""With clone's flags, what a keeper and its servers make worlds with."""
WHOLE, SHARED, LAST = "whole", "shared", "last"
"""Parts of the filter: in a world, its makers install `SHARED` once, and each check adds `LAST`, which is everything
else. The kernel applies both; it takes it 0.1 ms to install the whole one, which each check would wait for."""
_FEW = 4
"""Rules that are simply tried one after the other."""
_Code = list[tuple[int, int, int, int]]


def _argument(position: int) -> tuple[int, int, int, int]:
    """Load the lower half of an argument: those that are looked at here are of 32 bits."""
    return (_LOAD, 0, 0, 16 + 8 * position)


def _only_if(arguments: dict[int, int]) -> _Code:
    """Allow a system call where its arguments have these values, and refuse it elsewhere."""
    code: _Code = []
    for index, (position, value) in enumerate(arguments.items()):
        code += [_argument(position), (_EQUAL, 0, 2 * (len(arguments) - index) - 1, value)]
    return [*code, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _EPERM)]


def _sockets() -> _Code:
    """Allow only those sockets that ordinary programs need."""
    code: _Code = [_argument(0)]
    for index, family in enumerate(_FAMILIES):
        code += [(_EQUAL, len(_FAMILIES) - index + 3, 0, family)]
    code += [(_EQUAL, 0, 4, _NETLINK), _argument(2), (_EQUAL, 1, 0, _ROUTE)]
    return [*code, (_RETURN, 0, 0, _EPROTONOSUPPORT), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _EAFNOSUPPORT)]


def _rules(column: int, part: str) -> dict[int, _Code]:
    """Return what a part of the filter does about each system call that is not simply allowed, by its number."""
    refuse: _Code = [(_RETURN, 0, 0, _EPERM)]
    found = {numbers[column]: refuse for numbers in _DENIED.values()}
    found |= {both[column]: _only_if(arguments) for both, arguments in _ON_ITSELF.values()}
    # clone3 hides its flags behind a pointer; libc falls back to clone when it is not there.
    found[_CLONE3[column]] = [(_RETURN, 0, 0, _ENOSYS)]
    found[_CLONE[column]] = [_argument(0), (_ANY_BIT, 0, 1, _NEW_NAMESPACES), *refuse, (_RETURN, 0, 0, _ALLOW)]
    found[_FCNTL[column]] = [_argument(1), (_EQUAL, 0, 1, _F_NOTIFY), *refuse, (_RETURN, 0, 0, _ALLOW)]
    found[_SOCKET[column]] = _sockets()
    makers = {_CLONE[column], *(_DENIED[name][column] for name in _WORLD_MAKING)}
    return {number: rule for number, rule in found.items() if part == WHOLE or (part == LAST) is (number in makers)}


def _search(rules: list[tuple[int, _Code]]) -> _Code:
    """Return the code that finds the rule of a system call, whose number is loaded, by bisection of the sorted `rules`.

    The kernel works through the program once for each number there is when it is installed, which each check waits for.
    """
    if len(rules) <= _FEW:
        code = [line for number, rule in rules for line in [(_EQUAL, 0, len(rule), number), *rule]]
        return [*code, (_RETURN, 0, 0, _ALLOW)]
    middle = len(rules) // 2
    below, above = _search(rules[:middle]), _search(rules[middle:])
    return [(_AT_LEAST, 0, 1, rules[middle][0]), (_JUMP, 0, 0, len(below)), *below, *above]


def filter_program(machine: str, part: str = WHOLE) -> bytes | None:
    """Return the seccomp filter, or a part of it, as classic BPF (`struct sock_filter[]`).

    Returns none for a machine whose system call numbers are not known here.
    """
    if machine not in _ARCHES:
        return None
    column, arch = _ARCHES[machine]
    code: _Code = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, arch), (_RETURN, 0, 0, _EPERM), (_LOAD, 0, 0, 0)]
    if machine == "x86_64":
        code += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _EPERM)]  # the x32 numbers
    code += _search(sorted(_rules(column, part).items()))
    return b"".join(struct.pack("HBBI", *line) for line in code)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


class Filter:
    """A part of the filter for this machine. Making it takes longer than installing it, and is done once."""

    def __init__(self, part: str = WHOLE) -> None:
        program = filter_program(os.uname().machine, part)
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        self._buffer = ctypes.create_string_buffer(program, len(program)) if program is not None else None
        length = len(program) // 8 if program is not None else 0
        self._program = _Program(length, ctypes.cast(self._buffer, ctypes.c_void_p) if self._buffer else None)
        self._reference = ctypes.byref(self._program)

    def install(self) -> bool:
        """Install it for this process and its future children. Returns False where that is not possible."""
        if self._buffer is None:
            return False
        self._prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(self._prctl(_PR_SET_SECCOMP, 2, self._reference, 0, 0) == 0)
