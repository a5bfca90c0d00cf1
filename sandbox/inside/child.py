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

from sandbox.inside import faults, guard

# What the code under check may replace is taken before it runs.
_compile, _exec, _write, _exit, _getpid = compile, exec, os.write, os._exit, os.getpid
_quote = json.encoder.encode_basestring_ascii  # written in C: there is nothing in it to patch


def run(request: dict[str, Any], stage: dict[str, Any], output: int, result: int, proof: bytes) -> None:
    """Run `request["code"]` in this process and end it.

    `proof` is a secret of this one check: an ending without it in front is a forgery. It keeps out whatever writes
    to file descriptors, not code that walks this process's own frames: no check can be safe from code it imports.
    """
    me = _getpid()
    try:
        result = _wire_up(output, result)
        namespace, seen = _set_stage(request, stage)
        try:
            code = _compile(request["code"], "<check>", "exec", 0, True)
        except BaseException as error:
            outcome = faults.not_compiling(error)
        else:
            outcome = _attempt(code, namespace, stage["home"], seen)
        _flush()
        outcome["imported"] = sorted(seen["files"]) + sorted(seen["pickles"])
    except BaseException as error:
        outcome = {"ending": "limit", "exception": type(error).__name__, "message": "no end: " + faults.words(error)}
    if _getpid() != me:  # a fork made by the check came here as well: only the check itself has an ending
        _exit(0)
    data = proof + _as_json(outcome).encode()
    while data:
        data = data[_write(result, data) :]
    _exit(0)


def _as_json(outcome: dict[str, Any]) -> str:
    """Not `json.dumps`: its Python half can be patched by the check, and then says what the check wants."""
    parts = []
    for name, value in outcome.items():
        if isinstance(value, list):
            text = "[" + ", ".join(_quote(str(one)) for one in value) + "]"
        elif value is None:
            text = "null"
        else:
            text = str(value) if isinstance(value, int) else _quote(str(value))
        parts.append(_quote(name) + ": " + text)
    return "{" + ", ".join(parts) + "}"


def _attempt(code: types.CodeType, namespace: dict[str, Any], home: str, seen: dict[str, set[str]]) -> dict[str, Any]:
    own = faults.code_objects(code)
    try:
        _exec(code, namespace)
    except BaseException as error:
        return faults.verdict(error, own, home, bool(seen["pickles"]))
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
    sys.stdin = io.TextIOWrapper(io.FileIO(0, "r", closefd=False), encoding="utf-8")
    sys.stdout = _writer(1)
    sys.stderr = _writer(2)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    return result


def _writer(descriptor: int) -> io.TextIOWrapper:
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)


def _set_stage(request: dict[str, Any], stage: dict[str, Any]) -> tuple[dict[str, Any], dict[str, set[str]]]:
    home = stage["home"]
    os.setsid()
    guard.default_signals()
    guard.set_dumpable(True)  # so that /proc/self is this process's own again
    guard.first_to_die()
    os.umask(0o077)
    os.chdir(home)
    guard.drop_environment(home, stage["site"])
    for name in [name for name in sys.modules if name == "sandbox" or name.startswith("sandbox.")]:
        del sys.modules[name]
    sys.path.append(home)  # last: a json.py of the agent's must not stand in for the library's
    sys.dont_write_bytecode = True
    sys.argv = ["check"]
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    namespace = main.__dict__
    namespace["__builtins__"] = builtins
    namespace.update(stage["names"])
    seen: dict[str, set[str]] = {"files": set(), "pickles": set()}
    sys.addaudithook(_witness(home + "/", seen))
    guard.limit_resources(request["limits"], stage["base"], stage["count_processes"])
    return namespace, seen


def _witness(home: str, seen: dict[str, set[str]]) -> Any:
    """An audit hook (PEP 578: it cannot be taken off again) that notes when files of the workspace run in the check."""
    files, pickles = seen["files"], seen["pickles"]
    exists, join = os.path.lexists, os.path.join
    place = {"exec": 0, "import": 1, "ctypes.dlopen": 0}

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in place and len(files) < 50:
            name = arguments[place[event]]
            name = getattr(name, "co_filename", name)
            if isinstance(name, str) and name and name[0] != "<" and name not in files:
                full = join(home, name)
                if full.startswith(home) and exists(full):
                    files.add(full[len(home) :])
        elif event == "pickle.find_class" and len(pickles) < 50:
            pickles.add(f"pickle: {arguments[0]}.{arguments[1]}")

    return hook


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: S112 - the check may have closed or replaced it
            continue
