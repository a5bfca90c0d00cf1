"""What an agent's exception says, and where in the agent's own code it was raised: the same in either process.

Pure standard library, Python 3.8 or newer.
"""

from __future__ import annotations

import os
from typing import Any

TEXT = 100_000
"""Characters of an exception's text that travel between processes."""
LONGEST_PATH = 200
LONGEST_CHAIN = 10
"""Exceptions that are looked through, from one to its cause."""
LIBRARIES = {"site-packages", "dist-packages"}
_VIVA = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
PACKAGES = ("adapters", "cases", "examiner", "harness", "judge", "records", "sandbox", "viva")
"""Viva's own, by name."""
# Nobody's agent, even where the agent's folder is one of those above them.
_OTHERS = [os.path.dirname(os.path.realpath(os.__file__)), *(os.path.join(_VIVA, name) for name in PACKAGES)]


class Home:
    """Where an agent's own code lies: a folder, without the libraries that may lie below it."""

    def __init__(self, folder: str, only: str | None = None) -> None:
        self._prefix = os.path.join(folder, "")
        self._only = only
        """The one entry of the folder that is the agent's, where the folder holds others' code as well."""
        self._others = [os.path.join(other, "") for other in _OTHERS if other.startswith(self._prefix)]

    def path_of(self, file: str) -> str | None:
        """The path from the folder to a file of the agent's own; None for any other."""
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
    """Tell whether a file is Python's, an installed package's or Viva's own."""
    path = os.path.realpath(file)
    return bool(LIBRARIES.intersection(path.split(os.sep))) or any(
        path.startswith(os.path.join(other, "")) for other in _OTHERS
    )


def home_of(source: str, module: Any) -> Home | None:
    """The home of an agent whose module was loaded from a path that ends in .py, or by its name.

    Of a file it is the folder around it; of a module the folder in which its package lies, or the package alone where
    that is a folder of installed packages. None for a module without a file.
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
    """`path/to/file.py:12`: the innermost line of the agent's own on the way to where the exception was raised.

    An exception that has no such line, raised by a library on a thread of its own, has the one of its cause.
    """
    try:
        return _raised_at(error, home)
    except Exception:  # an exception's attributes may be properties of the agent's making
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
    """An exception's text; None when its own __str__ fails."""
    try:
        return str(error)[:TEXT]
    except Exception:
        return None


def in_short(error: BaseException) -> str:
    """An exception that must not be raised any further, for the text of one that may."""
    text = text_of(error)
    words = "(its text cannot be shown)" if text is None else text
    return ": ".join(part for part in (type(error).__name__, words) if part)
