"""One check in its forked process: sets the stage, runs the code, tells the server how it ended. Never returns."""

from __future__ import annotations

import builtins
import fcntl
import io
import json
import os
import sys
import types
from typing import Any

from sandbox.inside import faults, hardening

# What the code under check may replace is taken before it runs.
_compile, _exec, _write, _exit, _getpid = compile, exec, os.write, os._exit, os.getpid
_quote = json.encoder.encode_basestring_ascii  # written in C: there is nothing in it to patch


class Report:
    """The way to the server: records of proof, kind (`F` a flag, `E` the ending), four bytes of length, and text.

    A flag is sent before the code that it tells of has run, so that this code cannot take it back. `proof` is a secret
    of this one check: what comes without it is a forgery. That keeps out whatever writes to file descriptors, not
    code in this process that walks its frames: no check is safe from code that it runs, which is why it is flagged.
    """

    def __init__(self, descriptor: int, proof: bytes) -> None:
        self.descriptor = descriptor
        self.proof = proof
        self.flagged: set[str] = set()
        self.untraced = False
        """Whether something of the agent's ran that leaves no frame to be trusted: a pickle, a native module."""
        self.executed_text = False

    def flag(self, text: str) -> None:
        text = text[:300]
        if text not in self.flagged and len(self.flagged) < 50:
            self.flagged.add(text)
            self.send(b"F", _quote(text).encode())

    def send(self, kind: bytes, data: bytes) -> None:
        data = self.proof + kind + len(data).to_bytes(4, "big") + data
        while data:
            data = data[_write(self.descriptor, data) :]


def run(request: dict[str, Any], stage: dict[str, Any], output: int, result: int, proof: bytes) -> None:
    """Run `request["code"]` in this process and end it."""
    me = _getpid()
    report = Report(result, proof)
    try:
        hardening.fence(stage["fence"])
        report.descriptor = _wire_up(output, result)
        namespace = _set_stage(request, stage)
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
    """Not `json.dumps`: its Python half can be patched by the check, and then says what the check wants."""
    parts = []
    for name, value in outcome.items():
        text = "null" if value is None else str(value) if isinstance(value, int) else _quote(str(value))
        parts.append(_quote(name) + ": " + text)
    return "{" + ", ".join(parts) + "}"


def _attempt(code: types.CodeType, namespace: dict[str, Any], stage: dict[str, Any], report: Report) -> dict[str, Any]:
    own, home = faults.code_objects(code), stage["home"]
    writable = tuple(one + "/" for one in (home, *stage["mounts"]))
    sys.addaudithook(_witness(home + "/", writable, {id(one) for one in own}, report))
    try:
        _exec(code, namespace)
    except BaseException as error:
        return faults.verdict(error, own, home, untraced=report.untraced, executed_text=report.executed_text)
    return {"ending": "passed"}


def _wire_up(output: int, result: int) -> int:
    """Let go of every descriptor of the server's; stdin empty, stdout and stderr to the output pipe."""
    result = fcntl.fcntl(result, fcntl.F_DUPFD_CLOEXEC, 60)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, result)
    os.closerange(result + 1, 256)
    return result


def _set_stage(request: dict[str, Any], stage: dict[str, Any]) -> dict[str, Any]:
    """What must be this process's own. Each page that it writes to is copied first: the rest is for `prepare`."""
    os.setsid()
    hardening.default_signals()
    hardening.set_dumpable(True)  # for a moment, so that /proc/self is this process's own
    hardening.first_to_die()
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


def prepare(home: str, site: str | None) -> None:
    """Once, in the server: what every check's process is born with."""
    hardening.drop_environment(home, site)
    os.umask(0o077)
    sys.path.append(home)  # last: a json.py of the agent's must not stand in for the library's
    sys.dont_write_bytecode = True
    sys.argv = ["check"]
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    for name in [name for name in sys.modules if name == "sandbox" or name.startswith("sandbox.")]:
        del sys.modules[name]  # the names are the workspace's; we hold on to the modules


def _witness(home: str, writable: tuple[str, ...], own: set[int], report: Report) -> Any:
    """An audit hook (PEP 578: it cannot be taken off again) that flags what of the workspace runs inside the check."""
    exists, join, getframe = os.path.lexists, os.path.join, sys._getframe

    def look(name: Any, must_exist: bool) -> bool:
        if not isinstance(name, str) or not name or name[0] == "<":
            return False
        full = join(home, name)
        if not full.startswith(writable) or (must_exist and not exists(full)):
            return False
        report.flag(full[len(home) :] if full.startswith(home) else full)
        return True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "exec":
            look(getattr(arguments[0], "co_filename", None), True)
            # Byte code without a source says of itself what it likes; its loader knows where it lies.
            origin = _origin(getframe(1))
            if look(origin, False) and not origin.endswith(".py"):
                report.untraced = True
        elif event == "import":
            report.untraced |= look(arguments[1], False)  # a path is there for native modules only
        elif event == "ctypes.dlopen":
            report.untraced |= look(arguments[0], True)
        elif event == "pickle.find_class":
            report.untraced = True
            report.flag(f"pickle: {arguments[0]}.{arguments[1]}")
        elif event == "compile" and arguments[0] is not None and id(getframe(1).f_code) in own:
            report.executed_text = True
            report.flag("text: executed by the check")

    return hook


def _origin(frame: types.FrameType | None) -> Any:
    """Where the module lies that an import is about to run; none when this is no import."""
    if frame is None or frame.f_code.co_name != "_call_with_frames_removed" or frame.f_back is None:
        return None
    module = frame.f_back.f_locals.get("module")
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    return origin if isinstance(origin, str) and "/" in origin else None  # `frozen` and `built-in` are no files


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: S112 - the check may have closed or replaced it
            continue
