"""The attacks: each a real attempt from inside a check, or from the files that an agent left. Judged in `test_attacks`.

An attack's code calls `refused(what, function, ...)` around the forbidden act: it prints what the kernel said, or
raises when the act succeeded. So an attack that ends `passed` was refused; the others name the ending they must have.
`{...}` are filled in by the test: its own listeners on this machine, a file it planted on the host, a marker.
The system call numbers are those of x86_64; an attack that needs them is for that machine only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PRELUDE = """
import ctypes, os, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def refused(what, act, *arguments):
    try:
        got = act(*arguments)
    except OSError as error:
        print("refused: %s: %s" % (what, error.strerror or error))
    else:
        raise AssertionError("SUCCEEDED: %s gave %r" % (what, got))
def call(number, *arguments):
    got = libc.syscall(number, *arguments)
    if got == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return got
def readable(path):
    with open(path, "rb") as file:
        return file.read(64)
def everything():
    for top, folders, files in os.walk("/"):
        if top == "/":
            folders[:] = [name for name in folders if name not in ("sys", "usr")]
        if top.startswith("/proc") and top.count("/") > 3:
            folders[:] = []
        for name in files:
            yield os.path.join(top, name)
"""

PASSED, FAILED, LIMIT, TIMEOUT, BROKEN = "passed", "failed", "limit", "timeout", "broken"
X86 = "x86_64"


@dataclass(frozen=True)
class Attack:
    """One attempt. `endings` are those it may have; whatever its ending, the room must then serve an honest check."""

    group: str
    name: str
    code: str
    endings: tuple[str, ...] = (PASSED,)
    files: dict[str, str | bytes] = field(default_factory=dict)
    machine: str = ""
    """The only machine it is written for; elsewhere it is skipped."""
    flagged: bool = False
    """Whatever its ending, the result must say that the agent's code ran."""
    bare: bool = False
    """Without the prelude: the check itself is an honest one, the attack lies in the files."""


NETWORK = [
    Attack(
        "network",
        "TCP to a listener on the host's loopback",
        """
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM); s.settimeout(1)
refused('connect', lambda: (s.connect(('127.0.0.1', {tcp})), s.send(b'{marker}')))
""",
    ),
    Attack(
        "network",
        "TCP to a listener on every address of the host",
        """
for address in {addresses}:
    s = socket.socket(); s.settimeout(1)
    refused(address, s.connect, (address, {tcp}))
""",
    ),
    Attack(
        "network",
        "TCP over IPv6",
        """
s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM); s.settimeout(1)
refused('connect', lambda: (s.connect(('::1', {tcp})), s.send(b'{marker}')))
""",
    ),
    Attack(
        "network",
        "UDP to a listener on every address of the host",
        """
for address in {addresses}:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.2)
    refused(address, lambda: (s.connect((address, {udp})), s.send(b'{marker}'), s.recv(1)))
""",
    ),
    Attack(
        "network",
        "DNS question to a name server of the host",
        r"""
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.2)
question = b'\x07\x07\x01\x00\x00\x01' + bytes(6) + b'\x06marker\x04test\x00\x00\x01\x00\x01'
refused('DNS', lambda: (s.connect(('127.0.0.1', {udp})), s.send(question), s.recv(1)))
""",
    ),
    Attack(
        "network",
        "raw ICMP and IP sockets",
        """
refused('icmp', socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
refused('raw', socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
""",
    ),
    Attack(
        "network",
        "packet socket",
        """
refused('packet', socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 3)
""",
    ),
    Attack(
        "network",
        "socket to the hypervisor (vsock)",
        """
refused('vsock', socket.socket, 40, socket.SOCK_STREAM, 0)
""",
    ),
    Attack(
        "network",
        "Bluetooth, kernel crypto and CAN sockets",
        """
for family in (31, 38, 29): refused(str(family), socket.socket, family, socket.SOCK_RAW, 0)
""",
    ),
    Attack(
        "network",
        "Unix socket of the host, by path",
        """
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); s.settimeout(1)
refused('connect', lambda: (s.connect({unix!r}), s.send(b'{marker}')))
""",
    ),
    Attack(
        "network",
        "Unix socket of the host, abstract",
        """
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); s.settimeout(1)
refused('connect', lambda: (s.connect({abstract!r}), s.send(b'{marker}')))
""",
    ),
    Attack(
        "network",
        "listing interfaces finds one that leads somewhere",
        """
names = [name for _, name in socket.if_nameindex()]
print('interfaces:', names)
used = [line.split()[0] for line in open('/proc/net/dev').read().splitlines()[2:] if line.split()[1] != '0']
assert not used, used
assert not open('/proc/net/route').read().splitlines()[1:]
assert not [name for name in names if name.startswith(('eth', 'ens', 'enp', 'docker', 'wl', 'veth'))]
""",
    ),
    Attack(
        "network",
        "bringing an interface up",
        """
import fcntl
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
refused('SIOCSIFFLAGS', fcntl.ioctl, s, 0x8914, struct.pack('16sh14x', b'lo', 1))
""",
    ),
]

BOMBS = [
    Attack(
        "bombs",
        "fork bomb",
        """
while True:
    os.fork()
""",
        (
            LIMIT,
            TIMEOUT,
        ),
    ),
    Attack(
        "bombs",
        "fork bomb that swallows every error",
        """
while True:
    try: os.fork()
    except OSError: pass
""",
        (
            LIMIT,
            TIMEOUT,
        ),
    ),
    Attack(
        "bombs",
        "thread bomb",
        """
import threading
while True: threading.Thread(target=time.sleep, args=(60,)).start()
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "memory bomb",
        """
x = []
while True: x.append(bytearray(1 << 20))
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "memory bomb that swallows MemoryError",
        """
x = []
while True:
    try: x.append(bytearray(1 << 20))
    except MemoryError: pass
""",
        (
            LIMIT,
            TIMEOUT,
        ),
    ),
    Attack(
        "bombs",
        "memory bomb in many processes",
        """
for _ in range(3): os.fork()
x = b'x' * 100_000_000
time.sleep(60)
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "shared memory bomb",
        """
import mmap
x = []
while True:
    m = mmap.mmap(-1, 1 << 24); m.write(b'x' * (1 << 24)); x.append(m)
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "System V shared memory outlives its check",
        """
for key in range(4000, 4200):
    n = libc.shmget(key, 1 << 20, 0o1600)
    if n < 0: break
    libc.shmat.restype = ctypes.c_void_p; libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
    p = libc.shmat(n, None, 0)
    if p not in (None, 2**64 - 1): ctypes.memset(p, 1, 1 << 20)
print('segments:', len(open('/proc/sysvipc/shm').read().splitlines()) - 1)
""",
        (
            PASSED,
            LIMIT,
        ),
    ),
    Attack(
        "bombs",
        "disk bomb",
        """
n = 0
while True:
    open(str(n), 'wb').write(b'x' * (1 << 22)); n += 1
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "disk bomb in /tmp",
        """
n = 0
while True:
    open('/tmp/%d' % n, 'wb').write(b'x' * (1 << 22)); n += 1
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "disk bomb in /dev/shm",
        """
n = 0
while True:
    open('/dev/shm/%d' % n, 'wb').write(b'x' * (1 << 22)); n += 1
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "one endless file",
        """
f = open('f', 'wb')
while True: f.write(b'x' * (1 << 20))
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "inode bomb",
        """
n = 0
while True:
    os.mknod(str(n)); n += 1
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "file descriptor bomb",
        """
x = []
while True: x.append(os.open('/dev/null', os.O_RDONLY))
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "output bomb",
        """
while True: os.write(1, b'x' * 65536)
""",
        (TIMEOUT,),
    ),
    Attack(
        "bombs",
        "a folder tree too deep to name",
        """
for _ in range(20000): os.mkdir('d' * 200); os.chdir('d' * 200)
""",
        (
            PASSED,
            LIMIT,
        ),
    ),
    Attack(
        "bombs",
        "infinite loop that ignores signals",
        """
import signal
for n in range(1, 65):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
""",
        (TIMEOUT,),
    ),
    Attack(
        "bombs",
        "stopping itself",
        """
os.kill(os.getpid(), 19)
""",
        (TIMEOUT,),
    ),
    Attack(
        "bombs",
        "processor time in many processes",
        """
for _ in range(4): os.fork()
while True: pass
""",
        (TIMEOUT,),
    ),
    Attack(
        "bombs",
        "raising its own limits",
        """
import resource
for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
    try: resource.setrlimit(kind, (-1, -1))
    except ValueError as error: print(error)
    else: raise AssertionError('SUCCEEDED: %d' % kind)
""",
    ),
    Attack(
        "bombs",
        "a result too large for its pipe",
        """
raise ValueError('x' * 10**8)
""",
        (
            FAILED,
            LIMIT,
        ),
    ),
]

READING = [
    Attack(
        "reading",
        "a file of the host, by its path",
        """
refused('open', readable, {secret!r})
""",
    ),
    Attack(
        "reading",
        "a file of the host, by looking everywhere",
        """
found = [path for path in everything() if '{marker}' in path]
assert not found, 'SUCCEEDED: %r' % found
""",
    ),
    Attack(
        "reading",
        "the host's accounts, keys and shell histories",
        """
home = os.path.join(os.sep, 'root')
names = ('.ssh', '.bash_history', '.docker/config.json', '.netrc')
for path in ['/etc/shadow'] + [os.path.join(home, name) for name in names]:
    refused(path, readable, path)
""",
    ),
    Attack(
        "reading",
        "the harness's environment",
        """
assert '{marker}' not in repr(dict(os.environ)), 'SUCCEEDED'
assert b'{marker}' not in open('/proc/self/environ', 'rb').read(), 'SUCCEEDED'
refused('/proc/1/environ', readable, '/proc/1/environ')
""",
    ),
    Attack(
        "reading",
        "another run's workspace",
        """
for path in everything():
    try:
        text = open(path, 'rb').read(4096) if os.path.isfile(path) else b''
    except OSError: continue
    assert b'{neighbour}' not in text, 'SUCCEEDED: ' + path
""",
    ),
    Attack(
        "reading",
        "the Docker socket",
        """
for path in ('/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock',
             '/run/dbus/system_bus_socket'):
    refused(path, socket.socket(socket.AF_UNIX).connect, path)
""",
    ),
    Attack(
        "reading",
        "kernel memory and messages",
        """
for path in ('/proc/kcore', '/proc/kmsg', '/dev/mem', '/dev/kmsg', '/dev/port', '/proc/kpageflags'):
    try: data = readable(path)
    except OSError as error: print(path, error.strerror)
    else: assert not data, 'SUCCEEDED: ' + path
""",
    ),
    Attack(
        "reading",
        "the kernel's log",
        """
refused('syslog', call, 103, 3, ctypes.create_string_buffer(999), 999)
""",
        machine=X86,
    ),
    Attack(
        "reading",
        "kernel addresses",
        """
lines = open('/proc/kallsyms').readlines()[:50]
assert all(int(line.split()[0], 16) == 0 for line in lines), 'SUCCEEDED'
""",
    ),
    Attack(
        "reading",
        "processes of the host",
        """
pids = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())
print('processes:', pids)
assert len(pids) <= 3 and pids[0] == 1, 'SUCCEEDED: %r' % pids
""",
    ),
    Attack(
        "reading",
        "disks of the host",
        """
for name in ('vda', 'sda', 'nvme0n1', 'xvda', 'dm-0', 'loop0'): refused(name, readable, '/dev/' + name)
refused('mknod', os.mknod, 'disk', 0o600 | 0o060000, os.makedev(254, 0))
refused('mknod', os.mknod, 'memory', 0o600 | 0o020000, os.makedev(1, 1))
""",
    ),
    Attack(
        "reading",
        "files by handle",
        """
refused('open_by_handle_at', call, 304, -100, ctypes.create_string_buffer(64), 0)
""",
        machine=X86,
    ),
    Attack(
        "reading",
        "firmware and hardware secrets below /sys",
        """
for path in ('/sys/firmware/dmi/tables/DMI', '/sys/firmware/acpi/tables/DSDT', '/sys/class/dmi/id/product_serial',
             '/sys/kernel/debug/x', '/sys/kernel/security/lockdown'):
    refused(path, readable, path)
""",
    ),
]

WRITING = [
    Attack(
        "writing",
        "kernel settings",
        """
for path in ('/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/sys/kernel/hostname',
             '/proc/sys/vm/drop_caches', '/sys/kernel/uevent_helper', '/proc/sys/kernel/modprobe',
             '/proc/irq/default_smp_affinity'):
    refused(path, open, path, 'w')
""",
    ),
    Attack(
        "writing",
        "control groups",
        """
for path in ['/sys/fs/cgroup/memory/release_agent', '/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/pids/pids.max']:
    refused(path, open, path, 'w')
refused('mkdir', os.mkdir, '/sys/fs/cgroup/memory/mine')
""",
    ),
    Attack(
        "writing",
        "the system's files",
        """
import json
for path in (json.__file__, '/etc/passwd', '/usr/bin/evil', '/bin/sh', '/lib/evil', '/evil', '/dev/evil'):
    refused(path, open, path, 'a')
""",
    ),
    Attack(
        "writing",
        "terminals of others",
        """
for n in range(4):
    refused(str(n), open, '/dev/pts/%d' % n, 'w')
refused('tty', open, '/dev/tty', 'w')
""",
    ),
    Attack(
        "writing",
        "making a program that changes its user",
        """
import shutil, subprocess
shutil.copy('/bin/sh', 'sh'); os.chmod('sh', 0o6755)
got = subprocess.run(['./sh', '-p', '-c', 'id -u'], capture_output=True, text=True).stdout.strip()
assert got == str(os.getuid()) != '0', 'SUCCEEDED: ' + got
""",
    ),
]

WORKSPACE = [
    Attack(
        "workspace",
        "links planted by the agent: absolute, upwards, to a folder, hard",
        """
refused('absolute', readable, 'absolute'); refused('upwards', readable, 'upwards')
refused('folder', os.listdir, 'folder')
open('hard', 'w').write('changed')
""",
    ),
    Attack(
        "workspace",
        "device, fifo and socket planted by the agent",
        """
for name in ('device', 'fifo', 'socket'): refused(name, os.stat, name)
""",
    ),
    Attack(
        "workspace",
        "replacing the workspace's folder by a link to the system",
        """
os.chdir('/'); os.rename('/box/work', '/box/old'); os.symlink('/etc', '/box/work')
""",
    ),
    Attack(
        "workspace",
        "replacing the workspace's folder by a file",
        """
os.chdir('/'); os.rename('/box/work', '/box/old'); open('/box/work', 'w').close(); os.chmod('/box', 0)
""",
    ),
    Attack(
        "workspace",
        "hard link to a file of the system",
        """
import json
refused('link', os.link, json.__file__, 'mine'); refused('link', os.link, '/proc/1/environ', 'env')
""",
    ),
    Attack(
        "workspace",
        "planting a file for the next check",
        """
for folder in ('/box', '/tmp', '/dev/shm', '/var/tmp', '/run', '/run/lock', '/dev/mqueue', '/home', '/opt'):
    try: open(folder + '/planted', 'w').write('{marker}')
    except OSError: continue
""",
    ),
    Attack(
        "workspace",
        "message queue left for the next check",
        """
librt = ctypes.CDLL('librt.so.1', use_errno=True)
n = librt.mq_open(b'/planted', os.O_CREAT | os.O_RDWR, 0o600, None)
assert n == -1, 'SUCCEEDED'
print(os.strerror(ctypes.get_errno()))
""",
    ),
]

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

SERVER = [
    Attack(
        "server",
        "killing the server with every signal",
        """
for n in range(1, 65):
    try: os.kill(1, n)
    except OSError: pass
time.sleep(0.05)
""",
    ),
    Attack(
        "server",
        "killing everything it can",
        """
import signal
signal.signal(15, signal.SIG_IGN)
for n in (15, 9, 19):
    refused(str(n), os.kill, -1, n)
""",
    ),
    Attack(
        "server",
        "writing a forged ending through /proc/1/fd",
        """
for n in range(10):
    refused(str(n), open, '/proc/1/fd/%d' % n, 'wb')
refused('list', os.listdir, '/proc/1/fd')
""",
    ),
    Attack(
        "server",
        "writing a forged ending to every descriptor",
        """
message = b'{{"ending": "passed"}}'
frame = struct.pack('>I', len(message)) + b'V' + message
for n in range(256):
    for data in (frame, message, bytes(32) + message):
        try: os.write(n, data)
        except OSError: pass
os._exit(0)
""",
        (LIMIT,),
    ),
    Attack(
        "server",
        "forging through duplicated descriptors of its own process",
        """
for name in os.listdir('/proc/self/fd'):
    try: open('/proc/self/fd/' + name, 'wb').write(bytes(32) + b'{{"ending": "passed"}}')
    except OSError: pass
os._exit(0)
""",
        (LIMIT,),
    ),
    Attack(
        "server",
        "patching what the server might use",
        """
import json, builtins
forged = lambda *a, **k: '{{"ending": "passed"}}'
json.dumps = json.JSONEncoder.encode = forged
os.write = os._exit = os.getpid = os.fork = os.pipe = lambda *a: 0
sys.stdout = sys.stderr = sys.exit = None
builtins.compile = builtins.exec = builtins.print = None
sys.modules.clear()
raise AssertionError('honest')
""",
        (
            FAILED,
            LIMIT,
        ),
    ),
    Attack(
        "server",
        "a fork that reports instead of the check",
        """
if os.fork(): time.sleep(0.2); raise AssertionError('honest')
""",
        (FAILED,),
    ),
    Attack(
        "server",
        "a child that reports after the check ended",
        """
if not os.fork():
    time.sleep(0.05)
    raise SystemExit
os._exit(0)
""",
        (LIMIT,),
    ),
    Attack(
        "server",
        "closing every descriptor and ending well",
        """
os.closerange(0, 256)
""",
        (
            LIMIT,
            PASSED,
        ),
    ),
    Attack(
        "server",
        "an exit handler that forges",
        """
import atexit
atexit.register(lambda: os.write(60, bytes(32) + b'{{"ending": "passed"}}'))
sys.exit(0)
""",
        (BROKEN,),
    ),
    Attack(
        "server",
        "leaving by os._exit(0)",
        """
os._exit(0)
""",
        (LIMIT,),
    ),
    Attack(
        "server",
        "becoming another program that ends well",
        """
os.execv('/bin/true', ['true'])
""",
        (LIMIT,),
    ),
    Attack(
        "server",
        "an exception that raises when looked at",
        """
class E(BaseException):
    def __str__(self): os._exit(0)
    __repr__ = __str__
    __class__ = property(__str__)
raise E
""",
        (
            FAILED,
            LIMIT,
        ),
    ),
    Attack(
        "server",
        "leaving daemons behind",
        """
for _ in range(5):
    if not os.fork():
        os.setsid()
        if os.fork(): os._exit(0)
        import signal
        for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)
        while True:
            open('/tmp/heartbeat', 'a').write('x'); time.sleep(0.005)
time.sleep(0.1)
""",
    ),
    Attack(
        "server",
        "reading the server's memory map",
        """
refused('maps', readable, '/proc/1/maps'); refused('mem', readable, '/proc/1/mem')
refused('cwd', os.listdir, '/proc/1/cwd'); refused('root', os.listdir, '/proc/1/root')
""",
    ),
    Attack(
        "server",
        "typing into a terminal",
        """
import fcntl
for n in range(3):
    refused('TIOCSTI', fcntl.ioctl, n, 0x5412, b'x')
""",
    ),
]

PICKLE_EXIT = b"cposix\n_exit\n(I0\ntR."
PICKLE_SYSTEM = b"cposix\nsystem\n(S'kill -9 1; rm -rf /box/* /tmp/*'\ntR."
PICKLE_LEAVE = b"csys\nexit\n(I0\ntR."
HONEST = "import pickle\nassert pickle.load(open('answer.pkl', 'rb')) == 42, 'wrong answer'"

DATA = [
    Attack(
        "data",
        "a pickle that ends the process",
        HONEST,
        (LIMIT,),
        files={
            "answer.pkl": PICKLE_EXIT,
        },
        bare=True,
    ),
    Attack(
        "data",
        "a pickle that leaves by SystemExit",
        HONEST,
        (FAILED,),
        files={
            "answer.pkl": PICKLE_LEAVE,
        },
        bare=True,
    ),
    Attack(
        "data",
        "a pickle that runs a shell",
        HONEST,
        (FAILED,),
        files={
            "answer.pkl": PICKLE_SYSTEM,
        },
        bare=True,
    ),
    Attack(
        "data",
        "a pickle that grows without end",
        HONEST,
        (LIMIT,),
        files={
            "answer.pkl": b"cbuiltins\nbytearray\n(I9000000000\ntR.",
        },
        bare=True,
    ),
    Attack(
        "data",
        "a zip bomb",
        """
import zipfile
zipfile.ZipFile('answer.zip').extractall()
""",
        (LIMIT,),
        files={
            "answer.zip": b"ZIP BOMB",
        },
        bare=True,
    ),
    Attack(
        "data",
        "a zip that climbs out",
        """
import zipfile
zipfile.ZipFile('answer.zip').extractall()
import os
assert not os.path.exists('/tmp/climbed') and os.listdir('/box') == ['work']
""",
        files={
            "answer.zip": b"ZIP CLIMB",
        },
        bare=True,
    ),
    Attack(
        "data",
        "a compressed file without end",
        """
import gzip
x = gzip.open('answer.gz').read()
""",
        (LIMIT,),
        files={
            "answer.gz": b"GZIP BOMB",
        },
        bare=True,
    ),
    Attack(
        "data",
        "a json.py of the agent's",
        """
import json, csv, random
assert json.loads('1') == 1, 'shadowed'
""",
        files={
            "json.py": "raise SystemExit",
            "csv.py": "raise SystemExit",
            "random.py": "raise SystemExit",
            "os.py": "raise SystemExit",
            "re.py": "raise SystemExit",
            "encodings.py": "raise SystemExit",
        },
        bare=True,
    ),
    Attack(
        "data",
        "a sitecustomize.py and a .pth of the agent's",
        r"""
import subprocess, sys
assert subprocess.run([sys.executable, '-I', '-c', 'print(1)'], capture_output=True).stdout == b'1\n'
assert 1 == 2, 'honest'
""",
        (FAILED,),
        files={
            "sitecustomize.py": "import os; os._exit(0)",
            "usercustomize.py": "import os; os._exit(0)",
            "x.pth": "import os; os._exit(0)",
        },
        bare=True,
    ),
    Attack(
        "data",
        "a module that ends the process",
        """
import answer
assert answer.x == 1
""",
        (LIMIT,),
        files={
            "answer.py": "import os; os._exit(0)",
        },
        bare=True,
    ),
    Attack(
        "data",
        "a module that writes a forged ending",
        """
import answer
assert answer.x == 1
""",
        (LIMIT,),
        files={
            "answer.py": (
                "import os\n"
                "for n in range(256):\n"
                '    try: os.write(n, bytes(32) + b\'{"ending": "passed"}\')\n'
                "    except OSError: pass\n"
                "os._exit(0)"
            ),
        },
        bare=True,
    ),
    Attack(
        "data",
        "a module that pretends to be the check",
        """
import answer
""",
        (FAILED,),
        files={
            "answer.py": "exec(compile('undefined_name', '<check>', 'exec'))",
        },
        bare=True,
    ),
    Attack(
        "data",
        "a number that takes for ever",
        """
x = eval(open('answer').read())
""",
        (
            TIMEOUT,
            LIMIT,
        ),
        files={
            "answer": "9**9**9**9",
        },
        bare=True,
    ),
    Attack(
        "data",
        "an expression that takes for ever",
        """
import re
re.match(r'(a+)+$', open('answer').read())
""",
        (TIMEOUT,),
        files={
            "answer": "a" * 60 + "!",
        },
        bare=True,
    ),
    Attack(
        "data",
        "nesting too deep to parse",
        """
json.load(open('answer'))
""",
        (
            FAILED,
            LIMIT,
        ),
        files={
            "answer": "[" * 500_000,
        },
        bare=True,
    ),
    Attack(
        "data",
        "control codes in what is printed",
        """
print(open('answer').read())
assert 0
""",
        (FAILED,),
        files={
            "answer": "\x1b]0;owned\x07\x1b[2J",
        },
        bare=True,
    ),
]

# No check is safe from code that it runs itself: these may pass, and the judge must be told.
UNSAFE = [
    Attack(
        "data",
        "a module that finds the way to the server in the frames",
        """
import answer
assert answer.x == 1
""",
        (PASSED, LIMIT),
        files={
            "answer.py": """
import os, sys
frame = sys._getframe()
while frame:
    report = frame.f_locals.get("report")
    if report is not None:
        report.send(b"E", b'{"ending": "passed"}')
        os._exit(0)
    frame = frame.f_back
"""
        },
        flagged=True,
        bare=True,
    ),
    Attack(
        "data",
        "a module that makes every assertion hold",
        """
import answer
assert answer.x == 1
""",
        files={
            "answer.py": """
class Anything(int):
    def __eq__(self, other):
        return True
x = Anything(7)
"""
        },
        flagged=True,
        bare=True,
    ),
    Attack(
        "data",
        "text for eval that finds the way to the server",
        """
assert eval(open("answer").read()) == 42
""",
        (PASSED, LIMIT, FAILED),
        files={"answer": "type('x', (), {'__eq__': lambda a, b: True})()"},
        flagged=True,
        bare=True,
    ),
]

ATTACKS = [*NETWORK, *BOMBS, *READING, *WRITING, *WORKSPACE, *PRIVILEGES, *SERVER, *DATA, *UNSAFE]
