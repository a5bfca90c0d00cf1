"""Says checks in words for people: `the last reply contains '320 euros'`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from viva.cases.checks.data import (
    CheckNode,
    CheckRange,
    CheckScope,
    CombinedCheck,
    ContainsCheck,
    EdgeCheck,
    EqualsCheck,
    FileCheck,
    JsonCheck,
    LimitCheck,
    NegatedCheck,
    NumberCheck,
    PatternCheck,
    SimilarCheck,
    StateCheck,
    StepsCheck,
    TextCheck,
    ToolCheck,
    ToolOrderCheck,
    ToolShareCheck,
)
from viva.cases.checks.json_paths import written
from viva.cases.text import number_text

SHOWN = 80
"""Maximum number of characters of a text of the author's."""
MOST_NAMED = 6
_REPLIES = {
    "last": "the last reply",
    "any_round": "a reply",
    "all": "every reply",
    "conversation": "what the agent says",
}
_STATES = {"last": "", "any_round": " after one round", "all": " after every round", "conversation": ""}
_PLACES = {"last": " in the last round", "any_round": " in one round", "all": " in every round", "conversation": ""}


def check_words(node: CheckNode) -> str:
    """Return a check in words, as a clause without a period."""
    return _node(node, inner=False)


def statement_of(node: CheckNode) -> str:
    """Return a check as the statement of a scoring point that has none of its own."""
    words = check_words(node)
    return f"{words[0].upper()}{words[1:]}."


def text_words(check: TextCheck) -> str:
    """Return what a check says of a text: `contains '320 euros'`."""
    match check:
        case ContainsCheck(needs="none"):
            neither = (
                f"neither {_named(check.texts, 'nor')}" if len(check.texts) > 1 else f"no {_quoted(check.texts[0])}"
            )
            return f"contains {neither}{_case(check.ignore_case)}"
        case ContainsCheck():
            return f"contains {_named(check.texts, 'and' if check.needs == 'all' else 'or')}{_case(check.ignore_case)}"
        case EqualsCheck():
            return f"is {_named(check.texts, 'or')}{_case(check.ignore_case)}"
        case EdgeCheck():
            verb = "begins" if check.edge == "start" else "ends"
            return f"{verb} with {_named(check.texts, 'or')}{_case(check.ignore_case)}"
        case PatternCheck():
            verb = "matches as a whole" if check.whole else "matches"
            return f"{verb} /{_cut(check.pattern)}/{_case(check.ignore_case)}"
        case NumberCheck():
            return f"contains {'no number but' if check.only else _the(check)} {number_words(check)}"
        case JsonCheck():
            return _json(check)
        case SimilarCheck():
            return f"is {_distance(check)}{_case(check.ignore_case)}"
        case _:
            one = check.allowed == CheckRange(1, 1)
            return f"has {range_words(check.allowed)} {'word' if one else 'words'}"


def range_words(allowed: CheckRange) -> str:
    """Return a range in words: `at least 3`."""
    least, most = _ends(allowed)
    if allowed.least == allowed.most:
        return least
    if allowed.most is None:
        return f"at least {least}"
    return f"at most {most}" if allowed.least is None else f"{least} to {most}"


def number_words(check: NumberCheck) -> str:
    """Return which numbers fulfil a check: `320`, `from 318 to 322`."""
    if check.equals is None:
        return f"of {range_words(check.allowed)}"
    least, most = _ends(check.allowed)
    exact = check.allowed.least == check.allowed.most
    return number_text(check.equals) if exact else f"{number_text(check.equals)} (from {least} to {most})"


def times_words(times: CheckRange) -> str:
    """Return a number of calls in words: `at least once`."""
    if times.least == times.most:
        return "once" if times.least == 1 else f"{range_words(times)} times"
    if times == CheckRange(1):
        return "at least once"
    return f"{range_words(times)} times"


def _ends(allowed: CheckRange) -> tuple[str, str]:
    least, most = ("" if end is None else number_text(end) for end in (allowed.least, allowed.most))
    return least, most


def place_words(scope: CheckScope | None, names: dict[str, str], of_round: str) -> str:
    """Return a scope in words."""
    if scope is None:
        return ""
    return of_round.format(scope.round) if scope.where == "round" else names[scope.where]


def _node(node: CheckNode, *, inner: bool) -> str:
    check, over = node.check, node.over
    match check:
        case CombinedCheck() | NegatedCheck():
            place = place_words(over, _PLACES, " in round {}").strip()
            inside = inner or over is not None
            if isinstance(check, NegatedCheck):
                words = f"not ({_node(check.check, inner=inside)})"
            else:
                joined = " and " if check.needs == "all" else " or "
                words = joined.join(_in_brackets(each, inside) for each in check.checks)
            return f"{place}: {words}" if place else words
        case FileCheck():
            return _file(check)
        case StateCheck():
            place = place_words(over, _STATES, " after round {}")
            return f"the agent's state{place} {text_words(check.content)}"
        case LimitCheck():
            return _limit(check, over)
        case ToolCheck() | ToolOrderCheck() | ToolShareCheck() | StepsCheck():
            return _action(check, place_words(over, _PLACES, " in round {}"))
    subject = place_words(over, _REPLIES, "the reply of round {}") or ("the reply" if inner else _REPLIES["last"])
    return f"{subject} {text_words(check)}"


def _in_brackets(node: CheckNode, inner: bool) -> str:
    words = _node(node, inner=inner)
    return f"({words})" if isinstance(node.check, CombinedCheck) else words


def _file(check: FileCheck) -> str:
    name = f"the file {_quoted(check.path)}"
    if not check.checks:
        return f"{name} {'exists' if check.exists else 'does not exist'}"
    return f"{name} {' and '.join(text_words(each) for each in check.checks)}"


def _limit(check: LimitCheck, over: CheckScope | None) -> str:
    place = place_words(over, _PLACES, " in round {}")
    if check.figure == "rounds":
        return f"the conversation has at most {_counted(number_text(check.most), 'round')}"
    if check.figure == "seconds":
        return f"the agent takes at most {number_text(check.most)} seconds{place}"
    return f"the agent costs at most {number_text(check.most)} US dollars{place}"


def _action(check: ToolCheck | ToolOrderCheck | ToolShareCheck | StepsCheck, place: str) -> str:
    seen = ", as the environment recorded" if check.environment else ""
    if isinstance(check, StepsCheck):
        kind = f" of the kind {check.kind}" if check.kind else ""
        return f"the agent takes {_counted(range_words(check.allowed), 'step')}{kind}{place}{seen}"
    if isinstance(check, ToolOrderCheck):
        others = ", and no others" if check.exact else ""
        return f"the agent calls {', then '.join(map(_quoted, check.tools[:MOST_NAMED]))}{others}{place}{seen}"
    if isinstance(check, ToolShareCheck):
        share = " and no others" if check.at_least == 1 else f" (F1 at least {number_text(check.at_least)})"
        return f"the agent calls the tools {_named(check.tools, 'and')}{share}{place}{seen}"
    given = ""
    if check.arguments is not None:
        only = "only " if check.exact else ""
        none = "without arguments" if check.exact else "with any arguments"
        given = f" with {only}{value_words(check.arguments)}" if check.arguments else f" {none}"
    if check.times.most == 0:
        return f"the agent never calls {_quoted(check.name)}{given}{place}{seen}"
    return f"the agent calls {_quoted(check.name)}{given} {times_words(check.times)}{place}{seen}"


def _json(check: JsonCheck) -> str:
    parts = []
    if check.path:
        parts.append(f"a value at {written(check.path)}")
    if check.has_value:
        parts.append(f"{'that is' if parts else 'equal to'} {value_words(check.value)}")
    if check.schema is not None:
        parts.append("that fulfils a schema" if parts else "of a schema")
    what = "contains JSON" if check.inside else "is JSON"
    return f"{what}{' with ' if check.path else ' '}{' '.join(parts)}".rstrip()


def _the(check: NumberCheck) -> str:
    return "a number" if check.equals is None else "the number"


def _distance(check: SimilarCheck) -> str:
    if check.distance_at_most is not None:
        return f"at most {check.distance_at_most} edits from {_quoted(check.to)}"
    return f"similar to {_quoted(check.to)} by at least {number_text(100 * (check.at_least or 0))} %"


def _counted(number: str, noun: str) -> str:
    return f"{number} {noun}" if number.rpartition(" ")[2] == "1" else f"{number} {noun}s"


def value_words(value: Any) -> str:
    """Return a JSON value as it is shown."""
    return _cut(json.dumps(value, ensure_ascii=False))


def _named(texts: Sequence[str], joined: str) -> str:
    shown = [_quoted(text) for text in texts[:MOST_NAMED]]
    if len(texts) > MOST_NAMED:
        shown.append(f"{len(texts) - MOST_NAMED} more texts")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {joined} {shown[-1]}"


def _quoted(text: str) -> str:
    return repr(_cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _case(ignored: bool) -> str:
    return " in any case of letters" if ignored else ""
