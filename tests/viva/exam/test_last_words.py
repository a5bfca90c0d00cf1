"""An agent that ends Viva's process: the next start says so, which run it was, and that --isolate survives it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk
from tests.viva.viva_command import in_a_process
from viva.exam.last_words import FILE, read_last_words

AGENT = """
import ctypes, os, signal
class Agent:
    def __init__(self, task_description): pass
    def get_reply_from_agent(self, message):
        {how}
"""
REMEDY = "With --isolate, each agent has a process of its own, and Viva continues when it ends."


def die(desk: Desk, how: str, *more: str) -> subprocess.CompletedProcess[str]:
    (desk.folder / "agent.py").write_text(AGENT.format(how=how))
    arguments = ("run", "echo", "--agent", "agent.py:Agent", "--sandbox", "process", *more)
    return in_a_process(*arguments, cwd=desk.folder)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("os._exit(3)", "was ended by os._exit(3) at agent.py:6 in get_reply_from_agent"),
        ("os._exit(0)", "was ended by os._exit(0) at agent.py:6"),
        ("ctypes.string_at(0)", "crashed (Segmentation fault at agent.py:6 in get_reply_from_agent)"),
        ("os.kill(os.getpid(), 9)", "ended without a message (it was killed, "),
    ],
)
def test_the_next_start_says_how_the_last_one_ended(desk: Desk, how: str, told: str) -> None:
    assert die(desk, how, "--fail-under", "0.1").returncode == 3
    [journal] = (desk.folder / "runs").iterdir()
    for said in (
        desk.viva("report", journal, expect=0).stdout,
        desk.viva("replay", expect=0).stderr,
        desk.viva("run", "echo", "--sandbox", "process", expect=0).stderr,
    ):
        assert told in said
        assert "while it examined echo-" in said
        assert "(agent.py:Agent)" in said
        assert REMEDY in said
    again = desk.viva("run", "echo", "--sandbox", "process", expect=0)
    assert "os._exit" not in again.stderr, "the newest journal is another one now"


def test_os_exit_is_reported_at_once(desk: Desk) -> None:
    done = die(desk, "os._exit(3)", "--quiet", "--json")
    assert "viva: agent.py:6 in get_reply_from_agent called os._exit(3). It ended Viva as well." in done.stderr
    assert REMEDY in done.stderr


def test_a_run_in_the_same_journal_says_it_and_then_it_is_over(desk: Desk) -> None:
    die(desk, "os._exit(3)", "--out", "journal")
    (desk.folder / "agent.py").write_text(AGENT.format(how="return 'GUTENBERG'"))
    arguments = ("run", "echo", "--agent", "agent.py:Agent", "--sandbox", "process", "--out", "journal")
    assert "was ended by os._exit(3)" in desk.viva(*arguments, expect=0).stderr
    assert not (desk.folder / "journal" / FILE).exists()
    assert "os._exit" not in desk.viva("report", "journal", expect=0).stdout


def test_a_normal_end_and_a_failure_leave_no_file(desk: Desk) -> None:
    for how in ("return 'x'", "raise SystemExit(3)", "os.fork() or os._exit(0); os.wait(); return 'x'"):
        die(desk, how, "--out", "journal")
        assert not (desk.folder / "journal" / FILE).exists()


def test_with_isolate_the_run_says_it_and_viva_goes_on(desk: Desk) -> None:
    done = die(desk, "print('my last line'); ctypes.string_at(0)", "--isolate", "--json")
    [error] = {each["error"] for each in _dicts(json.loads(done.stdout)) if each.get("error")}
    assert "its process was killed by SIGSEGV at agent.py:6 in get_reply_from_agent" in error
    assert "the end of its stdout: my last line" in error
    assert "worker.py" not in error
    assert "stderr" not in error


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _dicts(each)


@pytest.mark.parametrize("text", ["", "\x1b[31m", '{"os._exit": "\\u001b[31m", "at": [1]}', "[" * 100_000, "[]"])
def test_a_file_from_a_stranger_is_shown_harmlessly(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert "\x1b" not in str(read_last_words(tmp_path))
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).symlink_to("/etc/passwd")
    assert read_last_words(tmp_path) is None
