"""What every backend promises, run against each. Where they differ, the difference is data: `TRAITS`.

The code that runs a check and tells its ending is the same behind all walls: what it does with plain Python is tested
on the cheapest backend. Walls, limits, processes, files and ends are tested on each.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import itertools
import os
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.conftest import KINDS, eventually
from viva.sandbox import (
    CheckResult,
    Ending,
    RunView,
    Sandbox,
    SandboxLimits,
    SandboxLost,
    SandboxSession,
    WorkspaceTooLarge,
)


@dataclass(frozen=True)
class Traits:
    """How a backend differs from the others."""

    isolates: bool = True
    walls_processes: bool = True
    """More processes than allowed cannot be started; elsewhere they are noticed and ended."""
    sees_host_files: bool = False


TRAITS = {
    "docker": Traits(),
    "bwrap": Traits(),
    "process": Traits(isolates=False, walls_processes=False, sees_host_files=True),
}
QUICK = SandboxLimits(seconds=60, cpu_seconds=30, memory_mb=128, processes=16, disk_mb=32, file_mb=16, output_kb=4)

CHEAPEST = ("process",)
NUMBERS = itertools.count()

pytestmark = pytest.mark.asyncio(loop_scope="session")


def on(kinds: tuple[str, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kind", kinds, indirect=True, scope="session")


each_backend = on(KINDS)
one_backend = on(CHEAPEST)


@contextlib.asynccontextmanager
async def session_with(box: Sandbox, files: dict[str, str] | Path | None = None, view: RunView | None = None) -> Any:
    """A session on these files. The next session is started meanwhile, as a conversation would."""
    with tempfile.TemporaryDirectory() as folder:
        workspace: Path | None = Path(folder)
        if isinstance(files, dict):
            for name, text in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        else:
            workspace = files
        await box.prepare()
        # Each session is another run: one whose session was lost is not given a world again.
        session = await box.open(workspace, view or RunView(), run_id=f"conformance-{next(NUMBERS)}")
        try:
            yield session
        finally:
            await session.close()


async def run(
    box: Sandbox, code: str, files: dict[str, str] | None = None, limits: SandboxLimits = QUICK
) -> CheckResult:
    async with session_with(box, files) as session:
        result = await session.check(code, limits)
        assert (await session.check("assert True")).ending is Ending.PASSED, "the session must outlive every check"
    return result


@each_backend
async def test_a_backend_says_what_it_is(kind: str, box: Sandbox) -> None:
    assert box.name == kind
    assert box.isolates is TRAITS[kind].isolates
    assert all(weakness.endswith(".") for weakness in box.weaknesses)
    assert box.isolates or box.weaknesses


# --- whose fault an ending is -----------------------------------------------------------------------------------

Row = tuple[str, str, dict[str, str], Ending, str | None]
"""Name, check, files of the workspace, ending, exception."""

ON_EACH: list[Row] = [
    ("reaches its end", "assert 1 + 1 == 2", {}, Ending.PASSED, None),
    ("assertion", "assert 1 == 2, 'no'", {}, Ending.FAILED, "AssertionError"),
    ("own module missing", "import no_such_module", {}, Ending.BROKEN, "ModuleNotFoundError"),
    ("own sys.exit", "import sys; sys.exit('x')", {}, Ending.BROKEN, "SystemExit"),
    ("agent's missing module", "import agent", {"agent.py": "import nope"}, Ending.FAILED, "ModuleNotFoundError"),
    ("own recursion", "def f(): f()\nf()", {}, Ending.FAILED, "RecursionError"),
    ("os._exit(0)", "import os; os._exit(0)", {}, Ending.LIMIT, None),
    ("agent's os._exit(0)", "import agent", {"agent.py": "import os; os._exit(0)"}, Ending.LIMIT, None),
    ("killed by itself", "import os; os.kill(os.getpid(), 9)", {}, Ending.LIMIT, None),
    ("segmentation fault", "import ctypes; ctypes.string_at(0)", {}, Ending.LIMIT, None),
    ("too much memory", "x = 'x' * 10**10", {}, Ending.LIMIT, "MemoryError"),
]
ON_ONE: list[Row] = [
    ("nothing to do", "", {}, Ending.PASSED, None),
    ("file not left", "open('answer.txt')", {}, Ending.FAILED, "FileNotFoundError"),
    ("unreadable answer", "int(open('a').read())", {"a": "x"}, Ending.FAILED, "ValueError"),
    ("json not left", "json.load(open('a'))", {"a": "{"}, Ending.FAILED, "JSONDecodeError"),
    ("does not compile", "x = = 1", {}, Ending.BROKEN, "SyntaxError"),
    ("null byte", "x = 1\0", {}, Ending.BROKEN, None),
    ("own name missing", "x\n", {}, Ending.BROKEN, "NameError"),
    ("own name missing in a function", "def f():\n    return x\nf()", {}, Ending.BROKEN, "NameError"),
    ("own SystemExit", "raise SystemExit(0)", {}, Ending.BROKEN, "SystemExit"),
    ("agent's SyntaxError", "import agent", {"agent.py": "x = ="}, Ending.FAILED, "SyntaxError"),
    ("agent's NameError", "import agent", {"agent.py": "x"}, Ending.FAILED, "NameError"),
    ("agent's SystemExit", "import agent", {"agent.py": "raise SystemExit"}, Ending.FAILED, "SystemExit"),
    ("agent's sys.exit", "import agent", {"agent.py": "import sys; sys.exit()"}, Ending.FAILED, "SystemExit"),
    ("agent's text executed", "exec(open('agent.py').read())", {"agent.py": "x = ="}, Ending.FAILED, "SyntaxError"),
    ("agent's text evaluated", "eval(open('a').read())", {"a": "nope"}, Ending.FAILED, "NameError"),
    ("agent's text leaves", "eval(open('a').read())", {"a": "exit()"}, Ending.FAILED, "SystemExit"),
    ("agent's text lacks a module", "eval(open('a').read())", {"a": "__import__('x_y')"}, Ending.FAILED, None),
    ("own SystemExit after the agent's text", "eval(open('a').read())\nexit()", {"a": "1"}, Ending.BROKEN, None),
    ("a name that the agent's text may bind", "eval(open('a').read())\nx", {"a": "1"}, Ending.FAILED, "NameError"),
    ("a name that the agent's program binds", "exec(open('a').read())\nf()", {"a": ""}, Ending.FAILED, "NameError"),
    ("own name missing after the agent's module", "import agent\nx", {"agent.py": ""}, Ending.BROKEN, "NameError"),
    ("own module missing after the agent's", "import agent\nimport nope", {"agent.py": ""}, Ending.BROKEN, None),
    ("own unittest.main", "import unittest; unittest.main(argv=['x'])", {}, Ending.BROKEN, "SystemExit"),
]


@pytest.mark.parametrize(
    ("kind", "name", "code", "files", "ending", "exception"),
    [
        pytest.param(kind, *one, id=f"{kind}-{one[0]}")
        for kind in KINDS
        for one in (ON_EACH + ON_ONE if kind in CHEAPEST else ON_EACH)
    ],
    indirect=["kind"],
    scope="session",
)
async def test_an_ending_says_whose_fault_it_is(
    box: Sandbox, name: str, code: str, files: dict[str, str], ending: Ending, exception: str | None
) -> None:
    result = await run(box, code, files)
    assert result.ending is ending, result
    if exception:
        assert result.exception == exception


@one_backend
async def test_a_failure_comes_with_its_words_and_the_line_of_the_check(box: Sandbox) -> None:
    result = await run(box, "x = 1\n\ndef f():\n    assert x == 2, 'x is one'\nf()")
    assert (result.message, result.line) == ("x is one", 4)
    result = await run(box, "import agent\nagent.f()", {"agent.py": "\n\n\ndef f():\n    raise ValueError('deep')"})
    assert (result.message, result.line) == ("deep", 2)
    assert (await run(box, "\n\nx = =")).line == 3


@one_backend
async def test_a_missing_module_is_named(box: Sandbox) -> None:
    assert (await run(box, "import no_such.thing")).missing_module == "no_such"
    assert (await run(box, "import agent", {"agent.py": "import nope"})).missing_module == "nope"


@one_backend
async def test_an_exception_cannot_harm_by_its_text_or_its_name(box: Sandbox) -> None:
    code = "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E"
    assert (await run(box, code)).ending is Ending.FAILED
    long = await run(box, "raise type('X' * 9999, (Exception,), {})('y' * 99999)")
    assert len(long.exception or "") <= 200
    assert len(long.message) <= 8000


# --- limits -----------------------------------------------------------------------------------------------------


@each_backend
async def test_wall_time_ends_a_check_that_sleeps(box: Sandbox) -> None:
    result = await run(box, "import time; time.sleep(600)", limits=SandboxLimits(seconds=0.5))
    assert result.ending is Ending.TIMEOUT
    assert result.message == "still running after 0.5 seconds"


@each_backend
async def test_cpu_time_ends_a_check_that_computes(box: Sandbox) -> None:
    result = await run(box, "while True: pass", limits=SandboxLimits(seconds=600, cpu_seconds=1))
    assert result.ending is Ending.TIMEOUT
    assert "CPU" in result.message


LIMITED = {
    "memory in many processes": "import os, time\nfor _ in range(8):\n    if not os.fork():\n"
    "        x = b'x' * 30_000_000\n        time.sleep(600)\ntime.sleep(600)",
    "shared memory": "import mmap, time\nm = mmap.mmap(-1, 300_000_000)\nfor i in range(0, 300_000_000, 4096):\n"
    "    m[i] = 1\ntime.sleep(600)",
    "one large file": "open('a', 'wb').write(b'x' * 20_000_000)",
    "many files": "import time\nfor i in range(12): open(str(i), 'wb').write(b'x' * 8_000_000)\ntime.sleep(600)",
    "open files": "x = [open('/dev/null') for _ in range(1000)]",
    "processes": "import os, time\nfor _ in range(40):\n    if not os.fork(): time.sleep(600)\ntime.sleep(600)",
    "threads": "import threading, time\nfor _ in range(300): threading.Thread(target=time.sleep, args=(600,)).start()\n"
    "time.sleep(600)",
}


@each_backend
@pytest.mark.parametrize("name", LIMITED)
async def test_a_broken_limit_is_its_own_ending(box: Sandbox, name: str) -> None:
    result = await run(box, LIMITED[name])
    assert result.ending is Ending.LIMIT, result


@each_backend
async def test_processes_beyond_the_limit_cannot_start_or_are_noticed(box: Sandbox, kind: str) -> None:
    result = await run(box, LIMITED["processes"])
    assert result.message.startswith("processes")
    assert result.exception == ("BlockingIOError" if TRAITS[kind].walls_processes else None)


@one_backend
async def test_output_keeps_head_and_tail(box: Sandbox) -> None:
    code = "import sys\nprint('first')\nfor i in range(100000): print(i)\nsys.stderr.write('last')"
    result = await run(box, code)
    assert result.ending is Ending.PASSED
    assert result.output.startswith("first\n0\n")
    assert result.output.endswith("99999\nlast")
    assert "left out" in result.output
    assert len(result.output) < QUICK.output_kb * 1024 + 100


@one_backend
async def test_what_was_printed_before_a_time_out_is_kept(box: Sandbox) -> None:
    result = await run(box, "import time; print('here'); time.sleep(600)", limits=SandboxLimits(seconds=3))
    assert result.output == "here\n"


@one_backend
async def test_output_of_any_bytes_is_text(box: Sandbox) -> None:
    result = await run(box, "import os; os.write(1, b'\\xff\\x00\\xe2'); print('\\ud800')")
    assert result.ending is Ending.PASSED
    assert result.output.startswith("\ufffd")


# --- what a check sees ------------------------------------------------------------------------------------------

VIEW = RunView(
    chat_history=[("system", "be fair"), ("human", "begin"), ("ai", "what is 6 * 7?"), ("human", "42 \u2713")],
    rounds=[{"number": 1, "examiner": "what is 6 * 7?", "agent": "42"}],
)


@one_backend
async def test_a_check_sees_the_conversation_as_taskweaver_defines_it(box: Sandbox) -> None:
    code = (
        "assert isinstance(chat_history[0], SystemMessage)\nassert isinstance(chat_history[2], AIMessage)\n"
        "assert isinstance(chat_history[-1], HumanMessage)\nassert chat_history[-1].content == '42 \u2713'\n"
        "assert rounds[0]['agent'] == '42'\nassert json.dumps([1]) == '[1]'\n"
        "from langchain.schema.messages import HumanMessage as A\n"
        "from langchain_core.messages import HumanMessage as B\n"
        "from langchain.schema import HumanMessage as C\nassert A is B is C is HumanMessage\n"
        "assert chat_history[-1].type == 'human'"
    )
    async with session_with(box, None, VIEW) as session:
        result = await session.check(code)
        assert result.ending is Ending.PASSED, result
        await session.check("chat_history.clear(); rounds.clear()")
        assert (await session.check("assert len(chat_history) == 4 and len(rounds) == 1")).ending is Ending.PASSED


TASKWEAVERS = """\
from langchain.load import load
import json
from langchain.schema.messages import AIMessage, HumanMessage, SystemMessage
with open('eval_chat_history.json', 'r') as f:
  chat_history = load(json.load(f))
chat_history = chat_history[:-1]
"""
"""What TaskWeaver puts in front of each check (auto_eval/evaluator.py), and some of its checks repeat."""


@one_backend
@pytest.mark.parametrize("left", ["nothing", "file", "folder", "link"])
async def test_checks_that_read_the_conversation_as_those_of_taskweaver_do_work(
    box: Sandbox, tmp_path: Path, left: str
) -> None:
    """What the agent leaves under the name of the file does not change what the check reads."""
    place = tmp_path / "eval_chat_history.json"
    if left == "file":
        place.write_text("[]")
    elif left == "folder":
        (place / "deep").mkdir(parents=True)
    elif left == "link":
        (tmp_path / "other").write_text("[]")
        place.symlink_to("other")
    code = (
        "before = chat_history\n" + TASKWEAVERS + "assert chat_history == before and len(chat_history) == 4\n"
        "assert isinstance(chat_history[-1], HumanMessage) and chat_history[-1].content == '42 \u2713'\n"
        "said = chat_history[-1].dict()\nassert (said['type'], said['content']) == ('human', '42 \u2713'), said\n"
        "assert json.loads(chat_history[-1].json())['content'] == '42 \u2713'\n"
        "from langchain.load import dumps, loads\nassert loads(dumps(chat_history)) == before\n"
    )
    async with session_with(box, tmp_path, VIEW) as session:
        result = await session.check(code)
        assert result.ending is Ending.PASSED, result
        given = "with open('eval_chat_history.json') as f:\n    assert load(json.load(f))[:-1] == chat_history"
        assert (await session.check(given)).ending is Ending.PASSED
        unnamed = await session.check("import glob\nassert not glob.glob('eval_chat*'), 'there'")
        assert unnamed.ending is (Ending.PASSED if left == "nothing" else Ending.FAILED)


@each_backend
async def test_the_working_directory_is_a_copy_of_the_workspace(box: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "\u00e9\udcff.txt").write_bytes(b"\x00\xff")
    (tmp_path / "empty").mkdir()
    (tmp_path / "run.sh").write_text("#!/bin/sh\necho ran")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("deep/er")
    os.utime(tmp_path / "run.sh", (1e9, 1e9))
    code = (
        "import os, subprocess\nassert sorted(os.listdir()) == ['deep', 'empty', 'link', 'run.sh'], os.listdir()\n"
        "assert os.listdir('link') == ['\u00e9\\udcff.txt']\n"
        "assert open('link/\u00e9\\udcff.txt', 'rb').read() == b'\\x00\\xff'\n"
        "assert os.path.getmtime('run.sh') == 1e9\nassert subprocess.check_output('./run.sh') == b'ran\\n'\n"
        "open('run.sh', 'w').write('changed')"
    )
    async with session_with(box, tmp_path) as session:
        result = await session.check(code)
        assert result.ending is Ending.PASSED, result
        assert (tmp_path / "run.sh").read_text() == "#!/bin/sh\necho ran"


@each_backend
async def test_the_library_comes_before_the_workspace(box: Sandbox) -> None:
    files = dict.fromkeys(("json.py", "sitecustomize.py", "wave.py", "usercustomize.py"), "raise SystemExit")
    result = await run(box, "import json, wave; json.dumps(1)", files)
    assert result.ending is Ending.PASSED
    assert result.imported == ()


@one_backend
async def test_code_of_the_workspace_that_ran_is_named(box: Sandbox) -> None:
    files = {"agent.py": "x = 1", "pack/__init__.py": "from . import inner", "pack/inner.py": "", "run.py": "y = 1"}
    code = "import agent, pack, runpy\nrunpy.run_path('run.py')"
    assert (await run(box, code, files)).imported == ("agent.py", "pack/__init__.py", "pack/inner.py", "run.py")


@each_backend
async def test_the_environment_is_clean(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_TEST_SECRET", "hunter2")
    result = await run(box, "import os, sys\nprint(dict(os.environ))\nassert sys.stdin.read() == ''")
    assert result.ending is Ending.PASSED
    assert "hunter2" not in result.output
    assert "VIVA" not in result.output


@each_backend
async def test_the_harness_cannot_be_looked_into(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment is where the keys are. As root, too, and also by a program that the check starts."""
    if not box.isolates and landlock() < 2:
        pytest.skip("this kernel has no Landlock, and the backend says so")
    monkeypatch.setenv("VIVA_TEST_SECRET", "hunter2")
    look = (
        "import os\nread = 0\nfor pid in os.listdir('/proc'):\n    if not pid.isdigit(): continue\n"
        "    for name in ('environ', 'mem', 'maps'):\n        try:\n"
        "            with open(f'/proc/{pid}/{name}', 'rb') as file: assert b'hunter2' not in file.read(9999)\n"
        "            read += name == 'environ'\n        except OSError: pass\n"
    )
    code = f"import subprocess\nsubprocess.run(['python3', '-c', {look!r} + 'assert read == 1'], check=True)\n{look}"
    async with session_with(box) as session:
        server = "" if session._connection.hello["pid"] == 1 else f"os.kill({os.getpid()}, 0)\n"
        result = await session.check(code, QUICK)
        assert result.ending is Ending.PASSED, result
        if server and landlock() >= 6:
            assert (await session.check("import os\n" + server)).exception == "PermissionError"


def landlock() -> int:
    """The version of the kernel's Landlock; below 1 for none."""
    return int(ctypes.CDLL(None).syscall(444, None, 0, 1))


NATIVE = """
import glob, os, shutil, sys, sysconfig
found = [path for name in ('_queue', '_heapq', '_bisect', '_opcode', '_csv', '_json', 'resource', '_crypt', '_lsprof')
         for path in glob.glob(os.path.join(sysconfig.get_config_var('DESTSHARED'), name + '.*'))]
if not found: raise LookupError
shutil.copy(found[0], '.')
name = os.path.basename(found[0]).split('.')[0]
sys.modules.pop(name, None)
sys.path.insert(0, os.getcwd())
__import__(name)
"""


@each_backend
async def test_native_code_of_the_workspace_that_ran_is_named(box: Sandbox) -> None:
    result = await run(box, NATIVE)
    if result.exception == "LookupError":
        pytest.skip("this Python has no native module in a file of its own")
    assert result.ending is Ending.PASSED, result
    assert [name.rpartition(".")[2] for name in result.imported] == ["so"]


@each_backend
async def test_ordinary_programs_work(box: Sandbox) -> None:
    code = (
        "import subprocess, threading, multiprocessing, tempfile, asyncio, sqlite3, concurrent.futures as c\n"
        "assert subprocess.run(['python3', '-c', 'print(6 * 7)'], capture_output=True).stdout == b'42\\n'\n"
        "with c.ThreadPoolExecutor(4) as pool: assert list(pool.map(abs, [-1, -2])) == [1, 2]\n"
        "with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]\n"
        "async def f(): return 1\nassert asyncio.run(f()) == 1\n"
        "with tempfile.NamedTemporaryFile() as file: file.write(b'x')\n"
        "sqlite3.connect('a.db').execute('create table t (x)')\n"
        "import os\nos.makedirs('x/y')\nos.rename('a.db', 'x/y/b.db')\nos.link('x/y/b.db', 'x/c.db')\n"
        "os.system('cat </proc/self/status >x/status')\nassert os.path.getsize('x/status')"
    )
    result = await run(box, code)
    assert result.ending is Ending.PASSED, result


# --- one check does not reach the next --------------------------------------------------------------------------

MISCHIEF = {
    "writes": ("open('new', 'w'); open('a', 'w').write('x')", "assert open('a').read() == 'ok'; open('b', 'x')"),
    "removes": ("import shutil, os; shutil.rmtree(os.getcwd())", "assert open('a').read() == 'ok'"),
    "removes the session's folder": ("import shutil, os; shutil.rmtree(os.path.dirname(os.getcwd()))", "open('a')"),
    "replaces the session's folder": (
        "import shutil, os; here = os.path.dirname(os.getcwd()); shutil.rmtree(here); os.symlink('/nowhere', here)",
        "open('a')",
    ),
    "chdir": ("import os; os.chdir('/')", "assert open('a').read() == 'ok'"),
    "patches": ("import json, os, builtins; json.dumps = os.fork = builtins.len = None", "json.dumps(len([1]))"),
    "temporary files": ("import tempfile; open('/tmp/viva-mark', 'w')", "import os; os.path.exists('/tmp/x')"),
    "modes": ("import os; os.mkdir('d'); open('d/f', 'w'); os.chmod('d', 0); os.chmod('.', 0)", "open('a')"),
    "deep folders": (
        "import os\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')",
        "import os; assert sorted(os.listdir()) == ['a']",
    ),
    "names like the server's": ("import os; os.makedirs('../.wiped/.wiped1/.wiped'); os.mkdir('.wiped')", "open('a')"),
}


@each_backend
@pytest.mark.parametrize("name", MISCHIEF)
async def test_one_check_does_not_reach_the_next(box: Sandbox, name: str) -> None:
    first, second = MISCHIEF[name]
    async with session_with(box, {"a": "ok"}) as session:
        await session.check(first)
        result = await session.check("assert open('a').read() == 'ok'\n" + second)
        assert result.ending is Ending.PASSED, result


@each_backend
async def test_a_process_left_behind_is_ended_with_its_check(box: Sandbox) -> None:
    leave = (
        "import os, time\nif not os.fork():\n    os.setsid()\n    if not os.fork():\n"
        "        while True: time.sleep(0.01)\n    os._exit(0)\n"
        "time.sleep(0.1)"
    )
    async with session_with(box) as session:
        assert (await session.check(leave)).ending is Ending.PASSED
        look = (
            "import os, time\ntime.sleep(0.1)\nme = os.getpid()\n"
            "def parent(p):\n    try: return open(f'/proc/{p}/stat').read().rpartition(')')[2].split()[1]\n"
            "    except OSError: return None\n"  # it ended meanwhile: this machine's others come and go
            "every = [p for p in os.listdir('/proc') if p.isdigit() and int(p) != me]\n"
            "kin = [p for p in every if p != '1' and parent(p) == str(os.getppid())]\n"  # in a world, 1 only waits
            "assert not kin, kin"
        )
        result = await session.check(look)
        assert result.ending is Ending.PASSED, result


@each_backend
async def test_checks_asked_at_once_all_get_their_own_answer(box: Sandbox) -> None:
    async with session_with(box, {"a": "ok"}) as session:
        results = await asyncio.gather(*(session.check(f"print({n}); open('x', 'x')") for n in range(20)))
    assert [result.output for result in results] == [f"{n}\n" for n in range(20)]


@each_backend
async def test_sessions_at_once_do_not_meet(box: Sandbox) -> None:
    async def one(number: int) -> None:
        async with session_with(box, {"a": str(number)}) as session:
            for _ in range(5):
                code = (
                    f"import time; time.sleep(0.01); assert open('a').read() == '{number}'; open('a', 'w').write('no')"
                )
                assert (await session.check(code)).ending is Ending.PASSED

    await asyncio.gather(*(one(number) for number in range(8)))


# --- what goes in -----------------------------------------------------------------------------------------------


@each_backend
async def test_nothing_outside_the_workspace_goes_in(box: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "s").write_text("hunter2")
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "kept").write_text("ok")
    (work / "absolute").symlink_to(secret)
    (work / "upwards").symlink_to("../secret")
    (work / "sub" / "upwards").symlink_to("../../secrets")
    (work / "sub" / "inside").symlink_to("../kept")
    (work / "sub" / "roundabout").symlink_to("../../work/kept")
    os.mkfifo(work / "fifo")
    with contextlib.suppress(PermissionError):
        os.mknod(work / "device", 0o600 | 0o020000, os.makedev(1, 3))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(work / "socket"))
        async with session_with(box, work) as session:
            code = (
                "import os\nassert sorted(os.listdir()) == ['kept', 'sub'], os.listdir()\n"
                "assert os.listdir('sub') == ['inside'], os.listdir('sub')\nassert open('sub/inside').read() == 'ok'"
            )
            result = await session.check(code)
            assert result.ending is Ending.PASSED, result


@each_backend
async def test_files_of_the_host_are_out_of_sight(box: Sandbox, kind: str, tmp_path: Path) -> None:
    (tmp_path / "host").write_text("hunter2")
    result = await run(box, f"assert open({str(tmp_path / 'host')!r}).read() == 'hunter2'")
    assert result.ending is (Ending.PASSED if TRAITS[kind].sees_host_files else Ending.FAILED)


@each_backend
@pytest.mark.parametrize("how", ["link", "file", "gone", "locked"])
async def test_a_workspace_that_is_none_is_empty_and_flagged(box: Sandbox, tmp_path: Path, how: str) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("hunter2")
    work = tmp_path / "work"
    if how == "link":
        work.symlink_to(tmp_path / "secrets")
    elif how == "file":
        work.write_text("hunter2")
    elif how == "locked":
        if os.geteuid() == 0:
            pytest.skip("root reads every folder")
        work.mkdir(mode=0)
    async with session_with(box, work) as session:
        for _ in range(2):
            result = await session.check("import os\nassert os.listdir() == []", QUICK)
            assert result.ending is Ending.PASSED, result
            assert "workspace" in result.workspace_fault


@one_backend
async def test_a_huge_workspace_is_refused(box: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 2_000_000_000)
    with pytest.raises(WorkspaceTooLarge):
        await box.open(tmp_path, RunView())


@one_backend
async def test_a_workspace_of_too_many_files_is_refused(box: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(20_001):
        os.mknod(tmp_path / "many" / str(number))
    with pytest.raises(WorkspaceTooLarge):
        await box.open(tmp_path, RunView())


@each_backend
async def test_a_workspace_of_many_megabytes_goes_in(box: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(os.urandom(30_000_000))
    async with session_with(box, tmp_path) as session:
        for _ in range(2):
            result = await session.check("import os; assert os.path.getsize('large') == 30_000_000")
            assert result.ending is Ending.PASSED, result


# --- ends -------------------------------------------------------------------------------------------------------


async def kill(session: SandboxSession) -> None:
    """End a session's server from outside, as a crash would."""
    pipe: Any = session._connection.pipe  # type: ignore[attr-defined]
    if hasattr(pipe, "_process"):
        pipe._process.kill()
    else:
        await pipe._daemon.run(lambda api: api.kill(pipe._container))


@each_backend
async def test_a_session_that_dies_under_a_check_is_lost_and_can_be_replaced(box: Sandbox) -> None:
    async with session_with(box) as session:
        check = asyncio.ensure_future(session.check("import time; time.sleep(30)"))
        await asyncio.sleep(0.2)
        await kill(session)
        with pytest.raises(SandboxLost):
            await check
        with pytest.raises(SandboxLost):
            await session.check("")
    assert (await run(box, "assert True")).ending is Ending.PASSED


@each_backend
async def test_a_cancelled_check_ends_its_session(box: Sandbox) -> None:
    async with session_with(box) as session:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await session.check("import time; time.sleep(30)")
        with pytest.raises(SandboxLost):
            await session.check("")


@each_backend
async def test_closing_is_quiet_and_final(box: Sandbox) -> None:
    session = await box.open(None, RunView())
    await session.close()
    await session.close()
    with pytest.raises(SandboxLost):
        await session.check("")


@each_backend
@pytest.mark.parametrize("how", ["closed", "killed"])
async def test_a_session_leaves_no_file_on_this_machine(box: Sandbox, kind: str, how: str) -> None:
    async with session_with(box, {"a": "ok"}) as session:
        result = await session.check("import os; print(os.path.dirname(os.getcwd()))")
        folder = Path(result.output.strip())
        assert folder.exists() is TRAITS[kind].sees_host_files, "or a folder of the host is in use unseen"
        if how == "killed":
            await kill(session)

    async def it_is_gone() -> bool:
        return not folder.exists()

    await eventually(it_is_gone)


# --- what a check may do to the server ---------------------------------------------------------------------------

ON_OTHERS = {
    "limits": "import resource; resource.prlimit(server, resource.RLIMIT_CPU, (0, 0))",
    "priority": "os.setpriority(os.PRIO_PROCESS, server, 19)",
    "priority of the user": "os.setpriority(os.PRIO_USER, 0, 19)",
    "affinity": "os.sched_setaffinity(server, [0])",
    "scheduling": "os.sched_setscheduler(server, os.SCHED_IDLE, os.sched_param(0))",
    "signal": "os.kill(server, 9)",
    "first to die": "open('/proc/%d/oom_score_adj' % server, 'w').write('900')",
    "pid_max": "open('/proc/sys/kernel/pid_max', 'r+').write('400')",
    "message queues": "open('/proc/sys/fs/mqueue/msg_max', 'w').write('11')",
    "control group": "open('/sys/fs/cgroup/memory/cgroup.procs', 'w').write(str(server))",
}


@each_backend
@pytest.mark.parametrize("name", ON_OTHERS)
async def test_neither_a_check_nor_a_program_that_it_starts_reaches_the_server(box: Sandbox, name: str) -> None:
    attempt = (
        # In a world nobody sees the server, but process 1 shares its memory.
        "import os, sys\nserver = int(sys.argv[1]) if sys.argv[1:] else os.getppid() or 1\n"
        f"try: {ON_OTHERS[name]}\nexcept OSError as error: print(error)\nelse: raise SystemExit('SUCCEEDED')\n"
    )
    started = "import os, subprocess, sys\nsubprocess.run(['python3', 'agent.py', str(os.getppid() or 1)], check=True)"
    for code in (attempt, started):
        result = await run(box, code, {"agent.py": attempt})
        assert result.ending is Ending.PASSED, result


@on(("docker",))  # elsewhere it is what remains, and the docs say so
async def test_the_buffers_of_tcp_are_small_where_nobody_counts_them(box: Sandbox) -> None:
    code = (
        "for name in ('rmem', 'wmem'): assert int(open('/proc/sys/net/ipv4/tcp_' + name).read().split()[2]) == 131072"
    )
    result = await run(box, code)
    assert result.ending is Ending.PASSED, result
