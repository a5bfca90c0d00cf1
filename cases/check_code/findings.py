"""Finds what is probably not meant in the checks of a case, from their source alone.

A check with such findings can be run: a name may be defined in a way that cannot be seen, and a check may be meant to
fail by what it calls.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from viva.cases.case import Case
from viva.cases.check_code.conversation_types import ROUND_KEYS, PlainMessage
from viva.cases.check_code.effect import effect_of
from viva.cases.check_code.imports import DISTRIBUTIONS, advice, unexplained_imports
from viva.cases.check_code.own_faults import own_faults
from viva.cases.check_names import CHECK_NAMES
from viva.cases.text import describe

MAX_CODE = 200_000
"""Characters of one `eval_code` that are analyzed. The analysis takes about 10 s for a million."""
MAX_FINDINGS = 20
"""Maximum number of findings of one `eval_code`."""
_GIVEN: dict[str, Any] = dict.fromkeys(CHECK_NAMES) | {
    "json": json,
    "chat_history": [PlainMessage(), PlainMessage()],
    "rounds": [{}],
}
_CANNOT_FAIL = "eval_code cannot fail: it reaches no assert and no raise, so every agent gets the point; add an assert"
_NO_ASSERT = "eval_code reaches no assert and no raise: it passes unless something that it calls or reads fails"
_TOLD = {
    "TypeError": "eval_code fails here with TypeError in any case: what an entry of chat_history says is its .content",
    "KeyError": f"eval_code fails here in any case: a round has no such key; it has {', '.join(sorted(ROUND_KEYS))}",
    "AttributeError": "eval_code fails here in any case: there is no such attribute",
    "SystemExit": "eval_code exits here in any case, so it can never pass; it passes when it reaches its end",
}


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """Something in a check that is probably not what its author meant."""

    point: int
    """The number of its scoring point, from 1."""
    line: int
    """The line of the `eval_code`, from 1."""
    message: str
    certain: bool = True
    """False for what may be meant as it is written."""
    in_runs: bool = True
    """Whether a run reports it before it begins; there, imports are checked against what is really installed."""


def check_findings(case: Case) -> list[CheckFinding]:
    """Return the findings in the checks of a case, in the order of its points and their lines."""
    return [
        finding
        for number, point in enumerate(case.scoring_points, 1)
        if point.eval_code and len(point.eval_code) <= MAX_CODE
        for finding in sorted(_of_check(case, number, point.eval_code), key=lambda each: each.line)
    ]


def _of_check(case: Case, point: int, code: str) -> Iterator[CheckFinding]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code, "eval_code")
            names = list(islice(_names(tree), MAX_FINDINGS))
            faults = [] if names else list(_own_faults(case, tree))
            idle = [] if names or faults else list(islice(_effect(code), MAX_FINDINGS))
    except (RecursionError, MemoryError):
        return
    for line, message in [*names, *faults]:
        yield CheckFinding(point, line, message)
    for line, message, certain in idle:
        yield CheckFinding(point, line, message, certain)
    for line, message, certain in _imports(case, code):
        yield CheckFinding(point, line, message, certain, in_runs=False)


def _own_faults(case: Case, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield operations that cannot succeed on what Viva gives a check."""
    given = dict(_GIVEN)
    if any(requirement.startswith("langchain") for requirement in case.dependencies):
        del given["chat_history"]  # its messages have more than ours
    for kind, node in own_faults(tree, given).items():
        if kind in _TOLD:
            yield getattr(node, "lineno", 1), _TOLD[kind]


def _effect(code: str) -> Iterator[tuple[int, str, bool]]:
    """Yield what has no effect on the outcome."""
    effect = effect_of(code)
    for node in effect.idle:
        yield node.lineno, "eval_code discards the result of this comparison; write assert in front of it", True  # type: ignore[attr-defined]
    for each in effect.always_true:
        if not isinstance(each.test, ast.Tuple):
            certain = not isinstance(each.test, ast.Constant)
            yield each.lineno, "eval_code asserts what is true whatever the agent did", certain
    if effect.asserts or effect.idle or effect.always_true:
        return
    yield (1, _NO_ASSERT, False) if effect.may_raise else (1, _CANNOT_FAIL, True)


def _imports(case: Case, code: str) -> Iterator[tuple[int, str, bool]]:
    """Yield imports that neither the standard library, the data files nor the case's words explain."""
    required = {re.split(r"[^\w.-]", text, maxsplit=1)[0].lower().replace("_", "-") for text in case.dependencies}
    for each in unexplained_imports(case, code):
        if DISTRIBUTIONS.get(each.name, each.name).lower().replace("_", "-") not in required:
            words = f"eval_code imports {describe(each.name)}, which is not in the standard library"
            # What the dependencies bring in turn is known only once they are installed.
            yield each.line, f"{words}; {advice(each.name)}", each.is_certain and not case.dependencies


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line of the code, and what is wrong there, by the rules of pyflakes."""
    from pyflakes import checker, messages

    told = (messages.UndefinedName, messages.UndefinedLocal, messages.AssertTuple, messages.IfTuple)
    faults = checker.Checker(tree, "eval_code", builtins=set(CHECK_NAMES)).messages
    found = (fault for fault in faults if isinstance(fault, told))
    known: list[str] | None = None
    for fault in sorted(found, key=lambda each: (each.lineno, each.col)):
        if isinstance(fault, messages.UndefinedName):
            name = str(fault.message_args[0])
            known = known or [*CHECK_NAMES, *_bound(tree)]
            near = difflib.get_close_matches(name, known, 1, 0.7)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            yield fault.lineno, f"eval_code uses {describe(name)}, which is not defined{hint}"
        elif isinstance(fault, messages.UndefinedLocal):
            yield fault.lineno, f"eval_code uses {describe(fault.message_args[0])} before it has a value"
        elif isinstance(fault, messages.AssertTuple):
            yield fault.lineno, "eval_code asserts a tuple, which is always true; remove the parentheses"
        elif isinstance(fault, messages.IfTuple):
            yield fault.lineno, "eval_code has an 'if' on a tuple, which is always true; remove the parentheses"


def _bound(tree: ast.Module) -> set[str]:
    """Return the names to which the code itself gives a value."""
    nodes = list(ast.walk(tree))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
