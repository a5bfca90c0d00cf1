"""Knows the types of what Viva gives a check, and finds operations that these types do not have.

`chat_history` is a list of messages with a `content`, `rounds` a list of dicts. An operation that is proven to fail on
them is the check's own fault: `"4" in chat_history[-1]` looks into a message, which is no container.

This module also runs in the sandbox, on any Python from 3.9.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from viva.cases.check_code.certain import binds_unseen, certain_nodes

ROUND_KEYS = frozenset({"number", "examiner", "agent", "error", "steps", "seconds", "cut", "steps_left_out"})
_HISTORY, _MESSAGE, _ROUNDS, _ROUND, _TEXT, _JSON = "history", "message", "rounds", "round", "text", "json"
_ELEMENTS = {_HISTORY: _MESSAGE, _ROUNDS: _ROUND}
_KEEPS_TEXT = frozenset({"lower", "upper", "strip", "lstrip", "rstrip", "casefold", "replace", "title"})
_ITERABLE = ("__iter__", "__getitem__")
_NEEDS = {
    "len": ("__len__",),
    **dict.fromkeys(("int", "float"), ("__int__", "__float__", "__index__", "__len__")),
    **dict.fromkeys(("list", "set", "tuple", "sorted", "sum", "any", "all", "iter", "enumerate"), _ITERABLE),
}
"""What builtins need of their first argument: one of these. (A number is also made of text, which has a length.)"""
_READS_TEXT = {
    **dict.fromkeys(("re.search", "re.match", "re.fullmatch", "re.findall", "re.finditer", "re.split"), 1),
    "json.loads": 0,
}


class PlainMessage:
    """Has what every message has that a check sees; stands for one where only the source is looked at."""

    content = additional_kwargs = response_metadata = type = name = id = ""
    dict = json = model_dump = model_dump_json = to_json = None


class ConversationTypes:
    """The types of a check's expressions, as far as they come from what Viva gives it."""

    def __init__(self, tree: ast.Module, given: Mapping[str, Any], bound: Mapping[str, int]) -> None:
        """Read the source.

        Args:
            tree: The check.
            given: What is defined when it begins. The lists of this run say whether they are empty.
            bound: How often the check binds each name.
        """
        self._bound = bound
        self._imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
            if not alias.asname
        }
        self._set = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        }
        self._is_open = binds_unseen(tree)
        self._filled = {name for name in ("chat_history", "rounds") if given.get(name)}
        self._samples: dict[str, object] = {_HISTORY: [], _ROUNDS: [], _ROUND: {}, _TEXT: ""}
        history = given.get("chat_history")
        if isinstance(history, list) and history:
            self._samples[_MESSAGE] = history[0]
        if isinstance(given.get("json"), ModuleType):
            self._samples[_JSON] = given["json"]
        self._aliases: dict[str, str] = {}
        for node in certain_nodes(tree, self.is_filled) if not self._is_open else ():
            self._learn(node)

    def _learn(self, node: ast.AST) -> None:
        """Note the type of a name that has one value for the whole check."""
        target: ast.AST | None = None
        kind = None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, kind = node.targets[0], self._kind(node.value)
        elif isinstance(node, (ast.For, ast.comprehension)):
            target, kind = node.target, _ELEMENTS.get(self._kind(node.iter) or "")
        if isinstance(target, ast.Name) and kind is not None and self._bound.get(target.id) == 1:
            self._aliases[target.id] = kind
        for each in getattr(node, "generators", ()):
            self._learn(each)

    def is_filled(self, node: ast.expr) -> bool:
        """Return whether an expression is one of Viva's lists that is not empty in this run."""
        return isinstance(node, ast.Name) and node.id in self._filled and not self._bound.get(node.id)

    def faults(self, node: ast.AST) -> Iterator[str]:
        """Yield the exceptions that evaluating this node raises in any case."""
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            kind = self._kind(node.comparators[0])
            if self._lacks(kind, "__contains__", *_ITERABLE) or (kind == _TEXT and _is_no_text(node.left)):
                yield "TypeError"
        elif isinstance(node, ast.Subscript):
            yield from self._subscript(self._kind(node.value), _constant(node.slice))
        elif isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Load) and self._lacks(self._kind(node.value), node.attr):
                yield "AttributeError"
        elif isinstance(node, ast.For):
            if self._lacks(self._kind(node.iter), *_ITERABLE):
                yield "TypeError"
        elif isinstance(node, ast.Call) and self._is_given_wrong(node):
            yield "TypeError"

    def _is_module(self, name: str) -> bool:
        """Return whether a name means the module of this name: nothing but an `import` binds it."""
        times = self._bound.get(name, 0)
        return (times == 0 and name == "json") or (times == 1 and name in self._imported)

    def _subscript(self, kind: str | None, index: object) -> Iterator[str]:
        if self._lacks(kind, "__getitem__") or (kind in (_HISTORY, _ROUNDS, _TEXT) and isinstance(index, str)):
            yield "TypeError"
        elif kind == _ROUND and isinstance(index, (str, int)) and index not in ROUND_KEYS:
            yield "KeyError"

    def _is_given_wrong(self, node: ast.Call) -> bool:
        """Return whether a function is called with something that it cannot take."""
        name = ast.unparse(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else ""
        if name in _READS_TEXT:
            at = _READS_TEXT[name]
            kind = self._kind(node.args[at]) if at < len(node.args) else None
            return kind in (_MESSAGE, _HISTORY, _ROUNDS, _ROUND) and self._is_module(name.partition(".")[0])
        kind = self._kind(node.args[0]) if node.args else None
        needs = _NEEDS.get(name, ())
        return bool(needs) and not self._bound.get(name) and self._lacks(kind, *needs)

    def _lacks(self, kind: str | None, *names: str) -> bool:
        """Return whether values of this kind are known to have none of these attributes."""
        return kind is not None and not self._has(kind, *names)

    def _has(self, kind: str, *names: str) -> bool:
        """Return whether values of this kind have one of these attributes; a kind without a sample may have any."""
        if kind not in self._samples or not self._set.isdisjoint(names):
            return True
        return any(hasattr(self._samples[kind], name) for name in names)

    def _kind(self, node: ast.AST) -> str | None:
        """Return the type of an expression; None if it is not known."""
        if self._is_open:
            return None
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Subscript):
            kind = self._kind(node.value)
            if kind in _ELEMENTS:
                return kind if isinstance(node.slice, ast.Slice) else _element(kind, _constant(node.slice))
            return _TEXT if kind == _TEXT else None
        if isinstance(node, ast.Attribute):
            return _TEXT if node.attr == "content" and self._kind(node.value) == _MESSAGE else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS_TEXT:
            return _TEXT if self._kind(node.func.value) == _TEXT else None
        return None

    def _named(self, name: str) -> str | None:
        if name in self._aliases:
            return self._aliases[name]
        if name == "json":
            return _JSON if self._is_module(name) else None
        given = {"chat_history": _HISTORY, "rounds": _ROUNDS}.get(name)
        return given if not self._bound.get(name) else None


def _element(kind: str, index: object) -> str | None:
    return _ELEMENTS[kind] if isinstance(index, int) else None


def _is_no_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, str)


def _constant(node: ast.AST) -> object:
    """Return the value of a constant, or of a negative number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(node.operand)
        return -value if isinstance(value, int) else None
    return node.value if isinstance(node, ast.Constant) else None
