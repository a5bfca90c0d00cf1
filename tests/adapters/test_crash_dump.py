"""A crash is told by its signal and its place in the agent's code, without a stack of Viva's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from viva.adapters.crash_dump import OWN, Crash, read_dump

AGENT = """
import faulthandler, ctypes, os, sys, threading
faulthandler.enable(all_threads={all_threads})
threading.Thread(target=threading.Event().wait, daemon=True).start()
def reply():
    print('before the end', file=sys.stderr, flush=True)
    {how}
reply()
"""


@pytest.mark.parametrize("all_threads", [True, False])
@pytest.mark.parametrize(
    ("how", "what"), [("ctypes.string_at(0)", "Segmentation fault"), ("os.abort()", "Aborted"), ("os.kill(0, 0)", None)]
)
def test_the_dump_of_a_real_crash_is_read(tmp_path: Path, all_threads: bool, how: str, what: str | None) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT.format(all_threads=all_threads, how=how))
    said = subprocess.run([sys.executable, agent], capture_output=True, text=True).stderr
    text, crash = read_dump(said)
    assert text.strip() == "before the end"
    assert crash == (None if what is None else Crash(what, "agent.py:7 in reply"))


def test_lines_of_viva_and_of_libraries_are_not_the_place() -> None:
    frames = [
        "/usr/lib/python3.12/ctypes/__init__.py",
        "/env/lib/python3.12/site-packages/torch/a.py",
        f"{OWN}/adapters/inside/worker.py",
    ]
    dump = "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
    dump += "".join(f'  File "{frame}", line 5 in f\n' for frame in frames)
    assert read_dump(dump)[1] == Crash("Aborted", None)
    assert read_dump(dump + '  File "/home/a/agent.py", line 9 in g\n')[1] == Crash("Aborted", "agent.py:9 in g")


@pytest.mark.parametrize("text", ["", 'Traceback\n  File "x", line 1 in f\n', "Fatal Python error:", "a\n\n b"])
def test_text_without_a_dump_is_left_alone(text: str) -> None:
    assert read_dump(text) == (text, None)
