"""Finds what a reason compares (`X != Y`, `expected X, got Y`) and marks where the two differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile

MOST_COMPARED = 4000
"""Maximum number of characters of a reason in which two values are looked for."""
MOST_TOKENS = 60
"""Maximum number of tokens that are aligned; between longer texts, everything from the first to the last difference
is marked, so that the time for an untrusted journal stays linear."""
KEPT_AROUND = 60
"""Number of characters of an unchanged stretch that are kept at each of its ends if the stretch is shortened."""
ONLY_SPACES = "They differ in white space only."

Part = str | tuple[str]
"""Plain text that both values have, or in a tuple, text that only this one has."""


@dataclass(frozen=True, slots=True)
class ReasonSide:
    """One of the two values of a reason."""

    label: str
    """What the reason calls it, for example `expected`."""
    parts: tuple[Part, ...]
    """The parts, which together are the whole value."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A reason that compares two values."""

    head: str
    """The text before the values, for example the name of the exception."""
    sides: tuple[ReasonSide, ReasonSide]
    tail: str
    """The text after the values, for example the line of the check."""
    note: str = ""
    """A remark if the difference is hard to see."""


# After the line, a fault of the workspace may follow, and what a second judge says.
_TAIL = re.compile(r" \(line \d{1,9} of the check\)(?:(?:; | \| ).*)?\Z", re.DOTALL)
# What pandas says after the two values.
_FIRST_DIFFERENCE = re.compile(r"\nAt (?:positional )?index [^\n]*, first diff: [^\n]*\Z")
_LINE = re.compile(r" \(line \d{1,9} of the check\)\Z")
_EXCEPTION = re.compile(r"\A[A-Za-z_][\w.]{0,80}(?:Error|Exception|Warning|Timeout): ")
# Words that are also common in prose count only with a colon or an equals sign.
_WORD = re.compile(
    r"""(?<![\w'"-])(?P<word>
      (?P<want>expected|wanted|want|instead\ of|\[?(?:desired|right|reference)\]?(?=\ ?[:=]))
      |(?P<got>got|received|\[?(?:actual|found|left)\]?(?=\ ?[:=]))
    )\ ?[:=]?(?:\ {1,2}|\t|\n)""",
    re.IGNORECASE | re.VERBOSE,
)
_BETWEEN = re.compile(r"(?:[,;.]? (?:but|and)|[,;]|[,;]?[ \n])[ \n]?\Z")
_LABEL = re.compile(r"(?P<first>[A-Za-z]{2,40})(?P<rest>[^:\n]{1,60}): ")
_EQUALS = {" != ": "", " == ": "assert "}
_TOKEN = re.compile(r"\w+|\s|[^\w\s]")


@lru_cache(maxsize=2048)
def compared(reason: str) -> Compared | None:
    """Return the two values that a reason compares; None if it does not compare two values in a known form.

    Known are the forms of Python's test tools (`X != Y`, `assert X == Y`, `ACTUAL: … DESIRED: …`, `[left]: …
    [right]: …`), of doctest and of people (`expected X, got Y`, in either order), and two values with labels that
    begin with the same word (`content of a.txt: X, content of b.txt: Y`).
    """
    if len(reason) > MOST_COMPARED:
        return None
    start, body, end = framed(reason)
    if after := _FIRST_DIFFERENCE.search(body):
        body, end = body[: after.start()], body[after.start() :] + end
    for find in (_by_words, _by_labels, _by_sign):
        values = find(body)
        if values is not None:
            head, (one, first), (other, second) = values
            sides = _sides((one, first), (other, second))
            return Compared(start + head, sides, end, _note(first, second))
    return None


def framed(reason: str) -> tuple[str, str, str]:
    """Split a reason into the name of the exception, what it says, and the line of the check."""
    tail = _TAIL.search(reason)
    end = tail.start() if tail else len(reason)
    start = found.end() if (found := _EXCEPTION.match(reason)) and found.end() < end else 0
    return reason[:start], reason[start:end], reason[end:]


def without_line(reason: str) -> str:
    """Return a reason without the line of the check, if nothing follows it."""
    return _LINE.sub("", reason)


def shortened(parts: Sequence[Part]) -> list[Part]:
    """Return the parts of a value with the middle of each long unchanged stretch left out."""
    return [_shortened(part) if isinstance(part, str) else part for part in parts]


def _shortened(text: str) -> str:
    if len(text) <= 3 * KEPT_AROUND:
        return text
    return f"{text[:KEPT_AROUND]} … {text[-KEPT_AROUND:]}"


_Values = tuple[str, tuple[str, str], tuple[str, str]]
"""The text before the values; the label and the text of each."""


def _by_words(body: str) -> _Values | None:
    words = list(_WORD.finditer(body))
    want = next((word for word in words if word["want"]), None)
    got = next((word for word in words if word["got"]), None)
    if want is None or got is None:
        return None
    first, second = sorted((want, got), key=lambda word: word.start())
    one, other = _BETWEEN.sub("", body[first.end() : second.start()], count=1), body[second.end() :]
    if not one or not other:
        return None
    labels = [word["word"].strip("[]").lower() for word in (first, second)]
    return body[: first.start()], (labels[0], one), (labels[1], other)


def _by_labels(body: str) -> _Values | None:
    label = _LABEL.match(body)
    if label is None:
        return None
    again = re.compile(rf"(?:, |; |\n)({label['first']}[^:\n]{{1,60}}): ").search(body, label.end())
    if again is None or again[1] == label["first"] + label["rest"] or not body[label.end() : again.start()]:
        return None
    one, other = body[label.end() : again.start()], body[again.end() :]
    return "", (label["first"] + label["rest"], one), (again[1], other)


def _by_sign(body: str) -> _Values | None:
    for sign, before in _EQUALS.items():
        if body.count(sign) == 1 and body.startswith(before):
            one, _, other = body[len(before) :].partition(sign)
            if one and other:
                return before, ("left", one), ("right", _first_line(one, other))
    return None


def _first_line(one: str, other: str) -> str:
    """Return a value without the lines in which unittest shows the difference again."""
    shown, *again = other.splitlines()
    repeats = "\n" not in one and any(again) and all(line[:2] in ("- ", "+ ", "? ", "  ", "") for line in again)
    return shown if repeats else other


def _note(one: str, other: str) -> str:
    return ONLY_SPACES if one != other and "".join(one.split()) == "".join(other.split()) else ""


def _sides(first: tuple[str, str], second: tuple[str, str]) -> tuple[ReasonSide, ReasonSide]:
    one, other = _TOKEN.findall(first[1]), _TOKEN.findall(second[1])
    ahead = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    rest = min(len(one), len(other)) - ahead
    pairs = zip(reversed(one), reversed(other), strict=False)
    behind = min(rest, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
    spans = list(_spans(one[ahead : len(one) - behind], other[ahead : len(other) - behind]))
    sides = []
    for position, (label, tokens) in enumerate(((first[0], one), (second[0], other))):
        changes = [(ahead + span[position][0], ahead + span[position][1]) for span in spans]
        sides.append(ReasonSide(label, tuple(_parts(tokens, changes))))
    return sides[0], sides[1]


_Span = tuple[tuple[int, int], tuple[int, int]]


def _spans(one: Sequence[str], other: Sequence[str]) -> Iterator[_Span]:
    """Yield where two lists of tokens differ."""
    if max(len(one), len(other)) > MOST_TOKENS:
        yield (0, len(one)), (0, len(other))
        return
    for kind, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind != "equal":
            yield (a, b), (c, d)


def _parts(tokens: Sequence[str], changes: Sequence[tuple[int, int]]) -> Iterator[Part]:
    if list(changes) == [(0, len(tokens))]:
        # Nothing is the same: marks would say nothing.
        yield "".join(tokens)
        return
    place = 0
    for start, end in changes:
        if place < start:
            yield "".join(tokens[place:start])
        if start < end:
            yield ("".join(tokens[start:end]),)
        place = end
    if place < len(tokens):
        yield "".join(tokens[place:])
