"""An agent's code and start-up files inside a check, on every backend: told, and without power over the outcome."""

from __future__ import annotations

import pytest

from tests.sandbox.conftest import KINDS
from tests.sandbox.test_conformance import QUICK, run, session_with
from viva.sandbox import Ending, Sandbox

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("kind", KINDS, indirect=True, scope="session"),
]

# --- an agent's code that ends the check in its own way ---------------------------------------------------------

CHECK_OF_ANSWER = "import answer\nassert answer.value() == 42\nassert len([1]) == 1\n"
FORGED_TRACEBACK = """
import sys, types
def value():
    frame = sys._getframe(1)
    raise {exception}.with_traceback(types.TracebackType(None, frame, frame.f_lasti, 1))
"""
THROUGH_THE_FRAMES = """
import os, sys
frame = sys._getframe()
while frame:
    report = frame.f_locals.get("report")
    if report is not None:
        {act}
        os._exit(0)
    frame = frame.f_back
"""
LEAVING = {
    "when it is imported": "raise SystemExit(0)",
    "in a function": "def value(): raise SystemExit",
    "in a subclass": "class Done(SystemExit): pass\ndef value(): raise Done(0)",
    "by another base exception": "class Done(BaseException): pass\ndef value(): raise Done",
    "by an interrupt": "def value(): raise KeyboardInterrupt",
    "by a signal": "import os, signal\ndef value(): os.kill(os.getpid(), signal.SIGINT)",
    "in a callback of the library's": "def value(): return sorted([1, 2], key=exit)",
    "in a comparison": "class Value:\n    def __eq__(self, other): raise SystemExit\ndef value(): return Value()",
    "in a builtin": "import builtins\ndef left(*a): raise SystemExit\nbuiltins.len = left\ndef value(): return 42",
    "in a builtin that is the library's by its name": (
        "import builtins\nexec(compile('def left(*a): raise SystemExit', '<frozen importlib._bootstrap>', 'exec'))\n"
        "builtins.len = left\ndef value(): return 42"
    ),
    "with a builtin that is gone": "import builtins\ndel builtins.len\ndef value(): return 42",
    "with a traceback of the check's": FORGED_TRACEBACK.format(exception="SystemExit(0)"),
    "with a name that is missing in the check": FORGED_TRACEBACK.format(exception="NameError('x')"),
    "with a module that is missing in the check": FORGED_TRACEBACK.format(
        exception="ModuleNotFoundError(name='pandas')"
    ),
    "by saying that it is another class": ("class Odd(Exception):\n    __class__ = SystemExit\ndef value(): raise Odd"),
    "by reporting that the check is broken": THROUGH_THE_FRAMES.format(
        act='report.send(b\'E\', b\'{"ending": "broken", "exception": "SystemExit"}\')'
    ),
    "by an ending that there is not": THROUGH_THE_FRAMES.format(
        act="report.send(b'E', b'{\"ending\": \"excellent\"}')"
    ),
    "by a report that is too deep": THROUGH_THE_FRAMES.format(act="report.send(b'E', b'[' * 200000)"),
    "by a flood of flags": THROUGH_THE_FRAMES.format(act="[report.send(b'F', b'\"x\"') for _ in range(5000)]"),
    "by os._exit": "import os\ndef value(): os._exit(0)",
    "by a thread": "import os, threading\ndef value(): threading.Thread(target=os._exit, args=(0,)).start(); return 41",
}


@pytest.mark.parametrize("how", LEAVING)
async def test_code_of_the_agents_cannot_pretend_that_the_check_is_broken(box: Sandbox, how: str) -> None:
    result = await run(box, CHECK_OF_ANSWER, {"answer.py": LEAVING[how]})
    assert result.ending in (Ending.FAILED, Ending.LIMIT), result
    assert result.imported, "and it is flagged"


@pytest.mark.parametrize(
    "reader",
    ["import timeit\ntimeit.timeit(text, number=1)", "import code\ncode.InteractiveInterpreter().runsource(text)"],
)
async def test_text_that_a_library_evaluates_cannot_leave_the_check_either(box: Sandbox, reader: str) -> None:
    result = await run(box, "text = open('answer').read()\n" + reader, {"answer": "import sys; sys.exit(0)"})
    assert result.ending is Ending.FAILED, result
    assert result.imported, "and it is flagged"


# --- how code and text of the agent's are loaded -----------------------------------------------------------------

# As an agent would leave it: byte code that says of itself that it is the library's.
BYTE_CODE = """
import importlib.util, marshal, os, zipfile
code = compile("x = 1", "<frozen importlib._bootstrap>", "exec")
data = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
os.mkdir("sub")
for name in ("answer.bin", "answer.pyc", "sub/answer.pyc"): open(name, "wb").write(data)
open("answer.marshal", "wb").write(marshal.dumps(code))
with zipfile.ZipFile("answer.zip", "w") as archive: archive.writestr("answer.pyc", data)
"""
MAKE_BYTE_CODE = (
    f"import marshal, os, pathlib, subprocess, sys\nsubprocess.run([sys.executable, '-c', {BYTE_CODE!r}])\n"
)
LIBRARY_COPY = """
import ctypes, glob, os, pathlib, shutil, tempfile
found = glob.glob("/lib/*/libm.so.6") + glob.glob("/usr/lib/*/libm.so.6") + glob.glob("/lib*/libm.so.6")
if not found: raise LookupError
shutil.copy(found[0], "answer.so")
"""
LOADED = {
    "sourceless loader": "from importlib.machinery import *\nm = SourcelessFileLoader('m', 'answer.bin').load_module()",
    "spec of a file": (
        "import importlib.util as u\nfrom importlib.machinery import *\n"
        "s = u.spec_from_file_location('m', 'answer.bin', loader=SourcelessFileLoader('m', 'answer.bin'))\n"
        "m = u.module_from_spec(s); s.loader.exec_module(m)"
    ),
    "code of a loader": (
        "from importlib.machinery import *\nexec(SourcelessFileLoader('m', 'answer.bin').get_code('m'))"
    ),
    "from another folder": ("os.chdir('sub'); sys.path.insert(0, '.'); import answer"),
    "zipimport": "import zipimport\nm = zipimport.zipimporter('answer.zip').load_module('answer')",
    "code of a zip": "import zipimport\nexec(zipimport.zipimporter('answer.zip').get_code('answer'))",
    "runpy": "import runpy; runpy.run_path('answer.pyc')",
    "marshal.loads": "exec(marshal.loads(open('answer.marshal', 'rb').read()))",
    "marshal.load": "f = lambda: 0\nf.__code__ = marshal.load(open('answer.marshal', 'rb'))\nf()",
    "code object": "f = lambda: 0\nf.__code__ = f.__code__.replace(co_code=bytes(f.__code__.co_code))\nf()",
    "start-up file": "open('x.pth', 'w').write('import sys; sys.x = 1\\n')\nimport site; site.addsitedir('.')",
    "timed text": "import timeit; timeit.timeit('pass', number=1)",
    "profiled text": "import cProfile; cProfile.Profile().run('x = 1')",
    "text of a prompt": "import code; code.InteractiveInterpreter().runsource('x = 1')",
    "tests in text": (
        "import doctest; open('a', 'w').write('>>> 1\\n1\\n')\ndoctest.testfile('a', module_relative=False)"
    ),
    "a configuration of logging": (
        "open('a', 'w').write('[loggers]\\nkeys=root\\n[handlers]\\nkeys=h\\n[formatters]\\nkeys=\\n[logger_root]\\n'\n"
        "    'handlers=h\\n[handler_h]\\nclass=NullHandler\\nargs=(print(1),)[:0]\\n')\n"
        "import logging.config; logging.config.fileConfig('a')"
    ),
    "another interpreter": (
        "try: import _interpreters as i\nexcept ImportError: import _xxsubinterpreters as i\n"
        "i.run_string(i.create(), 'x = 1')"
    ),
    "Python's own C functions": "import ctypes; ctypes.pythonapi.PyRun_SimpleString(b'x = 1')",
    "pickle in Python": "import pickle, io\npickle._Unpickler(io.BytesIO(b'cbuiltins\\nlen\\n.')).load()",
    "an object's state": "import pickle\npickle.loads(pickle.dumps(pathlib.Path('x')))",
}
NATIVE_LOADED = {
    "a name": "ctypes.CDLL('./answer.so')",
    "bytes": "ctypes.CDLL(os.fsencode(os.path.abspath('answer.so')))",
    "by way of /usr": "ctypes.CDLL('/usr/..' + os.path.abspath('answer.so'))",
    "another folder": (
        "os.mkdir('deep'); shutil.move('answer.so', 'deep'); os.chdir('deep')\nctypes.CDLL('./answer.so')"
    ),
    "a copy elsewhere": "ctypes.CDLL(shutil.copy('answer.so', tempfile.mkdtemp()))",
    "a link": "os.symlink('answer.so', 'link.so'); ctypes.CDLL('./link.so')",
    "cdll": "ctypes.cdll.LoadLibrary(os.path.abspath('answer.so'))",
    "dlopen by its C function": "ctypes.CDLL(None).dlopen(os.fsencode(os.path.abspath('answer.so')), 2)",
    "dlopen": "import _ctypes; _ctypes.dlopen(os.path.abspath('answer.so'), 2)",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", LOADED)
async def test_byte_code_and_text_of_the_workspace_are_flagged_however_they_are_loaded(box: Sandbox, how: str) -> None:
    result = await run(box, MAKE_BYTE_CODE + LOADED[how])
    assert result.ending is Ending.PASSED, result
    assert result.imported, "it ran, and nobody says so"


@pytest.mark.parametrize("how", NATIVE_LOADED)
async def test_native_code_is_flagged_however_it_is_loaded(box: Sandbox, how: str) -> None:
    result = await run(box, LIBRARY_COPY + NATIVE_LOADED[how])
    if result.exception == "LookupError":
        pytest.skip("no library to copy")
    assert result.ending is Ending.PASSED, result
    assert result.imported, "it was loaded, and nobody says so"


async def test_what_the_system_has_is_not_flagged(box: Sandbox) -> None:
    code = (
        "import ctypes, ctypes.util, collections, dataclasses, decimal, sqlite3, unittest, wave\n"
        "import xml.dom.minidom, zipfile\n"
        "ctypes.CDLL(None); ctypes.CDLL('libc.so.6'); ctypes.CDLL(ctypes.util.find_library('m') or None)\n"
        "collections.namedtuple('A', 'b'); dataclasses.make_dataclass('A', ['b'])\n"
        "import multiprocessing.pool, asyncio, logging.config, email.mime.text, http.server, pickle, re, enum\n"
        "assert pickle.loads(pickle.dumps([1, 'a', {2: 3.0}])) == [1, 'a', {2: 3.0}]\n"
    )
    result = await run(box, code)
    assert (result.ending, result.imported) == (Ending.PASSED, ()), result


START_UP = {
    **dict.fromkeys(
        ("json.py", "this.py", "sitecustomize.py", "usercustomize.py", "encodings/__init__.py", "runpy.py"),
        "print('SUCCEEDED'); raise SystemExit",
    ),
    "x.pth": "import os; print('SUCCEEDED')",
    **{
        f"{folder}/lib/python3.{minor}/site-packages/{name}": "import os; print('SUCCEEDED')"
        for folder in (".local", ".venv")
        for minor in range(9, 16)
        for name in ("x.pth", "usercustomize.py", "sitecustomize.py")
    },
    ".pythonrc.py": "print('SUCCEEDED')",
    ".pydistutils.cfg": "[x",
    ".profile": "echo SUCCEEDED",
    ".bashrc": "echo SUCCEEDED",
    ".gitconfig": "[alias]\nversion = !echo SUCCEEDED",
    "pyvenv.cfg": "home = /nowhere",
}


@pytest.mark.parametrize(
    "command",
    [
        "['python3', '-c', 'import json; print(json.loads(\"42\"))']",
        "['python3', '-m', 'json.tool', 'a']",
        "['python3', 'check_of_its_own.py']",
        "['sh', '-lc', 'cat a']",
        "['bash', '-ic', 'cat a']",
    ],
)
async def test_start_up_files_and_modules_of_the_agents_change_no_program_that_a_check_starts(
    box: Sandbox, command: str
) -> None:
    files = {**START_UP, "a": "42", "check_of_its_own.py": "import json; print(json.loads('42'))"}
    code = f"import subprocess\ndone = subprocess.run({command}, capture_output=True, text=True)\nprint(done)\n"
    result = await run(box, code + "assert done.stdout.strip() == '42'", files)
    assert result.ending is Ending.PASSED, result


async def test_a_check_runs_an_agents_program_with_its_own_modules_where_it_says_so(box: Sandbox) -> None:
    files = {"main.py": "import part; print(part.x)", "part.py": "x = 42"}
    code = (
        "import os, subprocess\nenvironment = {**os.environ, 'PYTHONSAFEPATH': ''}\n"
        "done = subprocess.run(['python3', 'main.py'], env=environment, capture_output=True, text=True)\n"
        "assert done.stdout == '42\\n', done"
    )
    result = await run(box, code, files)
    assert (result.ending, result.imported) == (Ending.PASSED, ())


async def test_home_and_temporary_files_lie_outside_the_copy_and_are_empty_for_each_check(box: Sandbox) -> None:
    code = (
        "import os, tempfile\nfor folder in (os.path.expanduser('~'), tempfile.gettempdir()):\n"
        "    assert os.listdir(folder) == [], folder\n"
        "    assert not os.path.realpath(folder).startswith(os.getcwd()) and not os.getcwd().startswith(folder)\n"
        "    open(folder + '/planted', 'w').close()\n"
        "assert os.listdir() == []"
    )
    async with session_with(box) as session:
        for _ in range(2):
            result = await session.check(code, QUICK)
            assert result.ending is Ending.PASSED, result
