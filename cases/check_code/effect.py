"""Decides whether a check can fail at all: one that cannot gives its weight to an agent that did nothing.

Looked for are an `assert` or `raise` that can be reached, that is not always true, and whose exception nothing
swallows; and, less strictly, any operation that may raise by itself, such as opening a file that the agent should have
left.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from viva.cases.check_code.certain import bound_names

_HARMLESS = frozenset(
    {
        "print", "len", "str", "repr", "bool", "isinstance", "type", "list", "dict", "set", "tuple", "sorted", "any",
        "all", "sum", "range", "enumerate", "zip", "map", "filter", "reversed", "hasattr", "format", "round", "abs",
        "callable", "id", "lower", "upper", "strip", "lstrip", "rstrip", "casefold", "title", "startswith", "endswith",
        "split", "splitlines", "join", "replace", "count", "find", "get", "append", "extend", "add", "items", "keys",
        "values", "isdigit", "isalpha", "isnumeric", "copy", "search", "match", "fullmatch", "findall", "finditer",
        "sub", "exists", "isfile", "isdir", "is_file", "is_dir", "getcwd", "write", "flush", "time", "sleep", "now",
        "suppress", "info", "debug", "warning", "compile", "escape", "HumanMessage", "AIMessage", "SystemMessage",
    }
)  # fmt: skip
"""Functions and methods that do not raise whatever the agent did, as checks use them."""
_LEAVERS = frozenset({"exit", "quit", "_exit", "abort", "main", "fail", "xfail", "skip", "kill"})
_NOTHING, _ASSERTIONS, _EVERYTHING = 0, 1, 2
"""Which exceptions are swallowed around a statement."""
_FIRST_AND_LAST = (0, 1, -1, -2)
"""What every conversation has: the system message, the kick-off, and the last turns."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a check can do about the outcome."""

    asserts: bool
    """It has an assertion or raises, where this can be reached and changes something."""
    may_raise: bool
    """It does something else that may raise."""
    idle: list[ast.AST] = field(default_factory=list)
    """Comparisons whose result is discarded."""
    always_true: list[ast.Assert] = field(default_factory=list)
    """Assertions that hold whatever the agent did."""

    @property
    def can_fail(self) -> bool:
        """Return whether the check fails for some agent."""
        return self.asserts or self.may_raise


def effect_of(code: str) -> Effect:
    """Return what a check can do about the outcome.

    Raises:
        SyntaxError, ValueError: it does not compile.
        RecursionError, MemoryError: it is nested too deeply to be looked at.
    """
    tree = ast.parse(code)
    walk = _Reached(tree)
    walk.block(tree.body, swallowed=_NOTHING)
    return Effect(asserts=walk.asserts, may_raise=walk.may_raise, idle=list(_idle(tree)), always_true=walk.always_true)


@lru_cache(maxsize=1024)
def cannot_fail(code: str) -> bool:
    """Return whether a check passes whatever the agent did; False where that cannot be told."""
    try:
        return not effect_of(code).can_fail
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _idle(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and _is_judgement(node.value):
            yield node


def _is_judgement(node: ast.expr) -> bool:
    """Return whether an expression does nothing but compare."""
    if isinstance(node, ast.BoolOp):
        return all(_is_judgement(value) for value in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return True
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in ("isinstance", "all", "any", "startswith", "endswith")
    return isinstance(node, ast.Compare)


class _Reached:
    """Walks what can be reached, and notes what may end the check."""

    def __init__(self, tree: ast.Module) -> None:
        self.asserts = self.may_raise = False
        self.always_true: list[ast.Assert] = []
        bound = bound_names(tree)
        self._owned: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._owned.setdefault(node.name, []).append(node)
        self._constant_names = {
            name for name, nodes in self._owned.items() if bound[name] == 1 and not isinstance(nodes[0], ast.ClassDef)
        }
        self._visited: set[tuple[str, int]] = set()

    def block(self, statements: Iterable[ast.stmt], *, swallowed: int) -> None:
        for statement in statements:
            self._statement(statement, swallowed)
            if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
                return

    def _statement(self, node: ast.stmt, swallowed: int) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._expressions(node.decorator_list, swallowed)
            if node.decorator_list:  # whoever decorates it may call it
                self._enter(node.name, swallowed)
        elif isinstance(node, ast.ClassDef):
            self._expressions([*node.decorator_list, *node.bases], swallowed)
            if node.decorator_list or node.bases:  # so may whoever it inherits from
                self._enter(node.name, swallowed)
        elif isinstance(node, ast.Assert):
            self._assert(node, swallowed)
        elif isinstance(node, ast.Raise):
            is_assertion = node.exc is not None and bool(_names(node.exc) & {"AssertionError"})
            self.asserts |= swallowed == _NOTHING or (swallowed == _ASSERTIONS and not is_assertion)
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            self._try(node, swallowed)  # type: ignore[arg-type]
        elif isinstance(node, ast.If | ast.While):
            self._branch(node, swallowed)
        elif isinstance(node, ast.With | ast.AsyncWith):
            self._expressions((item.context_expr for item in node.items), swallowed)
            inner = [_caught(item.context_expr) for item in node.items if "suppress" in _names(item.context_expr)]
            self.block(node.body, swallowed=max([swallowed, *inner]))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
            known = sys.stdlib_module_names
            self.may_raise |= swallowed < _EVERYTHING and any(
                name.partition(".")[0] not in known and not name.startswith("langchain") for name in names
            )
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Name)):  # `check` does not call it
            self._others(node, swallowed)

    def _others(self, node: ast.AST, swallowed: int) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expressions([child], swallowed)
            elif isinstance(child, ast.stmt):
                self._statement(child, swallowed)
            else:
                self._others(child, swallowed)

    def _assert(self, node: ast.Assert, swallowed: int) -> None:
        if self._is_true(node.test):
            self.always_true.append(node)
        else:
            self._expressions([node.test], swallowed)
            self.asserts |= swallowed == _NOTHING

    def _branch(self, node: ast.If | ast.While, swallowed: int) -> None:
        self._expressions([node.test], swallowed)
        constant = node.test.value if isinstance(node.test, ast.Constant) else None
        if not (isinstance(node.test, ast.Constant) and not constant):
            self.block(node.body, swallowed=swallowed)
        if not (isinstance(node.test, ast.Constant) and constant):
            self.block(node.orelse, swallowed=swallowed)

    def _try(self, node: ast.Try, swallowed: int) -> None:
        silent = [handler for handler in node.handlers if not self._tells(handler)]
        caught = [_EVERYTHING if handler.type is None else _caught(handler.type) for handler in silent]
        self.block(node.body, swallowed=max([swallowed, *caught]))
        for handler in node.handlers:
            self.block(handler.body, swallowed=swallowed)
        self.block(node.orelse, swallowed=swallowed)
        self.block(node.finalbody, swallowed=swallowed)

    def _tells(self, handler: ast.ExceptHandler) -> bool:
        """Return whether a handler may end the check itself."""
        inner = _Reached(ast.Module(body=[], type_ignores=[]))
        inner._owned = self._owned
        inner.block(handler.body, swallowed=_NOTHING)
        return inner.asserts or inner.may_raise

    def _expressions(self, nodes: Iterable[ast.AST], swallowed: int) -> None:
        for top in nodes:
            for node in ast.walk(top):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    self._enter(node.id, swallowed)
                elif isinstance(node, ast.Attribute):
                    self._enter(node.attr, swallowed)
                elif isinstance(node, ast.Call):
                    self._call(node, swallowed)
                elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                    self.may_raise |= swallowed < _EVERYTHING and not _is_there(node)
                elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
                    self.may_raise |= swallowed < _EVERYTHING
                elif isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Store):
                    self.may_raise |= swallowed < _EVERYTHING  # unpacking

    def _call(self, node: ast.Call, swallowed: int) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in self._owned:
            return
        if name in _LEAVERS or name.lower().startswith("assert"):
            self.asserts |= swallowed == _NOTHING
        elif name not in _HARMLESS:
            self.may_raise |= swallowed < _EVERYTHING

    def _enter(self, name: str, swallowed: int) -> None:
        """Walk functions and classes of the check's own once somebody names them."""
        if name not in self._owned or (name, swallowed) in self._visited:
            return
        self._visited.add((name, swallowed))
        for node in self._owned[name]:
            if isinstance(node, ast.ClassDef):
                for each in node.body:
                    if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                        self.block(each.body, swallowed=swallowed)
                    else:
                        self._statement(each, swallowed)
            else:
                self.block(node.body, swallowed=swallowed)

    def _is_true(self, node: ast.expr) -> bool:
        """Return whether a condition holds whatever the agent did."""
        if isinstance(node, ast.Constant):
            return bool(node.value)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return any(not isinstance(each, ast.Starred) for each in node.elts)
        if isinstance(node, ast.Dict):
            return any(key is not None for key in node.keys)
        if isinstance(node, ast.JoinedStr):
            return any(isinstance(part, ast.Constant) and part.value for part in node.values)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return any(self._is_true(value) for value in node.values)
        if isinstance(node, ast.BoolOp):
            return all(self._is_true(value) for value in node.values)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return isinstance(node.operand, ast.Constant) and not node.operand.value
        if isinstance(node, ast.Name):
            return node.id in self._constant_names
        return isinstance(node, ast.Lambda | ast.GeneratorExp)


def _caught(expression: ast.expr) -> int:
    """Return which exceptions a handler for these classes swallows."""
    names = _names(expression)
    return _EVERYTHING if names & {"Exception", "BaseException"} else int("AssertionError" in names)


def _is_there(node: ast.Subscript) -> bool:
    """Return whether a subscript is one that every conversation has."""
    if isinstance(node.value, ast.Subscript):
        return _is_there(node.value) and isinstance(node.slice, ast.Constant)
    try:
        index = None if isinstance(node.slice, ast.Slice) else ast.literal_eval(node.slice)
    except ValueError:
        return False
    return getattr(node.value, "id", "") in ("chat_history", "rounds") and (index is None or index in _FIRST_AND_LAST)


def _names(node: ast.AST) -> set[str]:
    """Return all names and attributes in an expression."""
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
