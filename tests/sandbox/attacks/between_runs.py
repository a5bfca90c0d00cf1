"""What one run leaves for the next that has the same container: each tries to, and the next one looks for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Trace:
    """`leave` is a check of the first run, `look` one of the second: it passes when nothing is there."""

    name: str
    leave: str
    look: str


TRACES = [
    Trace(
        "processes",
        """
import signal
for _ in range(5):
    if not os.fork():
        os.setsid()
        if os.fork(): os._exit(0)
        for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)
        while True:
            for place in ('/tmp', '/dev/shm', '/box'): open(place + '/heartbeat', 'a').write('x')
            time.sleep(0.005)
time.sleep(0.1)
""",
        """
pids = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())
assert pids == [1, 2] and os.getpid() == 2, pids
time.sleep(0.05)
assert not [place for place in ('/tmp', '/dev/shm', '/box') if os.path.exists(place + '/heartbeat')]
""",
    ),
    Trace(
        "files",
        """
planted = 0
for top, folders, files in os.walk('/'):
    if top in ('/proc', '/sys', '/usr'): folders[:] = []
    try: planted += bool(open(top + '/planted', 'w').write('x'))
    except OSError: pass
os.symlink('/tmp', '/box/link'); os.mkfifo('/tmp/fifo'); os.chmod('/box', 0); os.chmod('/tmp', 0)
assert planted >= 3, planted
""",
        """
found = [path for path in everything() if path.endswith(('/planted', '/fifo'))]
assert not found, found
assert sorted(os.listdir('/box')) == ['home', 'temporary', 'work'] and not os.listdir('/tmp') + os.listdir('/dev/shm')
""",
    ),
    Trace(
        "shared memory",
        """
import mmap
from multiprocessing import shared_memory
block = shared_memory.SharedMemory('planted', create=True, size=4096); block.buf[:7] = b'planted'
memory = mmap.mmap(-1, 4096); memory.write(b'planted')
refused('shmget', call, 29, 0x7669, 4096, 0o1666); refused('semget', call, 64, 0x7669, 1, 0o1666)
os._exit(0)
""",
        """
assert not os.listdir('/dev/shm'), os.listdir('/dev/shm')
for kind in ('shm', 'sem', 'msg'): assert len(open('/proc/sysvipc/' + kind).readlines()) == 1
refused('shmget', call, 29, 0x7669, 4096, 0)
""",
    ),
    Trace(
        "message queues",
        """
refused('msgget', call, 68, 0x7669, 0o1666)
refused('mq_open', call, 240, b'planted', os.O_CREAT | os.O_RDWR, 0o600, None)
refused('file', open, '/dev/mqueue/planted', 'w')
""",
        """
refused('msgget', call, 68, 0x7669, 0)
refused('mq_open', call, 240, b'planted', os.O_RDWR, 0, None)
assert not os.path.isdir('/dev/mqueue') or not os.listdir('/dev/mqueue')
""",
    ),
    Trace(
        "abstract sockets",
        """
if not os.fork():
    os.setsid()
    listener = socket.socket(socket.AF_UNIX); listener.bind(chr(0) + 'planted'); listener.listen()
    while True: listener.accept()[0].send(b'of the run before')
time.sleep(0.1)
with socket.socket(socket.AF_UNIX) as own: own.connect(chr(0) + 'planted')
""",
        """
with socket.socket(socket.AF_UNIX) as other: refused('connect', other.connect, chr(0) + 'planted')
assert '@' not in open('/proc/net/unix').read()
""",
    ),
    Trace(
        "ports of the loopback",
        """
if not os.fork():
    os.setsid()
    listener = socket.create_server(('127.0.0.1', 7669))
    while True: listener.accept()
time.sleep(0.1)
socket.create_connection(('127.0.0.1', 7669)).close()
""",
        """
refused('connect', socket.create_connection, ('127.0.0.1', 7669))
assert len(open('/proc/net/tcp').readlines()) <= 2  # a heading, and the attempt
""",
    ),
    Trace(
        "keyrings",
        """
refused('add_key', call, 248, b'user', b'planted', b'x', 1, -3)
refused('add_key', call, 248, b'user', b'planted', b'x', 1, -4)
refused('keyctl', call, 250, 1, b'planted')
refused('request_key', call, 249, b'user', b'planted', None, -3)
""",
        """
refused('request_key', call, 249, b'user', b'planted', None, 0)
for name in ('keys', 'key-users'):
    try: assert 'planted' not in open('/proc/' + name).read()
    except OSError: pass
""",
    ),
    Trace(
        "descriptors",
        """
import array
held = [open('/dev/null') for _ in range(40)]
one, two = socket.socketpair()
for _ in range(5): one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [two.fileno()]))])
for file in held: os.set_inheritable(file.fileno(), True)
os._exit(0)
""",
        """
held = {}
for name in os.listdir('/proc/self/fd'):
    try: held[int(name)] = os.readlink('/proc/self/fd/' + name)
    except OSError: pass  # that of the listing itself
assert held.pop(0) == '/dev/null' and held.pop(1) == held.pop(2) and len(held) == 1, held  # the way of its result
assert list(held.values())[0].startswith('pipe:'), held
""",
    ),
    Trace(
        "watches on files (inotify)",
        """
import fcntl
refused('inotify', call, 294, 0); refused('inotify', call, 253); refused('fanotify', call, 300, 0, 0)
folder = os.open('/usr', os.O_RDONLY)
refused('F_NOTIFY', fcntl.fcntl, folder, fcntl.F_NOTIFY, 1)
""",
        """
refused('inotify', call, 294, 0)
""",
    ),
    Trace(
        "the state of the server: process ids, time used, counters",
        """
for _ in range(300):
    child = os.fork()
    if not child: os._exit(0)
    os.waitpid(child, 0)
assert child > 300
ends = time.process_time() + 0.4
while time.process_time() < ends: pass
""",
        """
child = os.fork()
if not child: os._exit(0)
os.waitpid(child, 0)
assert child < 10, child
used = open('/proc/1/stat').read().rpartition(')')[2].split()
assert sum(map(int, used[11:15])) < 20, used  # hundredths of a second
assert open('/proc/sys/kernel/ns_last_pid').read().strip() in map(str, range(10))
""",
    ),
    Trace(
        "settings: limits, mask, environment, host name, priorities, terminals",
        """
import pty, resource
os.umask(0); os.environ['PLANTED'] = 'x'; os.nice(15); resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
refused('host name', socket.sethostname, 'planted')
pty.openpty()
if not os.fork(): os.setsid(); pty.openpty(); time.sleep(60)
""",
        """
import resource
assert os.umask(0) == 0o077 and 'PLANTED' not in os.environ and os.nice(0) < 15
assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 20 and socket.gethostname() != 'planted'
assert [name for name in os.listdir('/dev/pts') if name.isdigit()] == []
""",
    ),
    Trace(
        "devices: their modes and times",
        """
def attempt(act, *arguments):
    try: act(*arguments)
    except OSError: pass
for name in os.listdir('/dev'):
    attempt(os.utime, '/dev/' + name, (1, 1)); attempt(os.utime, '/dev/' + name); attempt(os.chmod, '/dev/' + name, 0)
attempt(os.chmod, '/dev/pts', 0); attempt(os.chmod, '/dev/ptmx', 0o600)
""",
        """
for name in ('null', 'zero', 'full', 'random', 'urandom', 'ptmx'):
    state = os.stat('/dev/' + name)
    assert state.st_mode & 0o777 == 0o666, (name, oct(state.st_mode))
    assert state.st_mtime > 1, (name, state)
os.openpty(); os.listdir('/dev/pts'); open('/dev/null', 'w').close()
""",
    ),
]
