"""A process forked from a warm one is, to a test, the process that a fresh one would be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.viva.viva_command import VIVA, clean_environment, run_viva, start_viva
from tests.warm.commands import WarmViva, can_be_warm

AGENT = """
import os, sys
from pathlib import Path

class Agent:
    def __init__(self, task_description):
        pass

    def get_reply_from_agent(self, message):
        streams = [(each.encoding, each.errors, each.line_buffering) for each in (sys.stdin, sys.stdout, sys.stderr)]
        files = sorted(os.listdir("/proc/self/fd"))
        facts = [streams, sys.argv[1:3], sys.path[0], sys.flags, sys.modules["__main__"].__file__, len(files)]
        facts += [os.getcwd(), os.environ["GIVEN"], os.getpgid(0) == os.getpid(), os.umask(0)]
        Path(os.environ["TOLD"]).write_text(repr(facts))
        return "Hello."

    def close(self):
        pass
"""

pytestmark = pytest.mark.skipif(not can_be_warm(None, {}), reason="this system has no warm processes")


def test_an_agent_finds_what_it_finds_in_a_fresh_process(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    told, ended = [], []
    for name, start in (("warm", WarmViva), ("fresh", subprocess.Popen)):
        env = {**clean_environment(), "GIVEN": "ä", "TOLD": str(tmp_path / name)}
        line = [
            str(VIVA),
            "run",
            "echo",
            "--agent",
            "agent.py:Agent",
            "--sandbox",
            "process",
            "--out",
            f"{name}-runs",
            "--quiet",
        ]
        with start(line, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            said = process.communicate(timeout=120)
        ended.append((process.returncode, [each.replace(name, "NAME") for each in said]))
        told.append((tmp_path / name).read_text())
    assert told[0] == told[1]
    assert ended[0] == ended[1]


def test_words_and_exit_codes_are_those_of_a_fresh_process(tmp_path: Path) -> None:
    for words in (["--version"], ["--help"], ["rnu"], ["run", "no_such_case"], ["cases"]):
        env = clean_environment()
        fresh = subprocess.run([VIVA, *words], cwd=tmp_path, env=env, capture_output=True, check=False)
        warm = run_viva(*words, cwd=tmp_path, env=env, capture_output=True)
        assert (warm.returncode, warm.stdout, warm.stderr) == (fresh.returncode, fresh.stdout, fresh.stderr)


def test_it_is_our_child_and_a_signal_ends_it(tmp_path: Path) -> None:
    case = tmp_path / "agent.py"
    case.write_text("import time\n\ndef answer(message):\n    print('here', flush=True)\n    time.sleep(600)\n")
    words = ("run", "echo", "--agent", "agent.py:answer", "--sandbox", "process", "--out", "j")
    process = start_viva(
        *words, cwd=tmp_path, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    assert isinstance(process, WarmViva)
    assert process.stdout is not None
    assert any(b"here" in line for line in process.stdout)
    assert os.getsid(process.pid) == process.pid
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_what_the_interpreter_reads_at_its_start_asks_for_a_fresh_process() -> None:
    assert not can_be_warm({**os.environ, "PYTHONHASHSEED": "1"}, {})
    assert not can_be_warm({**os.environ, "LC_ALL": "xx"}, {})
    assert not can_be_warm(None, {"preexec_fn": print})
    assert can_be_warm({**os.environ, "ANYTHING": sys.executable}, {"cwd": "/", "stdout": subprocess.PIPE})


ENDS = {
    "falls off its end": "print('said', end='')",
    "with a code": "sys.exit(7)",
    "with words": "sys.exit('gone wrong')",
    "with an error": "raise ValueError('no')",
    "with an open file": "kept = open('kept', 'w'); kept.write('words'); sys.exit(0)",
    "with a thread": "threading.Timer(0.1, lambda: open('kept', 'w').write('late')).start()",
    "with what is to run then": "atexit.register(lambda: print('at last'))",
    "with nobody to read": "reader, writer = os.pipe(); os.dup2(writer, 1); os.close(reader); print('x')",
}


@pytest.mark.parametrize("program", ENDS.values(), ids=ENDS)
def test_a_program_ends_as_it_ends_in_a_fresh_process(program: str, tmp_path: Path) -> None:
    ended = []
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    line = [sys.executable, "-c", f"import atexit, os, sys, threading\n{program}"]
    for name, start in (("warm", WarmViva), ("fresh", subprocess.Popen)):
        folder = tmp_path / name
        folder.mkdir()
        with start(line, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            out, errors = process.communicate(timeout=60)
        kept = folder / "kept"
        last = errors.strip().rpartition("\n")[2]
        ended.append((process.returncode, out, last, kept.read_text() if kept.exists() else None))
    assert ended[0] == ended[1]
