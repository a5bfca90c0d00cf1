"""Agents, good and bad, that the tests of the connector to child processes write into files."""

PLAIN = '''
import os
from pathlib import Path

from viva import Reply, Step, StepKind, Usage, VirtualUser


class Odd:
    def __repr__(self):
        return "<odd>"


class Agent(VirtualUser):
    """One behaviour for each message, the same on a thread and on a loop."""

    version = "7.1"

    def answer(self, message, verbose):
        if message == "arguments":
            return repr((self.task_description, self.app_dir, self.config_var))
        if message == "verbose":
            return str(verbose)
        if message == "workspace":
            return str(self.workspace)
        if message == "save":
            (self.workspace / "saved.txt").write_text("kept")
            return "saved"
        if message == "raise":
            raise ValueError("the tool server went away")
        if message == "raise empty":
            raise KeyError()
        if message == "raise unprintable":
            raise Unprintable()
        if message == "raise timeout":
            raise TimeoutError("mine")
        if message == "exit":
            raise SystemExit(3)
        if message == "int":
            return 5
        if message == "none":
            return None
        if message == "bad steps":
            return Reply("x", steps=("no step",))
        if message == "bad text":
            return Reply(5)
        if message == "reply":
            step = Step(
                "s1", StepKind.MODEL, "s0", "planner", "saw", "thought", "plan", "search", {"q": [1, None, "x"]},
                "found", "oops", ("a.png",), "m-1", Usage(3, 4, 1, 1, 1, 2, None), 12.5, 0.25, {"span": {"deep": [1]}},
            )
            return Reply("with steps", (step,), Usage(5, 6, calls=2) + Usage(1, 1, cost=0.5), ("b.png",))
        if message == "odd attributes":
            return Reply("odd", (Step("1", attributes={"set": {1}, "path": Path("x/y"), 5: Odd()}),))
        if message == "surrogate":
            return "lone \\ud800 one"
        return message.upper()


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class Sync(Agent):
    def get_reply_from_agent(self, message, verbose=False):
        return self.answer(message, verbose)


class Async(Agent):
    async def get_reply_from_agent(self, message, verbose=False):
        return self.answer(message, verbose)


class Later(Agent):
    def get_reply_from_agent(self, message, verbose=False):
        async def later():
            return self.answer(message, verbose)

        return later()


class Cancels(VirtualUser):
    async def get_reply_from_agent(self, message):
        import asyncio

        asyncio.current_task().cancel()
        await asyncio.sleep(0)


class OwnFolder(Sync):
    def __init__(self, task_description, workspace):
        super().__init__(task_description)
        self.given = workspace
        self.workspace = workspace / "own"
        self.workspace.mkdir()


class Duck:
    __slots__ = ()

    def get_reply_from_agent(self, message):
        return "quack"


def made_by_a_function(task_description, **rest):
    agent = Sync(task_description)
    agent.answer = lambda message, verbose: repr(sorted(rest))
    return agent


class Broken(VirtualUser):
    def __init__(self, task_description):
        raise ValueError("no key")

    def get_reply_from_agent(self, message):
        return "never"


class Closes(VirtualUser):
    """Notes each close in a file; a message says how it goes."""

    how = ""

    def get_reply_from_agent(self, message):
        self.how = message
        return "ok"

    def close(self):
        with open(self.workspace / "closed", "a") as file:
            file.write("x")
        if self.how == "raise":
            raise ValueError("no end")


class ClosesAsync(Closes):
    async def get_reply_from_agent(self, message):
        self.how = message
        return "ok"

    async def close(self):
        Closes.close(self)


class WantsMore(VirtualUser):
    def __init__(self, task_description, colour):
        pass

    def get_reply_from_agent(self, message):
        return "never"


class NoMethod(VirtualUser):
    pass


not_a_class = 5
'''

RAISING = '''
import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

from viva import VirtualUser
from tools_of_mine import lookup

LIBRARY = "import json\\ndef parse(text):\\n    return json.loads(text)\\n"


class Failing(VirtualUser):
    def answer(self, message):
        return getattr(self, message.replace(" ", "_"))()

    def here(self):
        raise KeyError("key")  # here

    def beside_it(self):
        return lookup({})

    def in_a_library(self):
        return json.loads("{")  # in a library

    def in_code_without_a_file(self):
        scope = {}
        exec(LIBRARY, scope)
        return scope["parse"]("{")  # in code without a file

    def in_code_that_names_a_file(self):
        exec(compile("1 / 0", "no/such/file.py", "exec"))  # in code that names a file

    def from_another(self):
        try:
            self.here()
        except KeyError as error:
            raise ValueError("no answer") from error  # from another

    def while_handling(self):
        try:
            self.here()
        except KeyError:
            raise ValueError("no answer")  # while handling

    def on_a_thread(self):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(self.here).result()

    def exit(self):
        raise SystemExit("enough")  # exit

    def deep(self):
        return self.deep()  # deep

    def secret(self):
        raise ValueError("no entry with sk-of-mine-123456")  # secret

    def long(self):
        raise ValueError("x" * 5000)  # long

    def hidden_trace(self):
        raise Sly  # hidden trace

    def without_a_line(self):
        return "nothing raised"


class Sly(Exception):
    __cause__ = property(lambda self: 1 / 0)

    def __str__(self):
        raise RuntimeError


class Sync(Failing):
    def get_reply_from_agent(self, message):
        return self.answer(message)

    def close(self):
        self.here()


class Async(Failing):
    async def get_reply_from_agent(self, message):
        await asyncio.sleep(0)
        return self.answer(message)

    async def close(self):
        await asyncio.sleep(0)
        self.here()


class Later(Sync):
    def get_reply_from_agent(self, message):
        async def later():
            await asyncio.sleep(0)
            return self.answer(message)

        return later()

    def close(self):
        async def later():
            self.here()

        return later()


class Broken(Sync):
    def __init__(self, task_description):
        self.here()


class BrokenAsync(Async):
    def __init__(self, task_description):
        self.exit()


class Cancels(VirtualUser):
    async def get_reply_from_agent(self, message):
        asyncio.current_task().cancel()
        await asyncio.sleep(0)  # cancelled


class OnlyOfALibrary:
    """None of its own code runs."""

    get_reply_from_agent = staticmethod(json.loads)
'''
TOOLS = "def lookup(table):\n    return table['answer']\n"

HOSTILE = '''
import os
import signal
import subprocess
import sys
import threading
import time

from viva import VirtualUser


def note(workspace, pid=None):
    with open(workspace / "pids", "a") as file:
        file.write("%d\\n" % (pid or os.getpid()))


def daemon(workspace, stubborn=False):
    """Double fork and a session of its own, all files closed: as daemons are made."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    note(workspace)
    os.closerange(0, 256)
    if stubborn:
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
    while True:
        time.sleep(1)


class Hostile(VirtualUser):
    def get_reply_from_agent(self, message):
        note(self.workspace)
        note(self.workspace, os.getppid())
        return getattr(self, message.replace(" ", "_"), lambda: message.upper())() or "done"

    def segfault(self):
        print("before the end")
        import ctypes

        ctypes.string_at(0)

    def exit(self):
        sys.stderr.write("giving up")
        os._exit(7)

    def kill_itself(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def kill_its_group(self):
        os.killpg(0, signal.SIGKILL)

    def kill_supervisor(self):
        daemon(self.workspace)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)

    def kill_supervisor_with_much_in_memory(self):
        self.much = b"x" * (600 << 20)  # the kernel takes a while to take it down
        self.kill_supervisor()

    def terminate_supervisor(self):
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(0.2)

    def hang(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            pass

    def hang_in_c(self):
        "x".join(str(number) for number in range(10))
        import re

        re.match(r"(a+)+$", "a" * 64 + "b")  # holds the interpreter lock for ever

    def leave_daemon(self):
        daemon(self.workspace)

    def leave_stubborn_daemon(self):
        daemon(self.workspace, stubborn=True)

    def leave_many(self):
        for number in range(20):
            pid = os.fork()
            if pid == 0:
                note(self.workspace)
                if number % 2:
                    daemon(self.workspace)
                time.sleep(600)
                os._exit(0)

    def leave_programs(self):
        for _ in range(3):
            child = subprocess.Popen(["sleep", "600"], env={}, start_new_session=True)
            note(self.workspace, child.pid)

    def leave_and_die(self):
        self.leave_many()
        os._exit(1)

    def chatter(self):
        print('{"n": 1, "text": "forged"}', flush=True)
        os.write(1, b"\\x00\\x00\\x00\\x02{}" * 100)
        os.write(2, os.urandom(1000))
        return "clean"

    def flood(self):
        for _ in range(2000):
            os.write(1, b"x" * 65536)
        return "flooded"

    def flood_and_die(self):
        self.flood()
        os.write(2, b"THE END")
        os._exit(1)

    def huge(self):
        return "x" * (65 * 1024 * 1024)

    def large(self):
        return "\\u00e9" * (5 * 1024 * 1024)

    def close_files(self):
        os.closerange(0, 3)
        return "closed"

    def close_all_files(self):
        os.closerange(0, 65536)
        return "closed"

    def become_daemon(self):
        os.closerange(3, 256)
        os.chdir("/")
        return "as if a daemon"

    def replace_stdout(self):
        sys.stdout = None
        sys.stderr = open(os.devnull, "w")
        sys.__stdout__ = 5
        return "replaced"

    def break_json(self):
        import json

        json.dumps = json.loads = os.read = os.write = None
        return "broken"

    def read_input(self):
        return "read " + repr(sys.stdin.read())

    def forked_reply(self):
        if os.fork() == 0:
            return "from the fork"
        time.sleep(0.2)
        return "from the agent"

    def forge(self):
        import glob

        for link in glob.glob("/proc/self/fd/*"):
            try:
                if "socket" in os.readlink(link):
                    os.write(int(os.path.basename(link)), b"\\xff\\xff\\xff\\xff nonsense")
            except OSError:
                pass
        return "forged"

    def leak(self):
        kept = []
        while True:
            kept.append(bytearray(10_000_000))

    def replace_itself(self):
        os.execvp("sleep", ["sleep", "600"])

    def die_when_told(self):
        def wait():
            while not (self.workspace / "die").exists():
                time.sleep(0.01)
            os._exit(9)

        threading.Thread(target=wait).start()
        return "soon"


class HangsInClose(Hostile):
    def close(self):
        (self.workspace / "closing").touch()
        time.sleep(600)


class FreedByClose(Hostile):
    def __init__(self, task_description):
        self.event = threading.Event()

    def wait(self):
        self.event.wait()
        return "freed"

    def close(self):
        self.event.set()
        (self.workspace / "closed").write_text(threading.current_thread().name)


class HangsOnLoop(VirtualUser):
    """Hangs until it is cancelled, and counts in the background."""

    async def get_reply_from_agent(self, message):
        import asyncio

        if message == "count":
            self.task = asyncio.ensure_future(self.counting())
            return "counting"
        (self.workspace / "hanging").touch()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            (self.workspace / "cancelled").touch()
            raise

    async def counting(self):
        import asyncio

        while True:
            with open(self.workspace / "count", "a") as file:
                file.write("x")
            await asyncio.sleep(0.01)

    async def close(self):
        (self.workspace / "closed").touch()


class HangsInConstruction(Hostile):
    def __init__(self, task_description, workspace):
        note(workspace)
        daemon(workspace)
        time.sleep(600)


class DiesInConstruction(Hostile):
    def __init__(self, task_description):
        os._exit(5)
'''
