"""Assertions of promptfoo that become `eval_code`, which runs in the sandbox when an exam is judged, never here."""

from __future__ import annotations

import ast
import json
from typing import Any

from viva.interchange.promptfoo.checks import Assertion, Unfit, text


def python_check(assertion: Assertion, function: str | None, variables: dict[str, Any]) -> str:
    """Return the code of a check for a Python assertion, which runs in the sandbox.

    Args:
        assertion: Its value is an expression, the body of a function that returns, or with `function` a whole module.
        function: The name of the function in the module.
        variables: The variables of the test, which the code may read.
    """
    code = text(assertion)
    if function is None and "context" not in code and _is_condition(code):
        condition = f"not ({code.strip()})" if assertion.negated else code.strip()
        return f'output = rounds[-1]["agent"]\nassert {condition}, output[:200]\n'
    if function is None:
        lines = code.strip("\n").splitlines() or ["False"]
        body = lines if any(line.lstrip().startswith("return") for line in lines) else _with_return(lines)
        code = "def get_assert(output, context):\n" + "\n".join(f"    {line}" for line in body)
        function = "get_assert"
    least = "> 0" if assertion.threshold is None else f">= {assertion.threshold!r}"
    return f"""{code.rstrip()}

variables = json.loads({json.dumps(json.dumps(variables))})
result = {function}(rounds[-1]["agent"], {{"vars": variables, "prompt": rounds[-1]["examiner"]}})
reason = "the assertion of promptfoo failed"
if isinstance(result, dict):
    reason = str(result.get("reason", reason))
    result = result.get("pass", result.get("pass_", result.get("score", 0)))
if not isinstance(result, bool):
    result = float(result) {least}
assert {"not result" if assertion.negated else "result"}, reason
"""


def _is_condition(code: str) -> bool:
    """Return whether code is a single expression whose value is true or false, not a number or a mapping."""
    try:
        found: ast.expr = ast.parse(code.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    negated = isinstance(found, ast.UnaryOp) and isinstance(found.op, ast.Not)
    return (
        negated
        or isinstance(found, ast.Compare)
        or (isinstance(found, ast.BoolOp) and all(isinstance(each, ast.Compare) for each in found.values))
    )


def _with_return(lines: list[str]) -> list[str]:
    if not lines[-1].strip() or lines[-1][:1].isspace():
        raise Unfit("its code returns nothing")
    return [*lines[:-1], f"return {lines[-1]}"]


def xml_check(assertion: Assertion) -> str:
    """Return the code of a check that an answer is XML, or contains some, with all elements that are required."""
    wanted = assertion.value.get("requiredElements", []) if isinstance(assertion.value, dict) else []
    whole = assertion.kind == "is-xml"
    return f"""import re
import xml.etree.ElementTree as tree

answer = rounds[-1]["agent"].strip()
required = json.loads({json.dumps(json.dumps(wanted))})
fragments = re.finditer(r"<([A-Za-z_][\\w.-]*)[^<>]*>.*</\\1>|<[A-Za-z_][^<>]*/>", answer, re.S)
pieces = [answer] if {whole} else [match.group() for match in fragments]


def is_fit(piece):
    try:
        root = tree.fromstring(piece)
    except tree.ParseError:
        return False
    for name in required:
        first, *others = name.split(".")
        if root.tag != first or (others and root.find("/".join(others)) is None):
            return False
    return True


found = "<!DOCTYPE" not in answer and any(is_fit(piece) for piece in pieces)
assert {"not found" if assertion.negated else "found"}, answer[:200]
"""
