"""Explains the person that a case describes: what the examiner will do, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from viva.cases.case import Case
from viva.cases.text import describe


def person_lines(case: Case) -> Iterator[str]:
    """Yield what the examiner will do with the person of a case, in sentences."""
    user = case.user
    if user is not None:
        parts = [
            f"{name} {describe(words)}"
            for name in ("persona", "mood", "language", "style", "patience")
            if (words := getattr(user, name))
        ]
        yield f"The examiner plays a user with {', '.join(parts)}."
    if case.opening is not None:
        yield f"Its first message is {describe(case.opening)}, sent as it is."
    for title, told in (
        (f"Told with the {'first' if case.opening is None else 'second'} message", "start"),
        ("Told only when the agent asks for it", "asked"),
        ("Never told", "never"),
    ):
        if facts := [describe(fact.says) for fact in case.facts if fact.when == told]:
            yield f"{title}: {', '.join(facts)}."
    for fact in case.facts:
        if fact.step is not None:
            yield f"Told with step {fact.step}, not before: {describe(fact.says)}."
    if case.insist is not None:
        times = "" if case.insist.times is None else f", at most {case.insist.times} more times"
        yield f"It keeps asking for {describe(case.insist.on)}{times}."
    if case.done_when is not None and case.done_when.content is not None:
        yield f"It is content and stops when {describe(case.done_when.content)}."
    if case.done_when is not None and case.done_when.gives_up is not None:
        yield f"It gives up and stops when {describe(case.done_when.gives_up)}."
    if case.background is not None:
        yield f"For the judge alone: {describe(case.background)}."
    if case.strategy is not None:
        name = "the strategy chosen with --strategy" if case.strategy.name is None else describe(case.strategy.name)
        goal = "" if case.strategy.goal is None else f" to get {describe(case.strategy.goal)}"
        yield f"It tries{goal} by {name}."
    person = (user, case.facts, case.opening, case.insist, case.done_when, case.strategy)
    if case.script and any(person):
        yield "All this is for a model that examines; the script has its own messages."
