"""Landlock, where the kernel has it: keeps a check away from all other processes, and from the kernel's settings.
Other files are not affected."""

from __future__ import annotations

import ctypes
import os
import struct

_PR_SET_NO_NEW_PRIVS = 38
# The numbers of these system calls are the same on every machine.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_WRITE, _MAKE_BLOCK_DEVICE, _REFER, _TRUNCATE, _SCOPE_SIGNAL = 1 << 1, 1 << 11, 1 << 13, 1 << 14, 1 << 1
# What the kernel shows as files: its settings, control groups, and the processes.
_KERNEL_FOLDERS = ("proc", "sys")

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall  # looked up once, and not again by each check


def create_ruleset(guards_settings: bool) -> int:
    """Return the descriptor of a ruleset for `enter_domain`, or -1 where the kernel has no Landlock (before 5.19).

    A process in a domain of this ruleset cannot look into any process outside: no `/proc/PID/environ`, `mem` or `fd`
    of the server, of the harness or of anybody else; and since Linux 6.12 it cannot signal them. It does not restrict
    the check's files: a ruleset must restrict something, and no check makes a block device.

    With `guards_settings` it also keeps the check from writing to anything below /proc and /sys, for a server that has
    no mounts of its own: there, root without capabilities can still write to what belongs to root.
    """
    version = _syscall(_CREATE_RULESET, None, 0, 1)
    if version < 2:  # the first version forbids every move of a file between folders
        return -1
    writes = (_WRITE | (_TRUNCATE if version >= 3 else 0)) if guards_settings else 0
    rules = struct.pack("QQQ", _MAKE_BLOCK_DEVICE | _REFER | writes, 0, _SCOPE_SIGNAL)
    ruleset = int(_syscall(_CREATE_RULESET, rules, len(rules) if version >= 6 else 8, 0))
    created = ruleset >= 0 and _allow(ruleset, "/", _REFER)
    if writes:
        for name in os.listdir("/"):
            if name not in _KERNEL_FOLDERS:
                _allow(ruleset, "/" + name, writes)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return ruleset if created else -1


def _allow(ruleset: int, path: str, access: int) -> bool:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return bool(_syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", access, place), 0) == 0)
    finally:
        os.close(place)


def enter_domain(ruleset: int) -> None:
    """Move this process and all its future children into a new domain of the ruleset, permanently."""
    if ruleset >= 0:
        _syscall(_RESTRICT_SELF, ruleset, 0)
