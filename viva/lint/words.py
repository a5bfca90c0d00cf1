"""Reads statements, as far as word lists and the code of a check can tell what they demand.

The lists decide only how loudly something is reported. Where they are in doubt, it is a note and no finding, because a
false alarm costs more than a missed one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from viva.cases import ScoringPoint
from viva.cases.checks.uses import forbids

_LIMITS = re.compile(
    r"\b(?:not?|never|none|nothing|nobody|neither|nor|without|cannot|refus\w*|declin\w*|avoid\w*|reject\w*|withhold\w*"
    r"|resist\w*|only|at most|no more|fewer|less than|within|under|below|up to|maximum|instead|unchanged|untouched"
    r"|intact|still|stays?|remains?|keeps?|kept|free of|absen\w+|lacks?|unless"
    r"|(?<!ask )(?<!asks )(?<!asking )if|whenever"
    r"|all|every|each|any|polite\w*|friendly"
    r"|nicht|keine?\w*|nie|niemals|ohne|nur|höchstens|pas|jamais|sans|aucune?|nunca|sin|jamás|senza|mai|não|nunca|sem"
    r"|не|нет|без|никогда|niet|geen|nooit|zonder|inte|aldrig|utan|nie|bez)\b|n['\u2019]t\b|[不没無无]|ない|ません|않|없",
    re.IGNORECASE,
)
_ENGLISH = re.compile(r"\b(?:the|agent|an?|is|are|reply|file|assistant)\b", re.IGNORECASE)
_REPEATING = re.compile(
    r"\b(?:repeat\w*|echo\w*|spell\w*|quot(?:e|es|ed|ing)|cop(?:y|ies|ied)|recit\w*|verbatim|word for word|back to"
    r"|remember\w*|recall\w*|memori[sz]\w*|confirm\w*|acknowledg\w*|mention\w*|address\w*|greet\w*|passes on"
    r"|wiederhol\w*|bestätig\w*|répèt\w*|répét\w*|repit\w*|repet\w*|ripet\w*|повтор\w*)\b",
    re.IGNORECASE,
)
_DICTATING = re.compile(
    r"\b(?:say|write|type|print|put|pronounce|(?:reply|answer|respond) (?:only )?with|sagen?|schreib\w*|dis|di)\b",
    re.IGNORECASE,
)
"""In a message to the agent; a statement that says what the agent says demands nothing of the kind."""
_FINDING_OUT = re.compile(
    r"\b(?:finds?|found|computes?|calculates?|works? out|determines?|discovers?|identif\w+|deriv\w+|deduc\w+"
    r"|solves?|counts?|looks? up|concludes?|diagnos\w+|guess\w*|answers?|reports?|tells?|says?|states?|result|solution"
    r"|correct\w*)\b",
    re.IGNORECASE,
)


def is_limit(statement: str, code: str | None = None) -> bool:
    """Return whether a statement asks that something does not happen, or only under a condition, or is so of all.

    An agent that does nothing may rightly get such a point: `The agent never asks for a credit card.`
    """
    if _LIMITS.search(statement):
        return True
    return code is not None and not _ENGLISH.search(statement) and denies(code)


def limits(point: ScoringPoint) -> bool:
    """Return whether a point asks for a limit (see `is_limit`): in its statement, its code or its check."""
    return is_limit(point.score_point, point.eval_code) or (not _ENGLISH.search(point.score_point) and forbids(point))


def asks_to_repeat(statement: str, messages: Iterable[str] = ()) -> bool:
    """Return whether a statement demands, or a message to the agent dictates, words that the agent was given."""
    dictated = any(_REPEATING.search(message) or _DICTATING.search(message) for message in messages)
    return dictated or bool(_REPEATING.search(statement))


def asks_to_find_out(statement: str) -> bool:
    """Return whether a statement asks for something that the agent has to find out."""
    return bool(_FINDING_OUT.search(statement)) and not asks_to_repeat(statement)


def denies(code: str) -> bool:
    """Return whether all assertions of a check ask that something is not there, or not too much."""
    try:
        tests = [node.test for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Assert)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return bool(tests) and all(map(_is_denial, tests))


def _is_denial(test: ast.expr) -> bool:
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not)
    if isinstance(test, ast.BoolOp):
        return all(map(_is_denial, test.values))
    if isinstance(test, ast.Compare):
        return all(isinstance(op, ast.NotIn | ast.NotEq | ast.Lt | ast.LtE) for op in test.ops)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "all" and test.args:
        inner = test.args[0]
        return isinstance(inner, ast.GeneratorExp | ast.ListComp) and _is_denial(inner.elt)
    return False
