"""Using up what there is: processes, memory, disk, descriptors, time, output."""

from __future__ import annotations

from .attack import FAILED, LIMIT, PASSED, TIMEOUT, X86, Attack

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
def made(number):
    if number < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return number
refused('memory', lambda: made(libc.shmget(4000, 1 << 20, 0o1600)))
refused('semaphores', lambda: made(libc.semget(4000, 1, 0o1600)))
refused('queue', lambda: made(libc.msgget(4000, 0o1600)))
""",
    ),
    Attack(
        "bombs",
        "shared memory in many processes, each its own",
        """
import mmap
for _ in range(8):
    if not os.fork():
        m = mmap.mmap(-1, 80_000_000)
        for at in range(0, 80_000_000, 4096): m[at] = 1
        time.sleep(60)
time.sleep(60)
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "memory that belongs to no process (memfd)",
        """
refused('memfd_create', os.memfd_create, 'x')
""",
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
        "filling every file system at once, so that the server has no space",
        """
for folder in ('/box', '/tmp', '/dev/shm'):
    if not os.fork():
        n = 0
        while True:
            with open('%s/%d' % (folder, n), 'wb') as file:
                try:
                    while True: file.write(b'x' * (1 << 20))
                except OSError: n += 1
time.sleep(60)
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "inode bomb in every file system at once",
        """
for folder in ('/box', '/tmp', '/dev/shm'):
    if not os.fork():
        n = 0
        while True:
            try: os.mkdir('%s/%d' % (folder, n))
            except OSError: pass
            n += 1
time.sleep(60)
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
        "sockets that are filled and never read",
        """
kept = []
for _ in range(12):
    if not os.fork(): break
while True:
    try:
        pair = socket.socketpair(); kept.append(pair); pair[0].setblocking(False)
        while True: pair[0].send(bytes(60000))
    except OSError: time.sleep(0.001)
""",
        (LIMIT,),
    ),
    Attack(
        "bombs",
        "sockets that travel inside each other's messages",
        """
kept = [socket.socketpair()]
while True:
    try:
        for _ in range(20):
            pair = socket.socketpair(); kept[-1][0].setblocking(False)
            socket.send_fds(kept[-1][0], [b'x'], [pair[1].fileno()]); pair[1].close(); kept.append((pair[0], None))
            if len(kept) > 100: kept[0][0].close() if len(kept) % 2 else None; kept = kept[-50:]
    except OSError: time.sleep(0.001)
""",
        (LIMIT, TIMEOUT),
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
        "kernel memory for page tables, of memory that is only read",
        """
import mmap
for flags in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
    refused('address space', lambda: mmap.mmap(-1, 1 << 34, flags=flags | 0x4000, prot=mmap.PROT_READ))
""",
    ),
    Attack(
        "bombs",
        "kernel memory for mappings, which bwrap charges to no process: how much one process gets",
        """
import mmap
held = mmap.mmap(-1, 1 << 30)
start = ctypes.addressof(ctypes.c_char.from_buffer(held))
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
pages = range(0, 140_000, 2)
made = sum(libc.mprotect(start + page * 4096, 4096, 1) == 0 for page in pages)
assert made < 65600 // 2, 'SUCCEEDED: %d mappings' % made
""",
    ),
    Attack(
        "bombs",
        "contexts of asynchronous I/O, which the whole machine shares",
        "refused('io_setup', call, 206, 1000, ctypes.byref(ctypes.c_ulong()))",
        machine=X86,
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
