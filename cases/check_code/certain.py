"""Finds what a check evaluates in any case: the parts of its code without which it cannot reach its end.

A check passes when it reaches its end. A fault in one of these parts therefore means that it can never pass, whatever
the agent left; a fault anywhere else depends on data. Where that cannot be told, a part does not count as certain.

This module also runs in the sandbox, on any Python from 3.9.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable

_NAMING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)
_MATCHING = ("MatchAs", "MatchStar")  # not in Python 3.9
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
# Context managers that let exceptions of their body through.
_TRANSPARENT = frozenset({"open", "ZipFile", "TemporaryDirectory", "NamedTemporaryFile", "closing", "redirect_stdout"})
# Builtins that evaluate a generator expression at once.
_CONSUMERS = frozenset({"any", "all", "sum", "list", "tuple", "set", "sorted", "min", "max"})
# With these, code can bind names that its source does not show.
_BINDS_UNSEEN = frozenset(
    {"exec", "eval", "globals", "locals", "vars", "setattr", "builtins", "__builtins__", "__dict__", "__globals__"}
)
Filled = Callable[[ast.expr], bool]


def bound_names(tree: ast.AST) -> Counter[str]:
    """Return how often each name is bound, in whatever scope and by whatever kind of statement."""
    bound: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                bound[node.id] += 1
        elif isinstance(node, ast.arg):
            bound[node.arg] += 1
        elif isinstance(node, ast.alias):
            bound[(node.asname or node.name).partition(".")[0]] += 1
        elif isinstance(node, _NAMING) or type(node).__name__ in _MATCHING:
            bound[node.name or ""] += 1  # type: ignore[attr-defined]
        elif type(node).__name__ == "MatchMapping" and getattr(node, "rest", None):
            bound[node.rest] += 1  # type: ignore[attr-defined]
    return bound


def binds_unseen(tree: ast.AST) -> bool:
    """Return whether code may bind names that its source does not show."""
    for node in ast.walk(tree):
        if isinstance(node, ast.alias) and node.name == "*":
            return True
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name in _BINDS_UNSEEN:
            return True
    return False


def certain_nodes(tree: ast.Module, is_filled: Filled = lambda node: False) -> list[ast.AST]:
    """Return the statements and expressions that are evaluated in any case, in the order of their evaluation.

    Args:
        tree: The code.
        is_filled: Tells of an expression whether it is a sequence that is never empty.
    """
    walk = _Walk(tree, is_filled)
    walk.block(tree.body)
    return walk.found


class _Walk:
    def __init__(self, tree: ast.Module, is_filled: Filled) -> None:
        self.found: list[ast.AST] = []
        self._is_filled = is_filled
        self._bound = bound_names(tree)
        self._functions = {
            node.name: node
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
            and self._bound[node.name] == 1
            and not node.decorator_list
            and not _has(node.body, (ast.Yield, ast.YieldFrom))
        }
        self._called: set[str] = set()

    def block(self, statements: Iterable[ast.stmt]) -> bool:
        """Walk statements, and return whether what follows them is reached, unless one of them raises."""
        return all(self._statement(statement) for statement in statements)

    def _statement(self, node: ast.stmt) -> bool:
        self.found.append(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._all([*node.decorator_list, *node.args.defaults, *(each for each in node.args.kw_defaults if each)])
            return True
        if isinstance(node, ast.ClassDef):
            self._all([*node.decorator_list, *node.bases, *(each.value for each in node.keywords)])
            return self.block(node.body)
        if isinstance(node, ast.Assert):
            self._expression(node.test)
            return True
        if isinstance(node, ast.AnnAssign):
            self._all([node.value] if node.value is not None else [])
            return True
        if isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.Try)) or _is_match(node):
            return self._compound(node)
        if isinstance(node, (ast.AsyncFor, ast.AsyncWith)) or type(node).__name__ == "TryStar":
            return False
        self._children(node)
        return not isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Raise))

    def _compound(self, node: ast.stmt) -> bool:
        """Walk a statement whose body may be left out, repeated, or end otherwise."""
        goes_on = not _jumps([node])
        if isinstance(node, ast.If):
            self._expression(node.test)
        elif isinstance(node, ast.For):
            self._expression(node.iter)
            if self._is_filled(node.iter):
                self.block(node.body)
        elif isinstance(node, ast.While):
            self._expression(node.test)
        elif isinstance(node, ast.With):
            self._all(item.context_expr for item in node.items)
            if all(self._is_transparent(item.context_expr) for item in node.items):
                return self.block(node.body)
        elif isinstance(node, ast.Try):
            if not node.handlers and not _jumps(node.finalbody):
                return self.block(node.body) and self.block(node.finalbody)
            self.block(node.finalbody)
        else:
            self._expression(node.subject)  # type: ignore[attr-defined]
        return goes_on

    def _is_transparent(self, manager: ast.expr) -> bool:
        if not isinstance(manager, ast.Call):
            return False
        name = manager.func.attr if isinstance(manager.func, ast.Attribute) else getattr(manager.func, "id", "")
        return name in _TRANSPARENT and (name != "open" or not self._bound[name])

    def _all(self, nodes: Iterable[ast.expr]) -> None:
        for node in nodes:
            self._expression(node)

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child)
            elif isinstance(child, ast.keyword):
                self._expression(child.value)

    def _expression(self, node: ast.expr) -> None:
        if isinstance(node, ast.BoolOp):
            self._expression(node.values[0])
        elif isinstance(node, ast.IfExp):
            self._expression(node.test)
        elif isinstance(node, ast.Compare):  # `a < b < c` may end after `b`
            self._all([node.left, node.comparators[0]])
        elif isinstance(node, ast.Lambda):
            self._all([*node.args.defaults, *(each for each in node.args.kw_defaults if each)])
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            self._comprehension(node, at_once=not isinstance(node, ast.GeneratorExp))
        elif isinstance(node, ast.Call) and self._consumes(node):
            self._comprehension(node.args[0], at_once=True)
            self.found.append(node.args[0])
        else:
            self._children(node)
        self.found.append(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            self._call(node.func.id)

    def _consumes(self, node: ast.Call) -> bool:
        name = getattr(node.func, "id", "")
        return name in _CONSUMERS and not self._bound[name] and [*map(type, node.args)] == [ast.GeneratorExp]

    def _comprehension(self, node: ast.expr, *, at_once: bool) -> None:
        first = node.generators[0]  # type: ignore[attr-defined]
        self._expression(first.iter)
        if not at_once or not self._is_filled(first.iter):
            return
        if first.ifs:
            self._expression(first.ifs[0])
        elif len(node.generators) == 1:  # type: ignore[attr-defined]
            self._all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])  # type: ignore[attr-defined]

    def _call(self, name: str) -> None:
        """Walk the body of a function of the check's own, the first time it is called."""
        if name in self._functions and name not in self._called:
            self._called.add(name)
            self.block(self._functions[name].body)


def _is_match(node: ast.stmt) -> bool:
    return type(node).__name__ == "Match"


def _jumps(nodes: Iterable[ast.AST]) -> bool:
    """Return whether these statements may leave the block that they are in, other than by an exception."""
    for node in nodes:
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
            return True
        if isinstance(node, _SCOPES):
            continue
        children = list(ast.iter_child_nodes(node))
        if _has(children, (ast.Return,)) if isinstance(node, _LOOPS) else _jumps(children):
            return True
    return False


def _has(nodes: Iterable[ast.AST], kinds: tuple[type[ast.AST], ...]) -> bool:
    """Return whether nodes of these kinds are among the nodes or below them, but for those in other scopes."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, kinds):
            return True
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return False
