"""Finds contradictions in the person that a case describes: facts that cannot be told when they should be, or are told
already."""

from __future__ import annotations

import re
from collections.abc import Iterator

from viva.cases.case import Case

Found = tuple[str, tuple[str | int, ...], bool]
"""A message, the path of what it is about, and whether it is certain."""

_LISTED = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?(?:(?:step|round)[ \t]+)?([0-9]{1,4})[ \t]?[.):]", re.IGNORECASE | re.MULTILINE
)
_NAMED = re.compile(r"\b(?:step|round)[ \t]+([0-9]{1,4})\b|\b([0-9]{1,4})[ \t]+(?:steps|rounds)\b", re.IGNORECASE)
_SHORTEST = 3
"""Minimum number of characters of a fact that is searched for elsewhere: a shorter one is in many texts by chance."""


def person_findings(case: Case) -> Iterator[Found]:
    """Yield what contradicts itself in the person of a case, and what cannot happen."""
    yield from _told_already(case)
    yield from _repeated(case)
    yield from _steps(case)
    yield from _opening(case)
    yield from _insistence(case)
    yield from _goal(case)


def _told_already(case: Case) -> Iterator[Found]:
    places = {"the task": case.task_description, "the opening": case.opening or ""}
    if case.insist is not None:
        places["insist"] = case.insist.on
    for index, fact in enumerate(case.facts):
        if fact.when != "never":
            continue
        others = {f"fact {number}": each.says for number, each in enumerate(case.facts, 1) if each.when != "never"}
        for place, words in (places | others).items():
            if _holds(words, fact.says):
                yield f"this fact is never told, but is in {place}", ("facts", index, "says"), True


def _repeated(case: Case) -> Iterator[Found]:
    seen: dict[str, tuple[int, str]] = {}
    for index, fact in enumerate(case.facts):
        number, when = seen.setdefault(_plain(fact.says), (index + 1, fact.condition))
        if number != index + 1:
            differs = when != fact.condition
            words = (
                f"with the condition {when!r}, here with {fact.condition!r}" if differs else "with the same condition"
            )
            yield f"this fact is also fact {number}, {words}", ("facts", index), differs


def _steps(case: Case) -> Iterator[Found]:
    listed = [int(match[1]) for match in _LISTED.finditer(case.task_description)]
    # A number at the start of one line may be anything; steps are counted from 1.
    listed = listed if {1, 2} <= set(listed) else []
    named = [int(match[1] or match[2]) for match in _NAMED.finditer(case.task_description)]
    last = max([*listed, *named], default=None)
    for index, fact in enumerate(case.facts):
        where = ("facts", index, "when")
        if fact.step is None:
            continue
        if last is not None and fact.step > last:
            yield f"step {fact.step} does not exist: the last step that the task numbers is {last}", where, bool(listed)
        elif case.max_rounds is not None and fact.step > case.max_rounds:
            yield f"step {fact.step} is never reached: max_rounds is {case.max_rounds}", where, True


def _opening(case: Case) -> Iterator[Found]:
    if case.opening is None:
        return
    for index, fact in enumerate(case.facts):
        where = ("facts", index, "when")
        told = _holds(case.opening, fact.says)
        if fact.when == "start" and _plain(fact.says) not in _plain(case.opening):
            yield "the opening is sent as it is and lacks this fact: it is told in the second message", where, False
        elif fact.when == "asked" and told:
            yield "the opening tells this fact, which is to be told only when asked", where, False
        elif fact.when == "step" and fact.step != 1 and told:
            yield f"the opening tells this fact, which is to be told with step {fact.step}", where, False


def _insistence(case: Case) -> Iterator[Found]:
    insist = case.insist
    if (
        insist is not None
        and insist.times is not None
        and case.max_rounds is not None
        and insist.times >= case.max_rounds
    ):
        words = f"times is {insist.times}, but max_rounds allows {case.max_rounds} messages in all"
        yield words, ("insist", "times"), False


def _goal(case: Case) -> Iterator[Found]:
    if case.strategy is not None and case.strategy.goal is None:
        words = "without a goal, the examiner tries to make the agent break any rule; add goal"
        yield words, ("strategy",), False
    goal = None if case.strategy is None else case.strategy.goal
    for number, point in enumerate(case.scoring_points, 1):
        if goal is not None and _plain(goal) == _plain(point.score_point):
            words = f"goal repeats scoring point {number}, which the examiner must not know: write what it tries to get"
            yield words, ("strategy", "goal"), False


def _holds(text: str, words: str) -> bool:
    """Return whether a text has these words, whatever the case, the spaces and the sign at their end."""
    wanted = _plain(words)
    return len(wanted) >= _SHORTEST and f" {wanted} " in f" {_plain(text)} "


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
