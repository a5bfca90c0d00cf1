"""The present names of modules that had other names before everything was inside the package `viva`."""

from __future__ import annotations

import importlib
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from viva.plugins.renamed_modules import RENAMED

if TYPE_CHECKING:
    from ast import ImportFrom

TOPS = ("adapters", "cases", "examiner", "harness", "judge", "records", "sandbox")
"""The packages that were beside `viva`."""

# The first prefix that fits decides; `*` stands for the rest of the name. Names that fit none are below `viva`.
_MOVED = (
    ("records.journal_*", "viva.journal.*"),
    ("records.journal", "viva.journal.writer"),
    ("records.plugins", "viva.plugins.kinds"),
    ("records.round_tally", "viva.journal.tallies.round_tally"),
    ("records.import_strings", "viva.plugins.import_strings"),
    ("records.usage_sums", "viva.records.usage"),
    ("records.*", "viva.records.*"),
    ("records.*", "viva.journal.*"),
    ("adapters.readers.atif", "viva.recordings.atif.reader"),
    ("adapters.readers.atif_*", "viva.recordings.atif.*"),
    ("adapters.readers.session_*", "viva.recordings.desktop.*"),
    ("adapters.readers.*", "viva.recordings.*"),
    ("adapters.readers.*", "viva.recordings.desktop.*"),
    ("adapters.readers", "viva.recordings"),
    ("adapters.events*", "viva.recordings.events*"),
    ("adapters.models*", "viva.models*"),
    ("adapters.errors", "viva.errors"),
    ("adapters.chat_messages", "viva.recordings.chat_messages"),
    ("adapters.*", "viva.records.*"),
    ("harness.cli", "viva.cli.main"),
    ("harness.commands.trace_*", "viva.cli.tracing.*"),
    ("harness.commands.*", "viva.cli.*"),
    ("harness.commands*", "viva.cli.commands*"),
    ("harness.plugin*", "viva.pytest_plugin*"),
    ("harness.wording", "viva.records.wording"),
    ("harness.exam.journal_paths", "viva.journal.paths"),
    ("harness.exam.*", "viva.journal.*"),
    ("harness.reports.console", "viva.reports.console.report"),
    ("harness.reports.markdown", "viva.reports.markdown.report"),
    ("harness.reports.page", "viva.reports.page.report"),
    ("harness.reports.progress", "viva.reports.progress.reporter"),
    ("harness.*", "viva.*"),
    ("sandbox.container_profile", "viva.sandbox.docker.profile"),
    ("sandbox.docker", "viva.sandbox.docker.backend"),
    ("*", "viva.*"),
    ("sandbox.*", "viva.sandbox.docker.*"),
)


def new_name(old: str) -> str | None:
    """Return the present name of a module of Viva's that an old name refers to; None if there is no such module."""
    if old.partition(".")[0] not in TOPS:
        return None
    if old in RENAMED:
        return RENAMED[old]
    for before, now in _MOVED:
        rest = _rest(old, before)
        if rest is not None and _exists(candidate := now.replace("*", rest)):
            return candidate
    return None


def is_old(name: str) -> bool:
    """Return whether a name refers to one of Viva's modules by its old name, also where a checkout is on `sys.path`."""
    top = name.partition(".")[0]
    found = find_spec(top) if top in TOPS else None
    own = os.path.realpath(os.path.join(os.path.dirname(os.path.dirname(__file__)), top, "__init__.py"))
    return found is not None and found.origin is not None and os.path.realpath(found.origin) == own


def advice(old: str) -> str:
    """Return a sentence with the present name of a module, or an empty string if `old` never was one of Viva's.

    Args:
        old: The dotted name of a module that could not be found.
    """
    now = new_name(old)
    return "" if now is None else f" Viva's module {old} is now {now}."


def hint(missing: str | None, at: tuple[str, int] | None) -> str:
    """Return a sentence about an import that failed, if an old name of one of Viva's modules is the cause.

    Args:
        missing: The module that could not be found; None if the import failed for another reason.
        at: File and line of the import statement, if they are known.
    """
    said = advice(missing or "") or (advice_at(*at) if at else "")
    if not said and missing in TOPS and at:  # a name that Viva never had there, from a module that it had
        statement = _import_at(*at)
        said = advice(statement.module or "") if statement else ""
    return said


def hint_about(error: ImportError, at: tuple[str, int] | None) -> str:
    """Return `hint` for an exception of this process."""
    certain = isinstance(error, ModuleNotFoundError) or is_old(error.name or "")
    return hint(error.name if certain else None, at)


def advice_at(file: str, line: int) -> str:
    """Return a sentence with the present form of an import statement that failed.

    It helps where the old name of one of Viva's modules finds a package of somebody else.

    Returns:
        An empty string if the statement at this line does not import names of Viva by an old name of their module.
    """
    statement = _import_at(file, line)
    now = None if statement is None else new_name(statement.module or "")
    if statement is None or now is None:
        return ""
    wanted = [alias.name for alias in statement.names]
    viva = importlib.import_module("viva")
    for home in (viva, importlib.import_module(now)):
        if all(name in dir(home) for name in wanted):
            said = f"from {home.__name__} import {', '.join(wanted)}"
            return f" If this line means Viva's {statement.module}, write `{said}`."
    return ""


def _import_at(file: str, line: int) -> ImportFrom | None:
    import ast
    import tokenize

    if not os.path.isfile(file):  # an agent's own process may name anything
        return None
    try:
        with tokenize.open(file) as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0)
    return next((node for node in found if node.lineno <= line <= (node.end_lineno or 0)), None)


def _rest(name: str, pattern: str) -> str | None:
    """Return what `*` stands for if the name fits the pattern, else None."""
    if not pattern.endswith("*"):
        return "" if name == pattern else None
    return name[len(pattern) - 1 :] if name.startswith(pattern[:-1]) else None


def _exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
