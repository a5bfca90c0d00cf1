"""Evaluates the checks of a text: of what it contains, how it begins, and what it is like."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any

from viva.cases.checks.data import (
    CheckRange,
    ContainsCheck,
    EdgeCheck,
    EqualsCheck,
    JsonCheck,
    NumberCheck,
    PatternCheck,
    SimilarCheck,
    TextCheck,
    WordsCheck,
)
from viva.cases.checks.patterns import compiled, looked_at
from viva.judge.checks.distance import edit_distance
from viva.judge.checks.json_values import check_json
from viva.judge.checks.looked_at import SHOWN, Allowance, FoundInText, WrittenText, decided, excerpt, quoted
from viva.judge.checks.numbers import MOST_NUMBERS, FoundNumber, numbers_in, without_last_word
from viva.records.text import counted
from viva.records.verdict import Label

SIMILAR_LOOKED_AT = 2_000
"""Characters of a reply that are compared with another text."""
_FIND, _NUMBERS, _SPLIT, _DISTANCE = 0.2, 8.0, 1.0, 20.0
"""What a character counts by what is done with it."""
_ROUNDING = 1e-9
_DEPENDS_ON_THE_END = re.compile(r"[$]|\\[zbB<>]")


def check_text(check: TextCheck, given: WrittenText, allowance: Allowance) -> FoundInText:
    """Return what a check finds in a text."""
    return _KINDS[type(check)](check, given, allowance)


def _contains(check: ContainsCheck, given: WrittenText, allowance: Allowance) -> FoundInText:
    cost = 1.0 + _FIND * len(check.texts) if check.ignore_case else _FIND * len(check.texts)
    shown, whole = allowance.look(given, cost)
    searched = shown.casefold() if check.ignore_case else shown
    places = [searched.find(text.casefold() if check.ignore_case else text) for text in check.texts]
    there = [place >= 0 for place in places]
    fulfilled = all(there) if check.needs == "all" else any(there)
    label = decided(fulfilled, whole=whole, final=fulfilled)
    first = next((index for index, place in enumerate(places) if place >= 0), None)
    if check.needs == "none":
        label = {Label.HIT: Label.MISS, Label.MISS: Label.HIT}.get(label, label)
    if first is None or len(searched) != len(shown):  # folding some letters makes two of them
        return FoundInText(label, quoted(shown))
    words = excerpt(shown, places[first], places[first] + len(check.texts[first]))
    missing = [text for text, found in zip(check.texts, there, strict=True) if not found]
    if missing and check.needs == "all":
        return FoundInText(label, f"{words!r}, without {excerpt(missing[0])!r}")
    return FoundInText(label, repr(words), words.strip("…"))


def _equals(check: EqualsCheck, given: WrittenText, allowance: Allowance) -> FoundInText:
    # Folding makes a letter three letters at most; a text that is longer than that can be none of those wanted.
    longest = 3 * max(len(text) for text in check.texts)
    shown, whole = allowance.look(given)
    text = shown.strip() if check.trim else shown
    if len(text) > longest:
        return FoundInText(Label.MISS, quoted(shown))
    folded = _prepared(text, check.ignore_case)
    wanted = (_prepared(each.strip() if check.trim else each, check.ignore_case) for each in check.texts)
    fulfilled = any(each == folded for each in wanted)
    quote = text if fulfilled and len(text) <= SHOWN else ""
    return FoundInText(decided(fulfilled, whole=whole, final=False), quoted(shown), quote)


def _edge(check: EdgeCheck, given: WrittenText, allowance: Allowance) -> FoundInText:
    shown, whole = allowance.look(given)
    at_start = check.edge == "start"
    text = shown.lstrip() if at_start else shown.rstrip()
    longest = 3 * max(len(each) for each in check.texts)
    part = text[:longest] if at_start else text[-longest:]
    part = _prepared(part, check.ignore_case)
    wanted = tuple(_prepared(each, check.ignore_case) for each in check.texts)
    fulfilled = part.startswith(wanted) if at_start else part.endswith(wanted)
    # A beginning that a wanted text could go on from decides nothing: the cut may be inside of a word.
    final = at_start and (fulfilled or not any(each.startswith(part) for each in wanted))
    quote = text[:SHOWN] if at_start else text[-SHOWN:]
    got = quoted(text) if at_start or len(text) <= SHOWN else f"'…{text[-SHOWN:]}'"
    return FoundInText(decided(fulfilled, whole=whole, final=final), got, quote if fulfilled else "")


def _pattern(check: PatternCheck, given: WrittenText, allowance: Allowance) -> FoundInText:
    matches = compiled(check.pattern, check.ignore_case, check.whole)
    shown, whole = allowance.look(given, most=looked_at(check.pattern))
    found = matches(shown.strip() if check.whole else shown)
    final = found and not check.whole and not _DEPENDS_ON_THE_END.search(check.pattern)
    label = decided(found, whole=whole, final=final)
    if label is not Label.HIT or len(shown) <= SHOWN:
        return FoundInText(label, quoted(shown), shown if label is Label.HIT else "")
    line = next((line for line in islice(shown.splitlines(), 50) if len(line) <= SHOWN and matches(line)), "")
    return FoundInText(label, quoted(line or shown), line)


def _number(check: NumberCheck, given: WrittenText, allowance: Allowance) -> FoundInText:
    shown, whole = allowance.look(given, _NUMBERS)
    # The rest of the text may go on with the number at its end.
    sure = shown if whole else without_last_word(shown)
    found = list(islice(numbers_in(sure), MOST_NUMBERS + 1))
    whole = whole and len(found) <= MOST_NUMBERS
    fitting = [each for each in found[:MOST_NUMBERS] if any(_allows(check.allowed, value) for value in each.values)]
    every = len(fitting) == len(found[:MOST_NUMBERS])
    fulfilled = bool(fitting) and (every or not check.only)
    # One that does not fit decides that not all do; one that fits decides that one does.
    final = not every if check.only else fulfilled
    label = decided(fulfilled, whole=whole, final=final)
    if not found:
        return FoundInText(label, f"no number in {quoted(shown)}")
    shown_first = fitting[0] if fitting and label is Label.HIT else None
    if shown_first is not None:
        words = excerpt(shown, shown_first.start, shown_first.end)
        return FoundInText(label, repr(words), words.strip("…"))
    return FoundInText(label, _listed(shown, found))


def _listed(text: str, found: list[FoundNumber]) -> str:
    shown = ", ".join(text[each.start : each.end] for each in found[:10])
    return f"{'the number' if len(found) == 1 else 'the numbers'} {shown}{', …' if len(found) > 10 else ''}"


def _allows(allowed: CheckRange, value: float) -> bool:
    room = _ROUNDING * max(1.0, abs(value))
    return (allowed.least is None or value >= allowed.least - room) and (
        allowed.most is None or value <= allowed.most + room
    )


def _words(check: WordsCheck, given: WrittenText, allowance: Allowance) -> FoundInText:
    shown, whole = allowance.look(given, _SPLIT)
    count, allowed = len(shown.split()), check.allowed
    # More of the text can only add words.
    too_many = allowed.most is not None and count - (not whole) > allowed.most
    enough = allowed.most is None and allowed.least is not None and count >= allowed.least
    fulfilled = (allowed.least is None or count >= allowed.least) and (allowed.most is None or count <= allowed.most)
    label = decided(fulfilled and not too_many, whole=whole, final=too_many or enough)
    return FoundInText(label, counted(count, "word") if whole else f"at least {counted(count, 'word')}")


def _similar(check: SimilarCheck, given: WrittenText, allowance: Allowance) -> FoundInText:
    shown, whole = allowance.look(given, _DISTANCE, SIMILAR_LOOKED_AT)
    one, other = _prepared(check.to, check.ignore_case), _prepared(shown.strip(), check.ignore_case)
    longest = max(len(one), len(other), 1)
    if not whole:
        # At least as many characters are missing from the wanted text as the reply is longer.
        too_far = _too_far(check, _least_length(given.text) - len(one), max(len(given.text), 1))
        return FoundInText(Label.MISS if too_far else Label.UNSURE, quoted(shown))
    distance = edit_distance(one, other)
    label = Label.MISS if _too_far(check, distance, longest) else Label.HIT
    measure = counted(distance, "edit") if check.at_least is None else f"{100 * (1 - distance / longest):.0f} % similar"
    return FoundInText(label, f"{quoted(shown)} ({measure})", shown.strip()[:SHOWN] if label is Label.HIT else "")


def _least_length(text: str) -> int:
    """Return a minimum length of a text without the space around it; a copy of a long text takes long."""
    start, end = text[:SIMILAR_LOOKED_AT], text[-SIMILAR_LOOKED_AT:]
    around = len(start) - len(start.lstrip()) + len(end) - len(end.rstrip())
    is_known = bool(start.strip()) and bool(end.strip())
    return max(0, len(text) - around) if is_known else 0


def _too_far(check: SimilarCheck, distance: int, longest: int) -> bool:
    if check.distance_at_most is not None:
        return distance > check.distance_at_most
    return 1 - distance / longest < (check.at_least or 0) - _ROUNDING


def _prepared(text: str, ignore_case: bool) -> str:
    return text.casefold() if ignore_case else text


_KINDS: dict[type, Callable[[Any, WrittenText, Allowance], FoundInText]] = {
    ContainsCheck: _contains,
    EqualsCheck: _equals,
    EdgeCheck: _edge,
    PatternCheck: _pattern,
    NumberCheck: _number,
    JsonCheck: check_json,
    WordsCheck: _words,
    SimilarCheck: _similar,
}
