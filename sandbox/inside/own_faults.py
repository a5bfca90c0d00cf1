"""Tells from a check's source whether it is broken in itself, where what it reports cannot be believed.

Code of the agent's that ran inside a check can make the check's own lines raise what it likes (it removes a builtin,
forges a traceback, reports by itself). Only the check's source, and what is installed here, are beyond its reach.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Sequence
from importlib.machinery import PathFinder

_BUILTIN_NAMES = frozenset(dir(builtins)) | {"__name__", "__doc__", "__builtins__", "__file__"}
_NAMING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_LEAVING = ("exit", "quit", "sys.exit", "SystemExit")


def is_broken(code: str, exception: object, given: Collection[str], left: Collection[str], path: Sequence[str]) -> bool:
    """Tell whether this check must end by this exception, whatever the agent left.

    `given` are the names that are defined when a check begins, `left` the top-level modules that the workspace holds,
    `path` the folders of installed modules.
    """
    try:
        tree = ast.parse(code)
        if exception == "NameError":
            return bool(_undefined(tree, given))
        if exception == "ModuleNotFoundError":
            return any(name not in left and not _is_installed(name, path) for name in _required(tree))
        return exception == "SystemExit" and any(_leaves(statement) for statement in tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _undefined(tree: ast.Module, given: Collection[str]) -> set[str]:
    """Return the names that the check reads and nobody defines."""
    read: set[str] = set()
    bound: set[str] = {*given, *_BUILTIN_NAMES}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            if node.name == "*":
                return set()  # nobody can tell from here what that defines
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, _NAMING):
            bound.add(node.name or "")
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.add(node.rest)
    return read - bound


def _required(tree: ast.Module) -> set[str]:
    """Return the top-level modules that the check imports in any case."""
    found: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            found.add(statement.module.partition(".")[0])
    return found


def _is_installed(name: str, path: Sequence[str]) -> bool:
    return name in sys.modules or name in sys.builtin_module_names or PathFinder.find_spec(name, path) is not None


def _leaves(statement: ast.stmt) -> bool:
    """Tell whether a statement is one that leaves the check."""
    acts = statement.exc if isinstance(statement, ast.Raise) else getattr(statement, "value", None)
    if isinstance(acts, ast.Call):
        acts = acts.func
    elif not isinstance(statement, ast.Raise):
        return False
    return acts is not None and ast.unparse(acts) in _LEAVING
