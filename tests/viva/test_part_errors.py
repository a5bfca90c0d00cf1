"""An exception of a user's part is reported with the file and line of the user's code, wherever the part is used."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import viva
from tests.viva.conftest import Desk
from tests.viva.pytest_plugin.sessions import WITHOUT_OTHERS
from tests.viva.viva_command import run_pytest

CODE = """\
from functools import partial, wraps

def deep():
    raise KeyError('in a function that it calls')  # line 4

def judges(transcript, context):
    deep()

def in_thread_later(transcript, context):
    yield deep()

async def waits(transcript, context):
    deep()

def decorated(function):
    @wraps(function)
    def call(*arguments):
        return function(*arguments)
    return call

@decorated
def wrapped(transcript, context):
    deep()

class Class:
    def evaluate(self, transcript, context):
        deep()

class Sink:
    def write(self, record, transcript):
        deep()
    def close(self):
        deep()

class AsyncSink:
    async def write(self, record, transcript):
        deep()

class RefusesToBegin:
    def write(self, record, transcript): pass
    def begin(self, folder):
        deep()

class Unmakeable:
    def __init__(self):
        deep()
    def write(self, record, transcript): pass
    def evaluate(self, transcript, context): pass

class Connector:
    def load(self, spec, *, isolate, memory_mb):
        deep()

class History:
    def runs(self, task=None, *, limit=None):
        deep()

class Reader:
    def read(self, source):
        deep()

def format(journals, out):
    deep()
"""
EVALUATORS = ("judges", "in_thread_later", "waits", "wrapped", "Class")
LINE = "parts.py:4: KeyError"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A working folder with a case, the parts that fail, and a journal."""
    desk = Desk(tmp_path)
    (desk.folder / "parts.py").write_text(CODE)
    desk.case()
    desk.run("exam", "--agent", "example:careful")
    return desk


@pytest.mark.parametrize("name", EVALUATORS)
def test_an_evaluator_of_a_run_and_of_a_judging(desk: Desk, name: str) -> None:
    evaluator = ("--evaluators", f"parts.py:{name}")
    for command in (("run", "exam", "--sandbox", "process"), ("judge", "journal"), ("suite", "exam", "--trials", "2")):
        done = desk.viva(*command, *evaluator)
        assert LINE in " ".join(done.stderr.split()), done.stderr


@pytest.mark.parametrize("name", ["Sink", "AsyncSink", "RefusesToBegin"])
def test_a_sink(desk: Desk, name: str) -> None:
    for command in (("run", "exam", "--sandbox", "process"), ("judge", "journal", "--sandbox", "process")):
        done = desk.viva(*command, "--sink", f"parts.py:{name}", expect=0)
        told = [line for line in done.stderr.splitlines() if f"parts.py:{name} failed" in line]
        assert told, done.stderr
        assert all(LINE in line for line in told), told


@pytest.mark.parametrize(
    "command",
    [
        ("run", "exam", "--sink", "parts.py:Unmakeable"),
        ("run", "exam", "--evaluators", "parts.py:Unmakeable"),
        ("run", "exam", "--agent", "parts.py:Connector:x"),
        ("history", "parts.py:History"),
        ("report", "journal", "--format", "parts.py:format"),
    ],
)
def test_other_parts(desk: Desk, command: tuple[str, ...]) -> None:
    assert LINE in desk.viva(*command, expect=2).stderr


def test_a_reader(desk: Desk) -> None:
    """The first line of its own is named, which knows what was being read."""
    assert (
        f"parts.py:{CODE[: CODE.index('def format')].count(chr(10)) - 1}: KeyError"
        in desk.viva("trace", "parts.py:Reader:x", expect=2).stderr
    )


def test_parts_that_a_python_program_passes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(desk.folder)

    class Watcher:
        def on_end(self, *_: object) -> None:
            raise ValueError("of a subscriber")

    class Sink:
        def write(self, *_: object) -> None:
            raise ValueError("of a sink")

    def judges(transcript: viva.Transcript, context: viva.Context) -> float:
        raise ValueError("of an evaluator")

    with caplog.at_level(logging.WARNING, logger="viva"):
        run = viva.examine(
            "exam", "example:careful", sandbox="process", evaluators=judges, sinks=Sink(), subscribers=Watcher()
        )
    assert run.record is not None
    for words in (caplog.text, str(run.record.error)):
        assert "test_part_errors.py:" in words
    for part in ("a subscriber", "a sink"):
        (line,) = [line for line in caplog.text.splitlines() if part in line]
        assert "test_part_errors.py:" in line


def test_an_evaluator_of_a_pytest_suite(desk: Desk) -> None:
    command = ["exam", "-q", "-p", "no:cacheprovider", "--viva-sandbox", "process"]
    command += ["--viva-agent", "example:careful", "--viva-evaluators", "parts.py:judges", *WITHOUT_OTHERS]
    done = run_pytest(*command, cwd=desk.folder, capture_output=True, text=True, check=False)
    assert LINE in done.stdout, done.stdout
