"""What a row says that is expected: what `drafts.expected` reads as scoring points, in the other direction."""

from __future__ import annotations

import re
from typing import Any

from viva.interchange.drafts.draft import FULFILLED
from viva.interchange.drafts.expected import AGREES, ANY, FACTS, NAMED
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

CHECK = "a row has expected answers, not checks"
_NAMED = re.compile(re.escape(NAMED).replace("KEY", r"(?P<key>[^:\n]{1,100})") + r"(?P<value>.+)", re.S)


def expected_of(tree: Source) -> Any:
    """Return what a row expects of the agent: an answer, or a mapping if there is more; None if there is nothing."""
    found: dict[str, Any] = {}
    for point in (tree.get("scoring_points") or tree).elements():
        _add_point(found, point)
    return found["answer"] if list(found) == ["answer"] else found or None


def _add_point(found: dict[str, Any], point: Source) -> None:
    statement, check = point.get("score_point"), point.get("check")
    inner = point.get("points")
    for each in inner.elements() if inner is not None else ():
        _add_point(found, each)
    if inner is not None or point.get("eval_code") is not None:
        return
    if check is not None:
        _add_check(found, check)
        return
    if statement is None:
        return
    text = str(statement.peek())
    if text == FULFILLED:
        statement.express("no expectation")
        return
    statement.express("expected")
    if text.startswith(ANY) and "answer" not in found:
        found["answer"] = [line.removeprefix("- ") for line in text.removeprefix(ANY).split("\n- ")]
    elif text.startswith(AGREES) and "answer" not in found:
        found["answer"] = text.removeprefix(AGREES)
    elif (named := _NAMED.fullmatch(text)) is not None and named["key"] not in found:
        found[named["key"]] = named["value"]
    else:
        key = next((key for key, words in FACTS.items() if words and text.startswith(words)), "criteria")
        found.setdefault(key, []).append(text.removeprefix(FACTS[key]))


def _add_check(found: dict[str, Any], check: Source) -> None:
    wanted = check.peek().get("equals") if list(check.peek()) == ["equals"] else None
    text = wanted.get("text") if isinstance(wanted, dict) else wanted
    if isinstance(text, str | list) and "answer" not in found:
        found["answer"] = text
        check.report(Gap.NEEDS_A_PERSON, "an expected answer here, which no longer has to be the same letter by letter")
        return
    check.report(Gap.NO_HOME, CHECK)
