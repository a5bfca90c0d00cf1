"""Finds what loads, and is probably not what the author meant: names that a check does not have, unused placeholders.

A case with such findings can be used: a name in braces may be part of the message, and a name may be defined in a way
that cannot be seen. `viva cases check` therefore reports them, and no other command refuses the case.
"""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from viva.cases.case import Case
from viva.cases.check_names import CHECK_NAMES
from viva.cases.text import describe
from viva.cases.yaml_lines import LineNumbers, read_yaml

MAX_CODE = 200_000
"""Characters of one `eval_code` that are analyzed. The analysis takes about 10 s for a million."""
MAX_FINDINGS = 20
"""Of one `eval_code`."""
_PLACEHOLDER = re.compile(r"(?<!\{)\{([^\W\d]\w{0,60})\}(?!\})")


@dataclass(frozen=True, slots=True)
class LintFinding:
    """Something in a case that is probably not what its author meant."""

    message: str
    line: int | None = None
    """The line of the case file, counted from 1."""
    certain: bool = True
    """False for what may be meant as it is written; it is then reported as a warning."""


def lint_case(case: Case) -> list[LintFinding]:
    """Return the findings of a case that loads, in the order of their lines.

    Raises:
        CaseError: the file has become unreadable since it was loaded.
    """
    _, lines, _ = read_yaml(case.file)
    found = [*_script(case, lines), *_checks(case, lines)]
    return sorted(found, key=lambda finding: finding.line or 0)


def _script(case: Case, lines: LineNumbers) -> Iterator[LintFinding]:
    counters = {line.counter for line in case.script if line.first is not None}
    for index, line in enumerate(case.script):
        names = dict.fromkeys(_PLACEHOLDER.findall(line.say))
        loops = line.first is not None
        for name in names:
            if loops and name == line.counter:
                continue
            where = lines.of("script", index, "say")
            if loops and line.counter not in names:
                words = f"{{{name}}} is not replaced: 'for' counts {line.counter!r}; write {{{line.counter}}}"
                yield LintFinding(words, where)
            elif loops:
                words = f"{{{name}}} is not replaced, because 'for' counts {line.counter!r}: the agent sees the braces"
                yield LintFinding(words, where, certain=False)
            elif name in counters or (len(name) == 1 and not re.search(rf"[\w^}}$\\]\{{{name}\}}", line.say)):
                yield LintFinding(f"{{{name}}} is not replaced: this message has no 'for: {name} in 1..5'", where)
            else:
                words = f"{{{name}}} is not replaced, because this message has no 'for': the agent sees the braces"
                yield LintFinding(words, where, certain=False)


def _checks(case: Case, lines: LineNumbers) -> Iterator[LintFinding]:
    for index, point in enumerate(case.scoring_points):
        for line, message in _code_findings(point.eval_code or ""):
            yield LintFinding(message, lines.inside(line, "scoring_points", index, "eval_code"))


def _code_findings(code: str) -> Iterator[tuple[int, str]]:
    """Yield the line of the code, and what is wrong there, by the rules of pyflakes."""
    from pyflakes import checker, messages

    told = (messages.UndefinedName, messages.UndefinedLocal, messages.AssertTuple, messages.IfTuple)
    if len(code) > MAX_CODE:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code, "eval_code")
            faults = checker.Checker(tree, "eval_code", builtins=set(CHECK_NAMES)).messages
    except (RecursionError, MemoryError):
        return
    found = (fault for fault in faults if isinstance(fault, told))
    known: list[str] | None = None
    for fault in islice(sorted(found, key=lambda each: (each.lineno, each.col)), MAX_FINDINGS):
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
