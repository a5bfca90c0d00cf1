"""Sees which code of the agent's runs inside a check, by whatever way it was loaded: an audit hook (PEP 578)."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable, Sequence
from importlib.machinery import SourcelessFileLoader
from typing import Protocol

# Parts of the library that execute text for their caller.
EXECUTORS = (
    "timeit",
    "codeop",
    "code",
    "doctest",
    "cProfile",
    "profile",
    "pdb",
    "bdb",
    "trace",
    "site",
    "logging.config",
)
# Functions of the C library and of Python's own that load or run code, as `ctypes` names them.
LOADING = ("dlopen", "dlmopen", "PyRun_", "Py_Compile", "PyEval_Eval", "PyImport_", "PyMarshal_", "Py_NewInterpreter")
SYSTEM_FOLDERS = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store")
Hook = Callable[[str, tuple[object, ...]], None]


class HookReport(Protocol):
    """What the hook tells: see `child.CheckReport`."""

    untraced: bool
    executed_text: bool

    def flag(self, text: str) -> None: ...


def trusted_folders(path: Sequence[str]) -> tuple[str, ...]:
    """Return the folders whose code is nobody's but the system's and the case's, each with a slash at its end."""
    found = {*SYSTEM_FOLDERS, *path, sys.prefix, sys.base_prefix, sys.exec_prefix}
    found |= {os.path.realpath(folder) for folder in found}
    return tuple(folder.rstrip("/") + "/" for folder in sorted(found) if len(folder) > 1)


def witness(home: str, trusted: tuple[str, ...], own: set[int], report: HookReport) -> Hook:
    """Return a hook (it cannot be removed) that flags what runs inside the check and comes from the agent's files.

    `own` are the identities of the check's code objects.
    """
    exists, join, getframe, getcwd = os.path.lexists, os.path.join, sys._getframe, os.getcwd
    plain, normal, decode = str.startswith, os.path.normpath, os.fsdecode
    compiled = SourcelessFileLoader.get_code.__globals__["_compile_bytecode"].__code__

    def look(name: object, must_exist: bool) -> bool:
        """Flag a file that is not the system's."""
        if not name or name.__class__ is not str:
            try:
                name = decode(name)  # type: ignore[arg-type]
            except TypeError:
                return False
        assert isinstance(name, str)
        if not name or name[0] == "<" or (plain(name, trusted) and "/../" not in name):
            return False
        full = normal(join(getcwd() if name[0] != "/" else "/", name))
        if plain(full, trusted) or (must_exist and not exists(full)):
            return False
        report.flag(full[len(home) :] if plain(full, home) else full)
        return True

    def marshalled(frame: types.FrameType) -> None:
        """Flag byte code that is loaded in another way than the import of a module of the system's."""
        if frame.f_code is compiled:  # importlib reads a .pyc; what it holds can call itself by any name
            report.untraced |= look(frame.f_locals.get("bytecode_path") or frame.f_locals.get("source_path"), False)
        else:
            report.untraced = True
            report.flag(f"marshal: code loaded by {decode(frame.f_code.co_filename)}")

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "exec":
            look(getattr(arguments[0], "co_filename", None), True)
            # Byte code without a source says of itself what it likes; its loader knows where it lies.
            origin = _origin(getframe(1))
            if look(origin, False) and not str(origin).endswith(".py"):
                report.untraced = True
        elif event == "import":
            report.untraced |= look(arguments[1], False)  # a path is there for native modules only
        elif event in ("marshal.loads", "marshal.load"):
            marshalled(getframe(1))
        elif event == "compile":
            frame = getframe(1)
            own_text = id(frame.f_code) in own
            if arguments[0] is not None and (own_text or frame.f_globals.get("__name__") in EXECUTORS):
                report.executed_text = True
                report.flag("text: executed by the check")
        elif event == "ctypes.dlopen":
            # A name without a slash is looked for in the system's folders only.
            name = arguments[0]
            report.untraced |= "/" in decode(name) and look(name, True) if name else False  # type: ignore[arg-type]
        elif event == "ctypes.dlsym" and plain(str(arguments[1]), LOADING):
            report.untraced = True
            report.flag(f"ctypes: {arguments[1]}")
        elif event == "cpython.PyInterpreterState_New":  # no hook sees what runs in it
            report.untraced = True
            report.flag("interpreter: made by the check")
        elif event == "pickle.find_class":
            report.untraced = True
            report.flag(f"pickle: {arguments[0]}.{arguments[1]}")
        elif event == "code.__new__" and id(getframe(1).f_code) in own:
            report.untraced = True
            report.flag("code: made by the check")
        elif event == "sqlite3.enable_load_extension" and arguments[1]:
            report.untraced = True
            report.flag("sqlite3: extensions")

    return hook


def _origin(frame: types.FrameType | None) -> object:
    """Return the file of the module that an import is about to run; none when this is not an import."""
    if frame is None or frame.f_code.co_name != "_call_with_frames_removed" or frame.f_back is None:
        return None
    module = frame.f_back.f_locals.get("module")
    spec = getattr(module, "__spec__", None)
    # `frozen` and `built-in` are no files; a relative name is one.
    return getattr(spec, "origin", None) if getattr(spec, "has_location", False) else None
