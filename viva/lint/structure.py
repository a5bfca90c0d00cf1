"""Finds what numbers tell of a case: rounds that never come, weights without effect, points that are given twice."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

from viva.cases import Case
from viva.cases.checks.uses import latest_round
from viva.examiner.conversation import DEFAULT_MAX_ROUNDS
from viva.lint.finding import CaseFinding, LintKind
from viva.lint.papers import messages_of, script_length
from viva.lint.places import CaseLines
from viva.lint.words import limits
from viva.records.text import counted, plural

SMALLEST_SHARE = 0.01
"""Of the sum of all weights: a smaller one changes no score that is shown with two digits."""
SMALLEST_RATIO = 0.02
"""Of the largest weight: many equal points are all small, and all count."""
_ROUNDS = re.compile(
    r"\b(?:in|after|until|by|for|over|through) (?:the |all )?(\d{1,4})(?:st|nd|rd|th)? rounds?\b|\bround (\d{1,4})\b",
    re.IGNORECASE,
)
"""Rounds of the conversation; an agent may play 20 rounds of a game in one reply."""


def structure_findings(case: Case, lines: CaseLines) -> Iterator[CaseFinding]:
    """Yield what is wrong with the numbers of a case."""
    yield from _script(case, lines)
    yield from _late_rounds(case, lines)
    yield from _weights(case, lines)
    yield from _duplicates(case, lines)


def most_messages(case: Case) -> int:
    """Return how many messages the examiner of a case can send."""
    limit = case.max_rounds or DEFAULT_MAX_ROUNDS
    return min(limit, script_length(case)) if case.script else limit


def _script(case: Case, lines: CaseLines) -> Iterator[CaseFinding]:
    limit = case.max_rounds or DEFAULT_MAX_ROUNDS
    always = sum(messages_of(line) for line in case.script if line.if_agent_says is None)
    most = script_length(case)
    where = lines.of("max_rounds") if case.max_rounds else lines.of("script")
    words = f"max_rounds is {limit}{'' if case.max_rounds else ' (the default)'}"
    if always > limit:
        unsent = f"{always - limit} {plural('is', always - limit, 'are')} never sent"
        message = f"{words}, but the script has {counted(always, 'message')}: {unsent}"
        yield CaseFinding(LintKind.ROUNDS, message, f"set max_rounds to {most} or more", where)
    elif most > limit:
        message = f"{words}, but the script has up to {counted(most, 'message')} if all its conditions are met"
        yield CaseFinding(LintKind.ROUNDS, message, f"set max_rounds to {most} if they can be", where, is_note=True)


def _late_rounds(case: Case, lines: CaseLines) -> Iterator[CaseFinding]:
    most = most_messages(case)
    for index, point in enumerate(case.scoring_points):
        if limits(point):
            continue
        wanted = _round_of_code(point.eval_code) if point.eval_code else 0
        key = "eval_code" if wanted > most else "score_point"
        if (bound := latest_round(point)) > max(wanted, most):
            wanted, key = bound, "round" if point.round == bound else "check"
        wanted = max(wanted, *(int(first or second) for first, second in _ROUNDS.findall(point.score_point)), 0)
        if wanted > most:
            own = "max_rounds" if case.max_rounds else "the default of max_rounds"
            why = "the script" if case.script and script_length(case) == most else own
            message = f"this point requires {counted(wanted, 'round')}, and {why} allows {most}: nobody can get it"
            advice = "lengthen the script, raise max_rounds, or have the check expect fewer"
            where = lines.of_point(index, key)
            yield CaseFinding(LintKind.NOBODY, message, advice, where, index + 1)


def _round_of_code(code: str) -> int:
    """Return the highest round that a check asserts about by its number; 0 if there is none.

    Only what every path reaches counts: an index in a branch, or in a generator, may be guarded by its length.
    """
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    found = [0]
    for statement in body:
        if isinstance(statement, ast.Assert | ast.Assign | ast.Expr):
            found += _numbers(statement.test if isinstance(statement, ast.Assert) else statement)
    return max(found)


def _numbers(tree: ast.AST) -> Iterator[int]:
    guarded = ast.BoolOp | ast.IfExp | ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp | ast.Lambda
    if isinstance(tree, guarded):
        return
    match tree:
        case ast.Subscript(value=ast.Name(id="rounds"), slice=ast.Constant(value=int(index))) if index >= 0:
            yield index + 1
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id="rounds")]),
            ops=[ast.GtE() | ast.Eq()],
            comparators=[ast.Constant(value=int(number))],
        ):
            yield number
    for child in ast.iter_child_nodes(tree):
        yield from _numbers(child)


def _weights(case: Case, lines: CaseLines) -> Iterator[CaseFinding]:
    largest = max(point.weight for point in case.scoring_points)
    for index, point in enumerate(case.scoring_points):
        share = point.weight / case.max_points
        if share < SMALLEST_SHARE and point.weight < SMALLEST_RATIO * largest:
            message = (
                f"weight {point.weight:g} is {100 * share:.2g} % of the score: no score shows whether it was earned"
            )
            where = lines.of_point(index, "weight")
            yield CaseFinding(LintKind.WEIGHT, message, "raise it, or remove the point", where, index + 1)


def _duplicates(case: Case, lines: CaseLines) -> Iterator[CaseFinding]:
    statements: dict[str, int] = {}
    checks: dict[str, int] = {}
    advice = "remove one, or add their weights up in one point"
    for index, point in enumerate(case.scoring_points):
        where = lines.of_point(index, "score_point")
        words = " ".join(re.findall(r"\w+", point.score_point.casefold()))
        first = statements.setdefault(words, index)
        code = None if point.eval_code is None else _plain_code(point.eval_code)
        code = code if point.check is None else json.dumps(point.check, sort_keys=True)
        same = index if code is None else checks.setdefault(code, index)
        if words and first != index:
            message = f"this statement is also that of point {first + 1}"
            yield CaseFinding(LintKind.DUPLICATE, message, advice, where, index + 1)
        elif same != index:
            message = (
                f"the check of this point is also that of point {same + 1}: both are always hit or missed together"
            )
            yield CaseFinding(LintKind.DUPLICATE, message, "check here what this statement says", where, index + 1)


def _plain_code(code: str) -> str:
    try:
        return ast.dump(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
