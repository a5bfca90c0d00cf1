"""Ending, imitating or deceiving the server that the check's ending goes to."""

from __future__ import annotations

from .attack import BROKEN, FAILED, LIMIT, PASSED, Attack

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
        "typing into a terminal",
        """
import fcntl
for n in range(3):
    refused('TIOCSTI', fcntl.ioctl, n, 0x5412, b'x')
""",
    ),
]
