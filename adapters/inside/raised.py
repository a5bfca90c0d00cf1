"""Describes an agent's exception, and finds where in the agent's own code it was raised, in the same way in both
processes. It uses only the standard library of Python 3.8 or newer.
"""

from __future__ import annotations

import os
from typing import Any

TEXT = 100_000
"""Maximum number of characters of an exception's text that are sent between processes."""
LONGEST_PATH = 200
LONGEST_CHAIN = 10
"""Maximum number of exceptions in a chain of causes that are examined."""
LIBRARIES = {"site-packages", "dist-packages"}
# `viva/adapters/inside/raised.py`: `viva/adapters` may be a link to a folder beside `viva`.
_LINKED = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_VIVA = os.path.dirname(_LINKED)
# Never an agent's code, even if these folders are below the agent's.
_OTHERS = sorted(
    {os.path.dirname(os.path.realpath(os.__file__))}
    | {os.path.realpath(_VIVA)}
    | {os.path.realpath(os.path.join(_VIVA, name)) for name in ("adapters", "cases", "examiner", "judge", "sandbox")}
)


class Home:
    """The location of an agent's own code: a folder, without the libraries that may be below it."""

    def __init__(self, folder: str, only: str | None = None) -> None:
        self._prefix = os.path.join(folder, "")
        self._only = only
        """The only entry of the folder that belongs to the agent, if the folder also contains other code."""
        self._others = [os.path.join(other, "") for other in _OTHERS if other.startswith(self._prefix)]

    def path_of(self, file: str) -> str | None:
        """Return the path of one of the agent's own files relative to the folder; None for any other file."""
        if not os.path.isabs(file):  # `<string>`
            return None
        path = os.path.realpath(file)
        inner = path[len(self._prefix) :]
        parts = inner.split(os.sep)
        if not path.startswith(self._prefix) or any(path.startswith(other) for other in self._others):
            return None
        if LIBRARIES.intersection(parts) or (self._only is not None and parts[0] != self._only):
            return None
        return inner if len(inner) <= LONGEST_PATH else "…" + inner[-LONGEST_PATH:]


def is_library(file: str) -> bool:
    """Return whether a file belongs to Python, to an installed package or to Viva."""
    path = os.path.realpath(file)
    return bool(LIBRARIES.intersection(path.split(os.sep))) or any(
        path.startswith(os.path.join(other, "")) for other in _OTHERS
    )


def home_of(source: str, module: Any) -> Home | None:
    """Return the home of an agent whose module was loaded from a path that ends in .py, or by its name.

    The home of a file is its folder. The home of a module is the folder that contains its package, or only the package
    if that is a folder of installed packages. It is None for a module without a file.
    """
    if source.endswith(".py"):
        return Home(os.path.dirname(os.path.realpath(source)))
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return None
    path = os.path.realpath(file)
    if os.path.basename(path).startswith("__init__."):
        path = os.path.dirname(path)
    *outer, name = source.split(".")
    while outer and os.path.basename(path).partition(".")[0] == name:
        path, name = os.path.dirname(path), outer.pop()
    folder, entry = os.path.split(path)
    return Home(folder, entry if os.path.basename(folder) in LIBRARIES else None)


def raised_at(error: BaseException, home: Home) -> str | None:
    """Return `path/to/file.py:12`, the innermost line of the agent's own code in the traceback of an exception.

    If an exception has no such line, because a library raised it on its own thread, the line of its cause is used.
    """
    try:
        return _raised_at(error, home)
    except Exception:  # an exception's attributes may be properties that the agent defined
        return None


def _raised_at(error: BaseException | None, home: Home) -> str | None:
    paths: dict[str, str | None] = {}
    for _ in range(LONGEST_CHAIN):
        if error is None:
            break
        found, trace = None, error.__traceback__
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if file not in paths:
                paths[file] = home.path_of(file)
            if paths[file] is not None:
                found = f"{paths[file]}:{trace.tb_lineno}"
            trace = trace.tb_next
        if found is not None:
            return found
        hidden = error.__cause__ is not None or error.__suppress_context__
        error = error.__cause__ if hidden else error.__context__
    return None


def text_of(error: BaseException) -> str | None:
    """Return an exception's text; None if its own __str__ fails."""
    try:
        return str(error)[:TEXT]
    except Exception:
        return None


def in_short(error: BaseException) -> str:
    """Return a short description of an exception that must not be raised further, for the text of another one."""
    text = text_of(error)
    words = "(its text cannot be shown)" if text is None else text
    return ": ".join(part for part in (type(error).__name__, words) if part)
