"""Collects what is only in the scoring points: numbers, names and phrases that an examiner cannot know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from viva.cases.case import ScoringPoint
from viva.judge.exam.common_words import language_of
from viva.judge.exam.words import is_small, specific, words_of

MOST = 500
"""Maximum number of secrets of one kind, because a case may be untrusted."""
SMALLEST = 13
"""Whole numbers below this say little: they count steps, files and the like."""
FEWEST_WORDS = 3
"""Minimum number of words of a scoring point that nobody else has used, so that together they are a leak."""
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab\u300c]([^\"\u201d\u201c\u00bb\u300d\n]{3,80})[\"\u201d\u201c\u00bb\u300d]|(?<!\w)'([^'\n]{3,80})'(?!\w)"
)
_NAME = re.compile(r"(?<=[a-z\u00df-\u00ff,;:] )[A-Z\u00c0-\u00de][\w-]{2,}")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What only the scoring points say, in the form in which messages are compared."""

    specifics: frozenset[str] = frozenset()
    """Numbers, identifiers, file names."""
    phrases: tuple[str, ...] = ()
    """Quoted texts and string constants of several words, in lower case."""
    names: frozenset[str] = frozenset()
    """Stems of names, each of which is a leak by itself."""
    points: tuple[frozenset[str], ...] = ()
    """Stems of the further words of each scoring point."""

    def __bool__(self) -> bool:
        return bool(self.specifics or self.phrases or self.names or self.points)


NO_SECRETS = Secrets()


def secrets_of(
    points: Iterable[ScoringPoint], known_text: str, stems: frozenset[str], specifics: frozenset[str], counted: int
) -> Secrets:
    """Return what only the scoring points say.

    Args:
        points: The scoring points.
        known_text: All that the examiner was told, in lower case.
        stems: The stems in it.
        specifics: The specifics in it.
        counted: Whole numbers up to this are counters of rounds or steps.
    """
    found: set[str] = set()
    phrases: dict[str, None] = {}
    names: set[str] = set()
    weak: list[frozenset[str]] = []
    for point in points:
        statement = words_of(point.score_point)
        constants = list(_constants(point.eval_code)) if point.eval_code else _answers(point)
        found |= statement.specifics
        texts = [first or second for first, second in _QUOTED.findall(point.score_point)]
        own_names = _names(point.score_point)
        for constant in constants:
            if isinstance(constant, str):
                texts.append(constant)
            else:
                found.add(specific(repr(constant)))
        for text in texts:
            if len(text.split()) > 1:
                phrases[" ".join(text.casefold().split())] = None
            else:
                inside = words_of(text)
                found |= inside.specifics
                # A single word of a check is an answer only if the statement has it, too.
                names |= inside.stems & (statement.stems | own_names)
        names |= own_names
        only = statement.stems - stems - own_names
        if len(only) >= FEWEST_WORDS:
            weak.append(only)
    return Secrets(
        frozenset(sorted(each for each in found if _tells(each, specifics, known_text, counted))[:MOST]),
        tuple(each for each in phrases if each not in known_text and _says(each))[:MOST],
        frozenset(sorted(each for each in names if each not in stems and each not in known_text)[:MOST]),
        tuple(weak[:MOST]),
    )


def _tells(key: str, known: frozenset[str], text: str, counted: int) -> bool:
    if key in known or (not key.isdecimal() and key in text):
        return False
    if key.lstrip("-").isdecimal():
        return int(key) >= SMALLEST and int(key) > counted and not (is_small(key) and int(key) % 10 == 0)
    return len(key) > 2 and not re.fullmatch(r"0\.0*\d", key)


def _says(phrase: str) -> bool:
    return 2 <= len(phrase.split()) <= 15 and len(phrase) >= 8 and sum(sign.isalnum() for sign in phrase) >= 6


def _names(statement: str) -> set[str]:
    # German writes every noun like a name.
    if language_of({word.casefold() for word in statement.split()}) == "de":
        return set()
    return {stem for name in _NAME.findall(statement) for stem in words_of(name).stems}


def _answers(point: ScoringPoint) -> list[str | float]:
    """Return what a check without code looks for, numbers as a check by code would have them."""
    if point.check is None:
        return []
    # Here, because most cases have no such checks.
    from viva.cases.checks.uses import answers_in

    whole = (int(each) if isinstance(each, float) and each.is_integer() else each for each in answers_in(point))
    return [each for each in whole if not isinstance(each, str) or 3 <= len(each) <= 200]


def _constants(code: str) -> Iterator[str | float]:
    """Yield the constants of a check that can be answers: not its keys, patterns, modes, messages and documentation."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    inside: list[ast.AST] = list(ast.iter_child_nodes(tree))
    while inside:
        node = inside.pop()
        if isinstance(node, ast.Constant):
            if (
                isinstance(node.value, str)
                and 3 <= len(node.value) <= 200
                and not re.search(r"[\\|\[\]()*+^$]", node.value)
            ) or (isinstance(node.value, int | float) and not isinstance(node.value, bool)):
                yield node.value
            continue
        inside += _parts(node)


def _parts(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return []
    if isinstance(node, ast.Assert):
        return [node.test]
    if isinstance(node, ast.Raise):
        return []
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.keyword) and node.arg in ("newline", "encoding", "mode", "sep", "end", "default", "key"):
        return []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
            return [node.func]
        if node.func.attr in ("replace", "strip", "split", "get", "join", "encode", "rstrip", "lstrip", "format"):
            return [node.func]
    return list(ast.iter_child_nodes(node))
