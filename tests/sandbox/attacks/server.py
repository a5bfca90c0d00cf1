"""Ending, imitating or deceiving the server that the check's ending goes to."""

from __future__ import annotations

from .attack import BROKEN, FAILED, LIMIT, PASSED, X86, Attack

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
        "an exception that raises when it is inspected",
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
        "a program of the agent's that the check starts, rewriting the check's memory",
        """
import subprocess
answer = bytes(bytearray(b'the answer of the check'))
print(subprocess.run(['python3', 'agent.py'], capture_output=True, text=True).stdout)
assert answer == bytes(bytearray(b'the answer of the check')), 'SUCCEEDED'
""",
        files={
            "agent.py": r"""
import os
check = '/proc/%d/' % os.getppid()
try:
    with open(check + 'maps') as maps, open(check + 'mem', 'r+b', buffering=0) as memory:
        for start, end in (line.split()[0].split('-') for line in maps if ' rw' in line and '[v' not in line):
            memory.seek(int(start, 16))
            at = memory.read(int(end, 16) - int(start, 16)).find(b'the answer of the ' + b'check')
            if at >= 0:
                memory.seek(int(start, 16) + at); memory.write(b'X'); print('SUCCEEDED')
except OSError as error:
    print('refused: memory:', error.strerror)
"""
        },
        bare=True,
    ),
    Attack(
        "server",
        "a program of the agent's that the check starts, taking the check's way to the server",
        """
import subprocess
done = subprocess.run(['python3', 'agent.py'], capture_output=True, text=True)
print(done.stdout)
assert done.returncode == 0, done.stderr
""",
        files={
            "agent.py": r"""
import ctypes, os
libc, check = ctypes.CDLL(None), os.pidfd_open(os.getppid())
for n in range(256):
    try:
        os.open('/proc/%d/fd/%d' % (os.getppid(), n), os.O_WRONLY)
        if n > 2: print('SUCCEEDED', n)
    except OSError as error:
        words = error.strerror
    if libc.syscall(438, check, n, 0) >= 0: print('SUCCEEDED', n)  # pidfd_getfd
print('refused: descriptors:', words)
"""
        },
        bare=True,
    ),
    Attack(
        "server",
        "ending or starving the server by limits on its resources",
        """
import resource
for kind in (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_FSIZE):
    refused(str(kind), resource.prlimit, 1, kind, (0, 0))
refused('reading', resource.prlimit, 1, resource.RLIMIT_CPU)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
""",
    ),
    Attack(
        "server",
        "throttling the server: priorities",
        """
refused('process', os.setpriority, os.PRIO_PROCESS, 1, 19)
refused('group', os.setpriority, os.PRIO_PGRP, os.getpgid(1), 19)
refused('user', os.setpriority, os.PRIO_USER, 0, 19)
refused('user', os.setpriority, os.PRIO_USER, os.getuid(), 19)
os.nice(1); os.setpriority(os.PRIO_PROCESS, 0, 19)
""",
    ),
    Attack(
        "server",
        "throttling the server: scheduling",
        """
refused('affinity', os.sched_setaffinity, 1, [0])
refused('idle', os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0))
refused('parameter', os.sched_setparam, 1, os.sched_param(0))
os.sched_setaffinity(0, os.sched_getaffinity(0))
""",
    ),
    Attack(
        "server",
        "throttling the server: system calls without a function in Python",
        """
refused('sched_setattr', call, 314, 1, struct.pack('IIQiIQQQ', 48, 5, 0, 0, 0, 0, 0, 0), 0)
for who, which in ((1, 1), (2, 0), (3, os.getuid())): refused('ioprio_set', call, 251, who, which, 3 << 13)
refused('a pid with bits above the lowest 32', call, 302, (1 << 32) + 1, 0, struct.pack('QQ', 0, 0), None)
""",
        machine=X86,
    ),
    Attack(
        "server",
        "a program of the agent's that the check starts, throttling everything it finds",
        """
import subprocess
done = subprocess.run(['python3', 'agent.py'], capture_output=True, text=True)
print(done.stdout)
assert done.returncode == 0 and 'SUCCEEDED' not in done.stdout, done.stderr
""",
        files={
            "agent.py": """
import os, resource
for pid in sorted(int(name) for name in os.listdir('/proc') if name.isdigit() and int(name) != os.getpid()):
    for act in (
        lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0)),
        lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
        lambda: os.sched_setaffinity(pid, [0]),
        lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
    ):
        try:
            act(); print('SUCCEEDED', pid)
        except OSError as error:
            words = error.strerror
print('refused: any: ' + words)
"""
        },
        bare=True,
    ),
    Attack(
        "server",
        "the server's switches below /proc",
        """
for name in ('oom_score_adj', 'autogroup', 'coredump_filter', 'timerslack_ns', 'comm', 'sched', 'setgroups'):
    refused(name, lambda: (lambda file: (file.write('0'), file.close()))(open('/proc/1/' + name, 'w')))
""",
    ),
    Attack(
        "server",
        "signals by way of a descriptor, a queue and a handle",
        """
import fcntl, signal
read, write = os.pipe(); os.set_blocking(read, False)
for sign in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGIO):
    try:
        fcntl.fcntl(read, 10, sign); fcntl.fcntl(read, fcntl.F_SETOWN, 1); fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC)
        os.write(write, b'x')
    except OSError as error: print('refused: F_SETOWN:', error.strerror)
    info = ctypes.create_string_buffer(struct.pack('iii', sign, 0, -1) + bytes(120))
    refused('queue', call, 129, 1, int(sign), info)
    try: signal.pidfd_send_signal(os.pidfd_open(1), sign)
    except OSError as error: print('refused: pidfd:', error.strerror)
time.sleep(0.05)
""",
        machine=X86,
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
