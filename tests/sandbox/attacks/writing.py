"""Changing the system, or by way of the workspace what the next check finds."""

from __future__ import annotations

from .attack import Attack

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
        "settings of the namespaces (pid_max, message queues, shared memory)",
        """
for name in ('kernel/pid_max', 'kernel/ns_last_pid', 'kernel/threads-max', 'kernel/msgmax', 'kernel/shmmax',
             'kernel/sem', 'kernel/shm_rmid_forced', 'fs/mqueue/msg_max', 'net/ipv4/ip_default_ttl',
             'net/unix/max_dgram_qlen', 'user/max_pid_namespaces', 'vm/overcommit_memory', 'fs/file-max'):
    path = '/proc/sys/' + name
    if os.path.exists(path): refused(path, lambda: (lambda file: (file.write('400'), file.close()))(open(path, 'w')))
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
        "the modes and times of devices",
        """
for name in ('null', 'zero', 'full', 'random', 'urandom', 'tty', ''):
    path = '/dev/' + name
    refused(path, os.utime, path); refused(path, os.utime, path, (1, 1)); refused(path, os.chmod, path, 0o600)
os.close(os.open('/dev/null', os.O_RDWR)); os.openpty()
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
    Attack(
        "writing",
        "files without a name, held by a message between sockets that are gone",
        """
import array
files = []
for place in ('/tmp', '/box', '/dev/shm'):
    files.append(os.open(place + '/held', os.O_RDWR | os.O_CREAT)); os.unlink(place + '/held')
    for _ in range(20): os.write(files[-1], bytes(1 << 20))
for _ in range(8):
    one, two = socket.socketpair()
    held = array.array('i', [one.fileno(), two.fileno(), *files])
    for end in (one, two): end.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)])
""",
    ),
    Attack(
        "writing",
        "the attributes, access lists and times of the folders that stay",
        """
anybody = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', tag, 7, 2**32 - 1) for tag in (1, 4, 32))
for place in ('/box', '/tmp', '/dev/shm'):
    for name, value in (('user.x', b''), ('system.posix_acl_default', anybody), ('system.posix_acl_access', anybody)):
        try: os.setxattr(place, name, value)
        except OSError as error: print('refused: %s: %s' % (name, error.strerror))  # not every kernel has it
    os.utime(place, ns=(123456789, 987654321))
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
        "replacing the workspace's folder by a fifo",
        """
os.chdir('/'); os.rename('/box/work', '/box/old'); os.mkfifo('/box/work')
""",
    ),
    Attack(
        "workspace",
        "locking every folder that the server has to empty",
        """
for folder in ('/box/work/a/b/c', '/tmp/a/b/c', '/dev/shm/a/b/c'):
    os.makedirs(folder); open(folder + '/file', 'w').close()
    while folder not in ('/box/work', '/tmp', '/dev/shm'):
        os.chmod(folder, 0); folder = os.path.dirname(folder)
for folder in ('/box/work', '/box', '/tmp', '/dev/shm'): os.chmod(folder, 0)
""",
    ),
    Attack(
        "workspace",
        "leaving every kind of file that a file system can hold",
        r"""
for name in (b'a\nb', b'\xff', b'y' * 255, b'.wiped', b'.wiped1', b'-rf', b' ', b'\x01'):
    os.mkdir(name); open(name + b'/file', 'w').close()
os.symlink('ring', 'ring'); os.symlink('.', 'here'); os.symlink('/', 'top')
os.mkfifo('pipe'); os.link('hard', 'harder')
socket.socket(socket.AF_UNIX).bind('unix'); os.truncate(os.open('sparse', os.O_CREAT | os.O_RDWR), 30_000_000)
os.chmod('hard', 0); os.utime('hard', (1 << 40, 1 << 40))
""",
    ),
    Attack(
        "workspace",
        "names, modes, holes, loops and depth planted by the agent",
        r"""
assert os.path.exists(b'new\nline') and os.path.exists(b'\xff\xfe') and os.path.exists(b'x' * 255)
assert os.path.getsize('sparse') == 1_000_000 and open('sparse', 'rb').read() == bytes(1_000_000)
assert os.readlink('loop') == 'loop' and not os.path.lexists('indirect')
assert sum(len(files) for _, _, files in os.walk('deep')) == 1
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
for folder in ('/box', '/box/home', '/box/temporary', '/tmp', '/dev/shm', '/var/tmp', '/run',
               '/run/lock', '/dev/mqueue', '/home', '/opt'):
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
