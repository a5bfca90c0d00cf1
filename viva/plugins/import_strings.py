"""Imports what an import string names: `package.module:Thing` or `path/to/file.py:Thing`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from viva.plugins.old_names import advice, hint_about, is_old
from viva.plugins.user_folders import asking_for, let_import


class PluginError(ValueError):
    """A part does not exist or cannot be imported. The message says what was requested and what is available."""


def is_path(name: str) -> bool:
    """Return whether the text before a colon can only be a file or a module in a package, and not a part's name."""
    return "." in name or "/" in name


def import_string(spec: str) -> Any:
    """Import `package.module:Thing` or `path/to/file.py:Thing`.

    Raises:
        PluginError: there is no such module, file or attribute, or the import raised an exception.
    """
    source, _, path = spec.rpartition(":")
    thing: Any = _imported(spec, source)
    for name in path.split("."):
        if not hasattr(thing, name):
            raise PluginError(f"{source} has no {name!r}.{nearest(name, _public(thing), f'{source}:')}")
        thing = getattr(thing, name)
    return thing


def import_source(source: str) -> ModuleType:
    """Import a module by its name, or a file by its path, which ends in `.py`.

    Its code may import what lies in its folder and in the current folder. A file is imported once, however often it is
    requested.

    Raises:
        FileNotFoundError: there is no such file.
        BaseException: any exception that the import raised.
    """
    if not source.endswith(".py"):
        if is_old(source):
            raise ModuleNotFoundError(f"No module named {source!r}", name=source)
        let_import(os.getcwd())
        with asking_for(source):
            return importlib.import_module(source)
    path = Path(source).resolve()
    if not path.is_file():
        raise FileNotFoundError(source)
    let_import(str(path.parent))
    name = f"viva_file_{abs(hash(str(path)))}"
    if name in sys.modules:
        return sys.modules[name]
    description = importlib.util.spec_from_file_location(name, source)
    assert description is not None
    assert description.loader is not None
    module = importlib.util.module_from_spec(description)
    sys.modules[name] = module
    try:
        description.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def raised_at(error: BaseException, *callers: str) -> tuple[str, int] | None:
    """Return file and line of the first frame of the imported code, or None if the import failed before it ran.

    Args:
        error: The exception that the import raised.
        callers: Files whose frames come before.
    """
    ours = (__file__, importlib.__file__, *callers)
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file not in ours and not file.startswith("<frozen"):
            return file, trace.tb_lineno
        trace = trace.tb_next
    return None


def _imported(spec: str, source: str) -> ModuleType:
    try:
        return import_source(source)
    except KeyboardInterrupt:
        raise
    except FileNotFoundError as error:
        if error.args == (source,):
            raise PluginError(f"there is no file {source}.") from error
        raise PluginError(f"{spec} cannot be imported: {in_words(error)}") from error
    except ModuleNotFoundError as error:
        if error.name and (source == error.name or source.startswith(f"{error.name}.")):
            where = f"here or in Viva's environment ({sys.prefix})"
            raise PluginError(f"there is no module {source!r} {where}.{advice(source)}") from error
        raise PluginError(f"{spec} cannot be imported: {in_words(error)}{_moved(error, source)}") from error
    except ImportError as error:
        raise PluginError(f"{spec} cannot be imported: {in_words(error)}{_moved(error, source)}") from error
    except BaseException as error:
        raise PluginError(f"{spec} cannot be imported: {in_words(error)}") from error


def _moved(error: ImportError, source: str) -> str:
    told = hint_about(error, raised_at(error)) or advice(source)
    return told and f".{told.rstrip('.')}"


def in_words(error: BaseException, *callers: str) -> str:
    """Describe what importing raised, with the file and line of its first frame outside `callers`."""
    at = raised_at(error, *callers)
    where = "" if at is None else f"{at[0]}:{at[1]}: "
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be shown)"
    return f"{where}{type(error).__name__}{': ' if text else ''}{text}"


def nearest(name: str, known: list[str], prefix: str = "") -> str:
    """Return a question that suggests the known name nearest to this one; empty if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, 0.5)
    return f" Did you mean {prefix}{near[0]}?" if near else ""


def _public(thing: Any) -> list[str]:
    return [name for name in vars(thing) if not name.startswith("_")] if hasattr(thing, "__dict__") else []
