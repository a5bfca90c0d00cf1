"""Decides from a check's source, and from what is installed, whether the check can never pass.

An agent chooses what it leaves, and code of its own that runs inside a check can make the check's lines raise what it
likes. Only the source and the installed modules are beyond its reach. So a fault is the check's own where these two
prove that it happens before the check can reach its end, whatever the agent left; any other depends on the agent.

This module also runs in the sandbox, on any Python from 3.9.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from typing import Any

from viva.cases.check_code.certain import binds_unseen, bound_names, certain_nodes
from viva.cases.check_code.conversation_types import ConversationTypes

KINDS = frozenset(
    {"NameError", "ModuleNotFoundError", "ImportError", "SystemExit", "TypeError", "AttributeError", "KeyError"}
)
"""The exceptions that can be the check's own fault. An `AssertionError` never is."""
_ALWAYS_THERE = frozenset(dir(builtins)) | {
    "__annotations__", "__builtins__", "__class__", "__debug__", "__doc__", "__file__", "__loader__", "__module__",
    "__name__", "__package__", "__qualname__", "__spec__",
}  # fmt: skip
_LEAVING = ("exit", "quit", "sys.exit", "SystemExit")


def is_broken(
    code: str, exception: object, given: Mapping[str, Any], left: Collection[str], path: Sequence[str]
) -> bool:
    """Return whether a check that ended with this exception can never pass, whatever the agent left.

    Args:
        code: The check.
        exception: The name of the exception's class.
        given: The names that are defined when a check begins, with their values in this run.
        left: The top-level modules that the workspace holds.
        path: The folders of installed modules.
    """
    try:
        compile(code, "<check>", "exec", 0, True)
    except (SyntaxError, ValueError):
        return True
    except (RecursionError, MemoryError):
        return False
    try:
        return exception in KINDS and exception in own_faults(ast.parse(code), given, left, path)
    except (RecursionError, MemoryError):
        return False


def own_faults(
    tree: ast.Module, given: Mapping[str, Any], left: Collection[str] = (), path: Sequence[str] | None = None
) -> dict[str, ast.AST]:
    """Return the exceptions that keep the check from its end in any case, by the names of their classes.

    Without a `path`, nothing is known about installed modules. See `is_broken` for the other arguments.
    """
    found: dict[str, ast.AST] = {}
    for kind, node in _faults(tree, given, left, path):
        found.setdefault(kind, node)
    return found


def _faults(
    tree: ast.Module, given: Mapping[str, Any], left: Collection[str], path: Sequence[str] | None
) -> Iterator[tuple[str, ast.AST]]:
    bound = bound_names(tree)
    types = ConversationTypes(tree, given, bound)
    undefined = _undefined(tree, {*given, *bound, *_ALWAYS_THERE})
    for node in certain_nodes(tree, types.is_filled):
        if isinstance(node, ast.Name) and node.id in undefined and isinstance(node.ctx, ast.Load):
            yield "NameError", node
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and path is not None:
            yield from ((kind, node) for kind in _not_importable(node, left, path))
        elif _leaves(node, bound):
            yield "SystemExit", node
        yield from ((kind, node) for kind in types.faults(node))


def _undefined(tree: ast.Module, defined: set[str]) -> set[str]:
    """Return the names that the check reads and nobody defines; none where code may bind names unseen."""
    if binds_unseen(tree):
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - defined


def _not_importable(node: ast.Import | ast.ImportFrom, left: Collection[str], path: Sequence[str]) -> Iterator[str]:
    """Yield the exceptions that an import raises in any case."""
    if isinstance(node, ast.ImportFrom):
        if node.level or not node.module:
            return
        names = [node.module]
        module = sys.modules.get(node.module)
        known = module is not None and _is_plain(module)
        if known and any(alias.name != "*" and not hasattr(module, alias.name) for alias in node.names):
            yield "ImportError"
    else:
        names = [alias.name for alias in node.names]
    for name in names:
        top = name.partition(".")[0]
        if top not in left and not is_installed(top, path):
            yield "ModuleNotFoundError"


def _is_plain(module: object) -> bool:
    """Return whether a module has all its names from the beginning: a package may get more by imports."""
    return not hasattr(module, "__path__") and not hasattr(module, "__getattr__")


def is_installed(name: str, path: Sequence[str]) -> bool:
    """Return whether a top-level module is found in these folders, or belongs to Python itself."""
    return name in sys.modules or name in sys.builtin_module_names or PathFinder.find_spec(name, path) is not None


def _leaves(node: ast.AST, bound: Mapping[str, int]) -> bool:
    """Return whether a node ends the check by `SystemExit`."""
    if isinstance(node, ast.Raise):
        acts = node.exc
    elif isinstance(node, ast.Call):
        if _dotted(node.func) == "unittest.main":
            return not any(keyword.arg in ("exit", None) for keyword in node.keywords) and len(node.args) < 6
        acts = node
        if _dotted(node.func) == "SystemExit":  # made, and not raised
            return False
    else:
        return False
    name = _dotted(acts.func if isinstance(acts, ast.Call) else acts)
    return name in _LEAVING and (name == "sys.exit" or name not in bound)


def _dotted(node: ast.AST | None) -> str:
    """Return a name such as `sys.exit`; an empty string for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""
