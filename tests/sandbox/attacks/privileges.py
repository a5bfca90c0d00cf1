"""Becoming more than one is: users, capabilities, tracing, mounts, namespaces, system calls past the filter."""

from __future__ import annotations

from .attack import LIMIT, PASSED, X86, Attack

PRIVILEGES = [
    Attack(
        "privileges",
        "any capability or a way to one",
        """
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
for name in ('CapEff', 'CapPrm', 'CapInh', 'CapAmb'): assert int(status[name], 16) == 0, 'SUCCEEDED: ' + name
assert status['NoNewPrivs'].strip() == '1' and status['Seccomp'].strip() == '2', 'SUCCEEDED'
print('none')
""",
    ),
    Attack(
        "privileges",
        "becoming root",
        """
assert os.getuid() != 0
refused('setuid', os.setuid, 0); refused('setgid', os.setgid, 0)
refused('setresuid', os.setresuid, 0, 0, 0); refused('setgroups', os.setgroups, [0])
""",
    ),
    Attack(
        "privileges",
        "programs that change their user",
        """
import glob, stat, subprocess
for path in glob.glob('/usr/bin/*') + glob.glob('/bin/*'):
    if os.path.isfile(path) and os.stat(path).st_mode & stat.S_ISUID and path.endswith(('/su', '/mount', '/newgrp')):
        try: got = subprocess.run([path, '-c', 'id -u'], capture_output=True, text=True, timeout=0.3, stdin=-3).stdout
        except (OSError, subprocess.TimeoutExpired): got = ''
        assert got.strip() != '0', 'SUCCEEDED: ' + path
""",
    ),
    Attack(
        "privileges",
        "tracing the server",
        """
libc.ptrace.argtypes = (ctypes.c_long,) * 4
assert libc.ptrace(16, 1, 0, 0) == -1, 'SUCCEEDED'
print('attach:', os.strerror(ctypes.get_errno()))
assert libc.ptrace(0x4206, 1, 0, 0) == -1, 'SUCCEEDED'
assert libc.ptrace(0, 0, 0, 0) == -1, 'SUCCEEDED'
""",
    ),
    Attack(
        "privileges",
        "writing into the server's memory",
        """
refused('process_vm_writev', call, 311, 1, 0, 0, 0, 0, 0)
refused('mem', open, '/proc/1/mem', 'r+b')
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "mounting",
        """
for kind in (b'tmpfs', b'proc', b'sysfs', b'overlay'):
    assert libc.mount(b'none', b'/tmp', kind, 0, None) == -1, 'SUCCEEDED'
print(os.strerror(ctypes.get_errno()))
assert libc.umount2(b'/proc', 2) == -1, 'SUCCEEDED'
assert libc.mount(None, b'/', None, 32 | 4096, None) == -1, 'SUCCEEDED'
""",
    ),
    Attack(
        "privileges",
        "mounting by the newer calls",
        """
refused('open_tree', call, 428, 0, 0, 0, 0, 0)
refused('move_mount', call, 429, 0, 0, 0, 0, 0)
refused('fsopen', call, 430, 0, 0, 0, 0, 0)
refused('mount_setattr', call, 442, 0, 0, 0, 0, 0)
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "namespaces by unshare",
        """
for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x08000000, 0x02000000):
    assert libc.unshare(flag) == -1, 'SUCCEEDED: %x' % flag
print(os.strerror(ctypes.get_errno()))
""",
    ),
    Attack(
        "privileges",
        "namespaces by clone and clone3",
        """
refused('clone', call, 56, 0x10000000 | 17, 0, 0, 0, 0)
arguments = ctypes.create_string_buffer(struct.pack('Q', 0x10000000) + bytes(80))
refused('clone3', call, 435, arguments, 88)
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "entering the server's namespaces",
        """
refused('open', os.open, '/proc/1/ns/user', os.O_RDONLY)
refused('setns', call, 308, 0, 0)
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "changing the root",
        """
refused('chroot', os.chroot, '.')
refused('pivot_root', call, 155, b'.', b'.')
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "kernel keyrings",
        """
refused('keyctl', call, 250, 0, -3, 1)
refused('add_key', call, 248, b'user', b'k', b'v', 1, -3)
refused('request_key', call, 249, b'user', b'k', None, -3)
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "loading a kernel module",
        """
refused('init_module', call, 175, b'x', 1, b'')
refused('finit_module', call, 313, 0, b'', 0)
refused('delete_module', call, 176, b'x', 0)
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "loading another kernel, rebooting",
        """
refused('kexec_load', call, 246, 0, 0, 0, 0, 0)
refused('kexec_file_load', call, 320, 0, 0, 0, 0, 0)
refused('reboot', call, 169, 0xfee1dead, 672274793, 0x89abcdef, None)
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "programs in the kernel (bpf)",
        """
refused('bpf', call, 321, 0, ctypes.create_string_buffer(128), 128)
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "measuring the kernel",
        """
refused('perf_event_open', call, 298, ctypes.create_string_buffer(128), 0, -1, -1, 0)
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "page faults handled by the check",
        """
refused('userfaultfd', call, 323, 0)
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "system calls past the filter: io_uring",
        """
refused('io_uring_setup', call, 425, 8, ctypes.create_string_buffer(128))
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "system calls past the filter: 32-bit entry",
        r"""
import mmap
m = mmap.mmap(-1, 4096, prot=7)
m.write(b'\x53\xb8\x1a\x00\x00\x00\x31\xdb\xcd\x80\x5b\xc3')  # push rbx; eax=26 (ptrace), ebx=0; int 0x80; pop; ret
at = ctypes.addressof(ctypes.c_char.from_buffer(m))
got = ctypes.CFUNCTYPE(ctypes.c_int)(at)()
print('ptrace gave', got)
assert got < 0, 'SUCCEEDED'
""",
        (
            PASSED,
            LIMIT,
        ),
        machine=X86,
    ),
    Attack(
        "privileges",
        "system calls past the filter: x32 numbers",
        """
refused('ptrace', call, 1073742345, 0, 0, 0, 0, 0)
""",
        machine=X86,
    ),
    Attack(
        "privileges",
        "setting the clock",
        """
refused('clock', time.clock_settime, time.CLOCK_REALTIME, 0)
""",
    ),
    Attack(
        "privileges",
        "taking precedence over the host",
        """
refused('nice', os.nice, -5)
refused('realtime', os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(50))
""",
    ),
]
