"""The system calls that a container with worlds may make: an allow-list of Viva's own, in Docker's JSON format.

It begins from Docker's default profile (moby, `profiles/seccomp/default.json`), keeps what programs on x86-64 and ARM64
use, and adds what its server makes worlds with: `clone` into namespaces, `mount` and `umount2`, and of `unshare` and
`setns` what concerns PID and mount namespaces. A second filter (`inside/system_calls.py`) takes these away again from
whatever is not the server's.
"""

from __future__ import annotations

import json
from functools import cache

_FILES = """
access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64 fallocate
fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat
fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr ioctl lchown lgetxattr link linkat listxattr
llistxattr lremovexattr lseek lsetxattr lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2 pread64 preadv
preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv removexattr rename renameat renameat2 rmdir
sendfile setxattr splice stat statfs statx symlink symlinkat sync_file_range tee truncate umask unlink unlinkat utime
utimensat utimes vmsplice write writev
"""
_PROCESSES = """
arch_prctl brk capget capset execve execveat exit exit_group fork futex futex_waitv get_robust_list get_thread_area
getcpu getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getpriority getresgid getresuid getrlimit
getrusage getsid gettid getuid ioprio_get ioprio_set kill madvise membarrier mincore mlock mlock2 mlockall mmap mprotect
mremap msync munlock munlockall munmap pidfd_open pidfd_send_signal prctl prlimit64 restart_syscall rseq rt_sigaction
rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo
sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp
set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid setpgid setpriority setregid setresgid
setresuid setreuid setrlimit setsid setuid sigaltstack sysinfo tgkill times tkill uname vfork wait4 waitid
"""
_WAITING = """
alarm clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2
epoll_wait eventfd eventfd2 getitimer getrandom gettimeofday nanosleep pause pipe pipe2 poll ppoll pselect6 select
setitimer signalfd signalfd4 time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
timerfd_gettime timerfd_settime
"""
_SOCKETS = """
accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg sendto
setsockopt shutdown socketpair
"""
_LANDLOCK = "landlock_create_ruleset landlock_add_rule landlock_restrict_self"
WORLDS = "clone mount umount2"
"""What the server makes worlds with. Docker's default profile allows `clone` without namespaces, and not the others."""
_APART = (("unshare", 0, 0x20000000), ("unshare", 0, 0x00020000), ("setns", 1, 0x20000000))
"""And each check's namespaces: system call, argument, the only value that is allowed (CLONE_NEWPID, CLONE_NEWNS)."""
_FAMILIES = (1, 2, 10, 16)
"""Unix, internet, internet 6, netlink: not vsock, which leads out of a network namespace."""
_ENOSYS = 38


def allowed() -> tuple[str, ...]:
    """Return the names of the system calls that are allowed without a condition, sorted."""
    every = " ".join((_FILES, _PROCESSES, _WAITING, _SOCKETS, _LANDLOCK, WORLDS))
    return tuple(sorted(every.split()))


@cache
def profile() -> str:
    """Return the profile as Docker's API takes it: JSON."""
    sockets = [
        {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": family, "op": "SCMP_CMP_EQ"}]}
        for family in _FAMILIES
    ]
    apart = [
        {"names": [name], "action": "SCMP_ACT_ALLOW", "args": [{"index": index, "value": value, "op": "SCMP_CMP_EQ"}]}
        for name, index, value in _APART
    ]
    # clone3 hides its flags behind a pointer; libc falls back to clone where it is not there.
    absent = {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS}
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "archMap": [
                # x32 is named so that its numbers are refused, by the second filter, and do not end the process.
                {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X32"]},
                {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
            ],
            "syscalls": [{"names": list(allowed()), "action": "SCMP_ACT_ALLOW"}, *sockets, *apart, absent],
        }
    )
