"""One check in its forked process: prepares the process, runs the code, tells the server how it ended."""

from __future__ import annotations

import builtins
import fcntl
import io
import json
import os
import sys
import types
from typing import Any, NamedTuple

from sandbox.inside import faults, hardening, landlock, witness

# What the code under check may replace is taken before it runs.
_compile, _exec, _write, _exit, _getpid = compile, exec, os.write, os._exit, os.getpid
_quote = json.encoder.encode_basestring_ascii  # written in C: there is nothing in it to patch


# For the programs that a check starts. Neither start-up files, nor a module of the folder that it works in, nor the
# settings of a repository there change what they do, unless the check wants it so.
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONSAFEPATH": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.hooksPath",
    "GIT_CONFIG_VALUE_1": "/dev/null",
}


class Scratch(NamedTuple):
    """Folders of a check beside its copy of the workspace, empty when it begins."""

    home: str
    temporary: str


class Report:
    """Reports to the server, in records of: proof, kind (`F` a flag, `E` the ending), four bytes of length, text.

    A flag is sent before the code that it is about has run, so that this code cannot take it back. `proof` is a secret
    of this one check: what comes without it is a forgery. That keeps out whatever writes to file descriptors, but not
    code in this process that walks its frames: no check is safe from code that it runs, which is why it is flagged.
    """

    def __init__(self, descriptor: int, proof: bytes) -> None:
        self.descriptor = descriptor
        self.proof = proof
        self.flagged: set[str] = set()
        self.untraced = False
        """Whether something of the agent's ran whose frames cannot be trusted: a pickle, a native module."""
        self.executed_text = False

    def flag(self, text: str) -> None:
        """Tell the server of something that can make any check pass, once."""
        text = text[:300]
        if text not in self.flagged and len(self.flagged) < 50:
            self.flagged.add(text)
            self.send(b"F", _quote(text).encode())

    def send(self, kind: bytes, data: bytes) -> None:
        """Send one record."""
        data = self.proof + kind + len(data).to_bytes(4, "big") + data
        while data:
            data = data[_write(self.descriptor, data) :]


def run(request: dict[str, Any], stage: dict[str, Any], output: int, result: int, proof: bytes) -> None:
    """Run `request["code"]` in this process, and end the process. Never returns."""
    me = _getpid()
    report = Report(result, proof)
    try:
        hardening.set_dumpable(True)  # for a moment, so that /proc/self is this process's own
        hardening.first_to_die()
        landlock.enter_domain(stage["landlock_ruleset"])
        report.descriptor = _connect_streams(output, result)
        namespace = _prepare_process(request, stage)
        try:
            code = _compile(request["code"], "<check>", "exec", 0, True)
        except BaseException as error:
            outcome = faults.not_compiling(error)
        else:
            outcome = _attempt(code, namespace, stage, report)
        _flush()
    except BaseException as error:
        outcome = {"ending": "limit", "exception": type(error).__name__, "message": "no end: " + faults.words(error)}
    if _getpid() == me:  # else a fork made by the check came here as well: only the check itself has an ending
        report.send(b"E", _as_json(outcome).encode())
    _exit(0)


def _as_json(outcome: dict[str, Any]) -> str:
    """Write JSON without `json.dumps`: the check can patch its Python half to say what the check wants."""
    parts = []
    for name, value in outcome.items():
        text = "null" if value is None else str(value) if isinstance(value, int) else _quote(str(value))
        parts.append(_quote(name) + ": " + text)
    return "{" + ", ".join(parts) + "}"


def _attempt(code: types.CodeType, namespace: dict[str, Any], stage: dict[str, Any], report: Report) -> dict[str, Any]:
    own, home = faults.code_objects(code), stage["home"]
    sys.addaudithook(witness.witness(home + "/", stage["trusted"], {id(one) for one in own}, report))
    try:
        _exec(code, namespace)
    except BaseException as error:
        return faults.ending_of(error, own, home, untraced=report.untraced, executed_text=report.executed_text)
    return {"ending": "passed"}


def _connect_streams(output: int, result: int) -> int:
    """Close every descriptor of the server's; stdin becomes empty, stdout and stderr go to the output pipe."""
    result = fcntl.fcntl(result, fcntl.F_DUPFD_CLOEXEC, 60)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, result)
    os.closerange(result + 1, 256)
    return result


def _prepare_process(request: dict[str, Any], stage: dict[str, Any]) -> dict[str, Any]:
    """Set up what each check needs for itself, and return the namespace for its code.

    The kernel first copies each page that this writes to, so whatever can be shared is done once, by `prepare`.
    """
    os.setsid()
    hardening.default_signals()
    # A program of the agent's that the check starts has its user id: it must not read the proof in this process's
    # memory, write to that memory, or open the pipe to the server, all of which lie below /proc.
    hardening.set_dumpable(False)
    hardening.drop_capabilities()
    os.chdir(stage["home"])
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    namespace = main.__dict__
    namespace["__builtins__"] = builtins
    namespace.update(stage["names"])
    hardening.limit_resources(request["limits"], stage["base"], stage["count_processes"])
    return namespace


def prepare(home: str, scratch: Scratch, site: str | None) -> None:
    """Set up in the server, once, what the process of every check inherits."""
    os.environ.clear()
    os.environ.update(ENVIRONMENT, HOME=scratch.home, TMPDIR=scratch.temporary)
    if site:
        os.environ["PYTHONPATH"] = site  # for Python programs that a check starts
    os.umask(0o077)
    sys.path.append(home)  # last: a json.py of the agent's must not stand in for the library's
    sys.dont_write_bytecode = True
    sys.argv = ["check"]
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    for name in [name for name in sys.modules if name == "sandbox" or name.startswith("sandbox.")]:
        del sys.modules[name]  # the names are the workspace's; we hold on to the modules


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: S112 - the check may have closed or replaced it
            continue
