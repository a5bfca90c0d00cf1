"""Assertions of promptfoo for checks and statements: what `checks` and `statements` read, in the other direction."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from viva.interchange.check_keys import keys_of
from viva.interchange.promptfoo.checks import Assertion
from viva.interchange.promptfoo.statements import STATEMENTS, negated

Written = dict[str, Any]
"""An assertion as a configuration has it."""
JUDGED = {
    "What the agent says agrees in its facts with this: ": "factuality",
    "The agent reaches this goal: ": "trajectory:goal-success",
    "The agent uses the skill ": "skill-used",
    "The agent's answer means the same as this: ": "similar",
}
"""Types of assertions by the beginnings of the statements that they become."""
FIXED = ("answer-relevance", "conversation-relevance", "context-faithfulness", "is-refusal")
TOOL_USED = "trajectory:tool-used"
_GRADED = ("assert-set", "tool-call-f1")
"""Types of assertions whose score may be neither 0 nor 1."""
_SPECIAL = re.compile(r"[\\^$.*+?()[\]{}|/]")
"""What has a meaning in a pattern of JavaScript."""
_ELSEWHERE = re.compile(r"\(\?(?!:|<\w)|\\(?:[AzpPUaQ<>]|b\{|[xu]\{)|\[[^\]]*(?:\[|&&|--|~~)")
"""What a pattern of JavaScript lacks, or means something else by."""
_ESCAPED = re.compile(r"\\[^A-Za-z]")
_KINDS = {None: {}, "tool": {"type": "tool"}, "think": {"type": "reasoning"}}


class NoAssertion(Exception):
    """Promptfoo has no assertion like it."""


def of_statement(statement: str) -> Written:
    """Return the assertion for a statement that a model judges."""
    opposite = negated("")
    if statement.startswith(opposite):
        return _not(of_statement(statement.removeprefix(opposite)))
    for kind in FIXED:
        if statement == _fixed(kind):
            return {"type": kind}
    for beginning, kind in JUDGED.items():
        if statement.startswith(beginning) and statement != beginning:
            return {"type": kind, "value": statement.removeprefix(beginning)}
    return {"type": "llm-rubric", "value": statement}


def of_check(check: Mapping[str, Any]) -> Written:
    """Return the assertion for a check.

    Raises:
        NoAssertion: promptfoo has none.
    """
    kind, value = _kind(check)
    return _MAKERS[kind](value)


def _kind(check: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the kind of a check, and what it says of it.

    Raises:
        NoAssertion: it is about other replies than the last, or of a kind that promptfoo has no assertion for.
    """
    kinds = [key for key in check if key != "over"]
    if check.get("over", "last") != "last" or len(kinds) != 1 or kinds[0] not in _MAKERS:
        raise NoAssertion
    return kinds[0], check[kinds[0]]


def _fixed(kind: str) -> str:
    return STATEMENTS[kind](Assertion(kind, False, None, None))


def _not(assertion: Written) -> Written:
    kind = assertion["type"]
    if kind == "assert-set":
        raise NoAssertion
    return {**assertion, "type": kind.removeprefix("not-") if kind.startswith("not-") else f"not-{kind}"}


def _keys(value: Any, short: str, *others: str) -> Mapping[str, Any]:
    """Return the keys of a kind of check, as `keys_of` does.

    Raises:
        NoAssertion: there is a key that is not translated.
    """
    keys = keys_of(value, short, *others)
    if keys is None:
        raise NoAssertion
    return keys


def _contains(value: Any) -> Written:
    options = _keys(value, "all", "any", "ignore_case")
    prefix = "i" if options.get("ignore_case") is True else ""
    texts = options.get("all", options.get("any"))
    if len({"all", "any"} & set(options)) != 1:
        raise NoAssertion
    if isinstance(texts, str) and "all" in options:
        return {"type": f"{prefix}contains", "value": texts}
    kind = "all" if "all" in options else "any"
    return {"type": f"{prefix}contains-{kind}", "value": [texts] if isinstance(texts, str) else texts}


def _not_contains(value: Any) -> Written:
    options = _keys(value, "text", "ignore_case")
    prefix, texts = "i" if options.get("ignore_case") is True else "", options.get("text")
    if isinstance(texts, str):
        return {"type": f"not-{prefix}contains", "value": texts}
    if not isinstance(texts, list):
        raise NoAssertion
    return {"type": f"not-{prefix}contains-any", "value": texts}


def _equals(value: Any) -> Written:
    options = _keys(value, "text", "ignore_case", "trim")
    text = options.get("text")
    if options.get("ignore_case"):
        raise NoAssertion
    if options.get("trim") is False:
        return _any_of("equals", text)
    texts: list[Any] = text if isinstance(text, list) else [text]
    if not all(isinstance(each, str) for each in texts):
        raise NoAssertion
    # `equals` compares white space at both ends, too.
    wanted = "|".join(_SPECIAL.sub(r"\\\g<0>", each.strip()) for each in texts)
    return {"type": "regex", "value": rf"^\s*(?:{wanted})\s*$" if len(texts) > 1 else rf"^\s*{wanted}\s*$"}


def _plain(kind: str) -> Callable[[Any], Written]:
    return lambda value: _any_of(kind, _keys(value, "text").get("text"))


def _any_of(kind: str, value: Any) -> Written:
    """Return one assertion for a text, or a set for several texts of which one is enough."""
    if isinstance(value, str):
        return {"type": kind, "value": value}
    if not isinstance(value, list):
        raise NoAssertion
    return _set([{"type": kind, "value": each} for each in value], enough=1 / len(value))


def _set(members: list[Written], enough: float | None = None) -> Written:
    return {"type": "assert-set", **({} if enough is None else {"threshold": enough}), "assert": members}


def _regex(value: Any) -> Written:
    pattern = _keys(value, "pattern").get("pattern")
    if not isinstance(pattern, str) or _ELSEWHERE.search(_ESCAPED.sub("", pattern)) is not None:
        raise NoAssertion
    return {"type": "regex", "value": pattern}


def _json(value: Any) -> Written:
    options = value if isinstance(value, dict) else {}
    if list(options) == ["equals"] and isinstance(options["equals"], dict | list):
        return {"type": "equals", "value": options["equals"]}
    if set(options) - {"schema", "inside"}:
        raise NoAssertion
    made: Written = {"type": "contains-json" if options.get("inside") else "is-json"}
    return made | ({"value": options["schema"]} if "schema" in options else {})


def _words(value: Any) -> Written:
    return {"type": "word-count", "value": dict(_keys(value, "min", "max")) if isinstance(value, dict) else value}


def _latency(value: Any) -> Written:
    return {"type": "latency", "threshold": round(value * 1000, 6)}


def _cost(value: Any) -> Written:
    return {"type": "cost", "threshold": value}


def _similar(value: Any) -> Written:
    if not isinstance(value, dict) or set(value) != {"to", "distance_at_most"} or not isinstance(value["to"], str):
        raise NoAssertion
    if not value["distance_at_most"]:  # promptfoo takes 0 for its default, 5
        raise NoAssertion
    return {"type": "levenshtein", "value": value["to"], "threshold": value["distance_at_most"]}


def _tool_f1(value: Any) -> Written:
    options = _keys(value, "tools", "at_least")
    if any("*" in _tool(name) for name in options["tools"]):
        raise NoAssertion
    made: Written = {"type": "tool-call-f1", "value": options["tools"]}
    return made | ({"threshold": options["at_least"]} if "at_least" in options else {})


def _tool(name: str) -> str:
    """Return the name of a tool, or a pattern of names.

    Raises:
        NoAssertion: it has a question mark, which stands for any character there.
    """
    if "?" in name:
        raise NoAssertion
    return name


def _tool_called(value: Any) -> Written:
    options = _keys(value, "name", "arguments", "exact", "times")
    name, times = _tool(options["name"]), options.get("times")
    if not isinstance(value, dict):
        return {"type": TOOL_USED, "value": name}
    key = "pattern" if "*" in name else "name"
    if "arguments" in options:
        if times is not None:
            raise NoAssertion
        mode = {"mode": "exact"} if options.get("exact") else {}
        return {"type": "trajectory:tool-args-match", "value": {key: name, "args": options["arguments"], **mode}}
    limits = {"min": times, "max": times} if isinstance(times, int) else dict(times or {})
    if "max" in limits:
        limits = {"min": 0} | limits  # otherwise it would be 1
    return {"type": TOOL_USED, "value": {key: name, **limits}}


def _tool_order(value: Any) -> Written:
    options = _keys(value, "tools", "exact")
    mode = {"mode": "exact"} if options.get("exact") else {}
    return {"type": "trajectory:tool-sequence", "value": {**mode, "steps": [_tool(name) for name in options["tools"]]}}


def _steps(value: Any) -> Written:
    options = dict(value) if isinstance(value, dict) else {"max": value, "min": value}
    kind = options.pop("kind", None)
    if kind not in _KINDS or set(options) - {"min", "max"}:
        raise NoAssertion
    return {"type": "trajectory:step-count", "value": {**_KINDS[kind], **options}}


def _all(value: Any) -> Written:
    if names := _tools(value):
        return {"type": TOOL_USED, "value": names}
    return _set([of_check(each) for each in value])


def _any(value: Any) -> Written:
    members = [of_check(each) for each in value]
    # The scores of a set are averaged: several that are fulfilled in part would make up for one that is fulfilled.
    if any(each["type"].removeprefix("not-") in _GRADED for each in members):
        raise NoAssertion
    return _set(members, enough=1 / len(members))


def _tools(value: Any) -> list[str]:
    """Return the tools of checks that each say only that a tool was called; none, if one says something else."""
    names = [each.get("tool_called") for each in value]
    are_plain = all(isinstance(name, str) for name in names) and all(len(each) == 1 for each in value)
    return [_tool(str(name)) for name in names] if are_plain else []


def _negation(value: Mapping[str, Any]) -> Written:
    """Return the assertion for the opposite of a check; of several checks, those for the opposite of each."""
    kind, inner = _kind(value)
    if kind == "not":
        return of_check(inner)
    if kind == "all":
        return _any([{"not": each} for each in inner])
    if kind != "any":
        return _not(of_check(value))
    if names := _tools(inner):
        return {"type": f"not-{TOOL_USED}", "value": names}
    return _all([{"not": each} for each in inner])


_MAKERS: dict[str, Callable[[Any], Written]] = {
    "contains": _contains,
    "not_contains": _not_contains,
    "equals": _equals,
    "regex": _regex,
    "starts_with": _plain("starts-with"),
    "ends_with": _plain("ends-with"),
    "json": _json,
    "words": _words,
    "seconds_at_most": _latency,
    "cost_at_most": _cost,
    "similar": _similar,
    "tool_f1": _tool_f1,
    "tool_called": _tool_called,
    "tool_order": _tool_order,
    "steps": _steps,
    "all": _all,
    "any": _any,
    "not": _negation,
}
