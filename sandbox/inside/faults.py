"""Decides what an exception is about: the check itself, what the agent left, or a limit."""

from __future__ import annotations

import errno
import types
from typing import Any

_LIMIT_ERRNOS = {
    errno.ENOSPC: "disk space",
    errno.EDQUOT: "disk space",
    errno.EFBIG: "file size",
    errno.EMFILE: "open files",
    errno.ENFILE: "open files",
    errno.ENOMEM: "memory",
    errno.EAGAIN: "processes",
}
# These parts of the library leave on behalf of their caller, and not of what they read.
_LEAVERS = ("_sitebuiltins", "/unittest/main")
_PERHAPS_OWN = (NameError, ImportError, TypeError, AttributeError, KeyError)
_traceback_of = BaseException.__dict__["__traceback__"].__get__
_name_of = type.__dict__["__name__"].__get__


def code_objects(code: types.CodeType) -> list[types.CodeType]:
    """Return the check's code and all functions in it.

    They are compared by identity: a file name can be forged, an object cannot.
    """
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found += code_objects(constant)
    return found


def not_compiling(error: BaseException) -> dict[str, Any]:
    """Return the ending of a check whose code does not compile."""
    return {
        "ending": "broken",
        "exception": _name_of(type(error)),
        "message": words(error),
        "line": getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None,
    }


def ending_of(
    error: BaseException, own: list[types.CodeType], home: str, *, untraced: bool, executed_text: bool
) -> dict[str, Any]:
    """Return the ending for an exception that left the check's code.

    `broken` means no more than that the exception may be the check's own fault: where it was raised says nothing about
    whether the agent's data brought it about. The server decides that by the source.

    `untraced` means that something of the agent's ran that leaves no frame, so that what looks like the check's own
    frame may come from the agent's data. `executed_text` means that the check executed text, which counts as the
    agent's.
    """
    ours = {id(code) for code in own}
    line, innermost, nearest, last = None, "", "", ""
    trace = _traceback_of(error)
    while trace is not None:
        code = trace.tb_frame.f_code
        last = code.co_filename
        if id(code) in ours:
            line, innermost = trace.tb_lineno, "check"
        elif code.co_filename.startswith("<frozen importlib"):
            pass
        elif code.co_filename.startswith(home + "/") or (executed_text and _is_text(code.co_filename)):
            innermost = "workspace"
        else:
            innermost = "library"
        if innermost in ("check", "workspace"):
            nearest = innermost
        trace = trace.tb_next
    if innermost == "library" and any(name in last for name in _LEAVERS):
        innermost = nearest
    ending, message = _ending(error, innermost, nearest, untraced)
    return {
        "ending": ending,
        "exception": _name_of(type(error)),
        "message": message or words(error),
        "line": line,
        "missing_module": _missing(error),
    }


def _is_text(name: str) -> bool:
    """Return whether code of this file name comes from no file: `<string>`, but not Python's own frozen modules."""
    return name.startswith("<") and not name.startswith("<frozen ")


def _ending(error: BaseException, innermost: str, nearest: str, untraced: bool) -> tuple[str, str]:
    if isinstance(error, MemoryError):
        return "limit", "memory"
    if isinstance(error, OSError) and error.errno in _LIMIT_ERRNOS:
        return "limit", _LIMIT_ERRNOS[error.errno] + ": " + words(error)
    if isinstance(error, RuntimeError) and "can't start new thread" in words(error):
        return "limit", "processes: " + words(error)
    if untraced:
        return "failed", ""
    if isinstance(error, SystemExit):
        # Where a library leaves, it was asked to by what it read.
        return ("broken" if innermost == nearest == "check" else "failed"), "SystemExit: " + words(error)
    # Raised by the agent's own file, it speaks of that file; `missing_module` says what to look at.
    may_be_own = isinstance(error, _PERHAPS_OWN) and nearest == "check"
    return ("broken" if may_be_own else "failed"), ""


def _missing(error: BaseException) -> str | None:
    name = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
    return name if isinstance(name, str) else None


def words(error: BaseException) -> str:
    """Return the exception's text; a broken `__str__` does no harm."""
    try:
        return str(error)[:4000]
    except BaseException:
        return "(its text cannot be shown)"
