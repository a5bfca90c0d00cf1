"""One check in its forked process: prepares the process, waits for the code, runs it, tells the server how it ended."""

from __future__ import annotations

import builtins
import fcntl
import io
import json
import marshal
import os
import sys
import types
from typing import Any, NamedTuple

from viva.sandbox.inside import conversation, faults, hardening, landlock, layers, namespaces, witness

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


READY = b"+"


class Pipes(NamedTuple):
    """A check's ends of its pipes: where its request comes from, and where its output and its result go."""

    request: int
    output: int
    result: int


class Scratch(NamedTuple):
    """Folders of a check beside its copy of the workspace, empty when it begins."""

    home: str
    temporary: str


class CheckReport:
    """Reports to the server, in records of: proof, kind (`F` a flag, `E` the ending), four bytes of length, text.

    A flag is sent before the code that it is about has run, so that this code cannot take it back. `proof` is a secret
    of this one check: what comes without it is a forgery. That keeps out code that writes to file descriptors, but not
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
        """Report to the server, once, something that can make any check pass."""
        text = text[:300]
        if text not in self.flagged and len(self.flagged) < 50:
            self.flagged.add(text)
            self.send(b"F", _quote(text).encode())

    def send(self, kind: bytes, data: bytes) -> None:
        """Send one record."""
        data = self.proof + kind + len(data).to_bytes(4, "big") + data
        while data:
            data = data[_write(self.descriptor, data) :]


def run(stage: dict[str, Any], pipes: Pipes) -> None:
    """Prepare this process, wait for a request, run its code, and end the process. Never returns.

    What it sends before the request is one byte, which says that it is ready, or the reason why it never will be. It
    has no proof before, so that nothing of this can be taken for an ending.
    """
    me = _getpid()
    report = CheckReport(pipes.result, b"")
    try:
        hardening.set_dumpable(True)  # for a moment, so that /proc/self is this process's own
        hardening.first_to_die()
        if stage["world"]:
            namespaces.close_off(stage["masks"])
            if stage["layer"]:
                layers.put_on(stage["layer"])
            if not (stage["filtered"] and stage["filter"].install()):
                raise OSError("there is no filter of system calls for this machine")
        landlock.enter_domain(stage["landlock_ruleset"])
        request_end, report.descriptor = _connect_streams(pipes)
        namespace = _prepare_process(stage)
        _write(report.descriptor, READY)
    except BaseException as error:
        _write(report.descriptor, b"-" + faults.words(error).encode("utf-8", "replace")[:500])
        _exit(70)
    request = _request(request_end)
    if request is None:
        _exit(0)
    try:
        report.proof = request["proof"]
        os.chdir(stage["home"])  # which was not there before
        hardening.limit_resources(request["limits"], stage["base"], stage["helpers"], stage["ceilings"])
        conversation.put_history_file(request["code"], stage["names"], stage["dumps"])
        try:
            code = _compile(request["code"], "<check>", "exec", 0, True)
        except BaseException as error:
            outcome = faults.not_compiling(error)
        else:
            del request  # it holds the proof
            outcome = _attempt(code, namespace, stage, report)
        _flush()
    except BaseException as error:
        outcome = {"ending": "limit", "exception": type(error).__name__, "message": "no end: " + faults.words(error)}
    if _getpid() == me:  # else a fork made by the check came here as well: only the check itself has an ending
        report.send(b"E", _as_json(outcome).encode())
    _exit(0)


def _request(descriptor: int) -> dict[str, Any] | None:
    """Wait for the request. Returns none when the server wants no more checks."""
    data, size = bytearray(), 4
    while len(data) < size:
        piece = os.read(descriptor, 65536)
        if not piece:
            return None
        data += piece
        size = 4 + int.from_bytes(data[:4], "big") if len(data) >= 4 else 4
    os.close(descriptor)
    request: dict[str, Any] = marshal.loads(data[4:])  # noqa: S302 - from this process's own server
    return request


def _as_json(outcome: dict[str, Any]) -> str:
    """Write JSON without `json.dumps`: the check can patch its Python half to say what the check wants."""
    parts = []
    for name, value in outcome.items():
        text = "null" if value is None else str(value) if isinstance(value, int) else _quote(str(value))
        parts.append(_quote(name) + ": " + text)
    return "{" + ", ".join(parts) + "}"


def _attempt(
    code: types.CodeType, namespace: dict[str, Any], stage: dict[str, Any], report: CheckReport
) -> dict[str, Any]:
    own, home = faults.code_objects(code), stage["home"]
    sys.addaudithook(witness.witness(home + "/", stage["trusted"], {id(one) for one in own}, report))
    try:
        _exec(code, namespace)
    except BaseException as error:
        return faults.ending_of(error, own, home, untraced=report.untraced, executed_text=report.executed_text)
    return {"ending": "passed"}


def _connect_streams(pipes: Pipes) -> tuple[int, int]:
    """Close every descriptor of the server's; stdin becomes empty, stdout and stderr go to the output pipe.

    Returns where the request comes from, and where the result goes.
    """
    request = fcntl.fcntl(pipes.request, fcntl.F_DUPFD_CLOEXEC, 60)
    result = fcntl.fcntl(pipes.result, fcntl.F_DUPFD_CLOEXEC, request + 1)
    output = pipes.output
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, request)
    os.closerange(request + 1, result)
    os.closerange(result + 1, 256)
    return request, result


def _prepare_process(stage: dict[str, Any]) -> dict[str, Any]:
    """Set up what each check needs for itself, and return the namespace for its code.

    The kernel first copies each page that this writes to, so everything that can be shared is done once, by `prepare`.
    """
    os.setsid()
    hardening.default_signals()
    # A program of the agent's that the check starts has its user id: it must not read the proof in this process's
    # memory, write to that memory, or open the pipe to the server, all of which lie below /proc.
    hardening.set_dumpable(False)
    hardening.drop_capabilities()
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    namespace = main.__dict__
    namespace["__builtins__"] = builtins
    namespace.update(stage["names"])
    return namespace


def prepare(site: str | None) -> None:
    """Set up what the process of every check of every run inherits."""
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    if site:
        os.environ["PYTHONPATH"] = site  # for Python programs that a check starts
    os.umask(0o077)
    sys.dont_write_bytecode = True
    sys.argv = ["check"]
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    for name in [name for name in sys.modules if name == "viva" or name.startswith("viva.")]:
        del sys.modules[name]  # the names are the workspace's; we hold on to the modules


def prepare_run(home: str, scratch: Scratch) -> None:
    """Set up what the processes of a run's checks inherit."""
    os.environ.update(HOME=scratch.home, TMPDIR=scratch.temporary)
    sys.path.append(home)  # last: a json.py of the agent's must not stand in for the library's


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: S112 - the check may have closed or replaced it
            continue
