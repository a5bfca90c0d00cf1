"""Seeing what belongs to the host, to the kernel or to another run."""

from __future__ import annotations

from .attack import X86, Attack

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
        "a file of the host, by searching everywhere",
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
for path in ('/proc/self/environ', '/proc/%d/environ' % os.getppid(), '/proc/%d/environ' % os.getpid()):
    refused(path, readable, path)
import subprocess
shown = subprocess.run(['env'], capture_output=True, text=True).stdout
assert '{marker}' not in shown and 'roxy' not in shown.lower(), 'SUCCEEDED: ' + shown
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
    Attack(
        "reading",
        "watching what others do with the system's files",
        """
import fcntl
assert libc.inotify_init() == -1 and libc.inotify_init1(0) == -1, 'SUCCEEDED: inotify'
refused('F_NOTIFY', fcntl.fcntl, os.open('/usr/lib', os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS)
assert libc.fanotify_init(0x200, 0) == -1, 'SUCCEEDED: fanotify'
refused('lease', fcntl.fcntl, os.open(os.path.realpath('/bin/sh'), os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
""",
    ),
]
