"""Assertions of promptfoo for checks and statements: what `checks` and `statements` read, in the other direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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
    kinds = [key for key in check if key != "over"]
    if check.get("over", "last") != "last" or len(kinds) != 1 or kinds[0] not in _MAKERS:
        raise NoAssertion
    return _MAKERS[kinds[0]](check[kinds[0]])


def _fixed(kind: str) -> str:
    return STATEMENTS[kind](Assertion(kind, False, None, None))


def _not(assertion: Written) -> Written:
    kind = assertion["type"]
    if kind == "assert-set":
        raise NoAssertion
    return {**assertion, "type": kind.removeprefix("not-") if kind.startswith("not-") else f"not-{kind}"}


def _contains(value: Any) -> Written:
    options = value if isinstance(value, dict) else {"all": value}
    prefix = "i" if options.get("ignore_case") is True else ""
    texts = options.get("all", options.get("any"))
    if set(options) - {"all", "any", "ignore_case"} or len({"all", "any"} & set(options)) != 1:
        raise NoAssertion
    if isinstance(texts, str) and "all" in options:
        return {"type": f"{prefix}contains", "value": texts}
    kind = "all" if "all" in options else "any"
    return {"type": f"{prefix}contains-{kind}", "value": [texts] if isinstance(texts, str) else texts}


def _not_contains(value: Any) -> Written:
    if isinstance(value, str):
        return {"type": "not-contains", "value": value}
    if not isinstance(value, list):
        raise NoAssertion
    return {"type": "not-contains-any", "value": value}


def _equals(value: Any) -> Written:
    text = value.get("text") if isinstance(value, dict) else value
    if isinstance(value, dict) and value.get("ignore_case"):
        raise NoAssertion
    return _any_of("equals", text)


def _plain(kind: str) -> Callable[[Any], Written]:
    return lambda value: _any_of(kind, value)


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
    return _any_of("regex", value if isinstance(value, str) else None)


def _json(value: Any) -> Written:
    options = value if isinstance(value, dict) else {}
    if set(options) == {"equals"} and isinstance(options["equals"], dict | list):
        return {"type": "equals", "value": options["equals"]}
    if set(options) - {"schema", "inside"}:
        raise NoAssertion
    made: Written = {"type": "contains-json" if options.get("inside") else "is-json"}
    return made | ({"value": options["schema"]} if "schema" in options else {})


def _words(value: Any) -> Written:
    return {"type": "word-count", "value": value}


def _latency(value: Any) -> Written:
    return {"type": "latency", "threshold": round(value * 1000, 6)}


def _cost(value: Any) -> Written:
    return {"type": "cost", "threshold": value}


def _similar(value: Any) -> Written:
    if not isinstance(value, dict) or set(value) != {"to", "distance_at_most"} or not isinstance(value["to"], str):
        raise NoAssertion
    return {"type": "levenshtein", "value": value["to"], "threshold": value["distance_at_most"]}


def _tool_f1(value: Any) -> Written:
    options = value if isinstance(value, dict) else {"tools": value}
    made: Written = {"type": "tool-call-f1", "value": options["tools"]}
    return made | ({"threshold": options["at_least"]} if "at_least" in options else {})


def _tool_called(value: Any) -> Written:
    if isinstance(value, str):
        return {"type": "trajectory:tool-used", "value": value}
    if set(value) - {"name", "arguments", "exact", "times"}:
        raise NoAssertion
    name, times = value["name"], value.get("times")
    if "arguments" in value:
        if times is not None:
            raise NoAssertion
        mode = {"mode": "exact"} if value.get("exact") else {}
        wanted = {"name": name, "args": value["arguments"], **mode}
        return {"type": "trajectory:tool-args-match", "value": wanted}
    limits = {"min": times, "max": times} if isinstance(times, int) else dict(times or {})
    key = "pattern" if "*" in name else "name"
    return {"type": "trajectory:tool-used", "value": {key: name, **limits}}


def _tool_order(value: Any) -> Written:
    options = value if isinstance(value, dict) else {"tools": value}
    mode = {"mode": "exact"} if options.get("exact") else {}
    return {"type": "trajectory:tool-sequence", "value": {**mode, "steps": options["tools"]}}


def _steps(value: Any) -> Written:
    options = dict(value) if isinstance(value, dict) else {"max": value, "min": value}
    kind = options.pop("kind", None)
    if kind not in _KINDS or set(options) - {"min", "max"}:
        raise NoAssertion
    return {"type": "trajectory:step-count", "value": {**_KINDS[kind], **options}}


def _all(value: Any) -> Written:
    names = [each.get("tool_called") for each in value]
    if all(isinstance(name, str) for name in names) and all(len(each) == 1 for each in value):
        return {"type": "trajectory:tool-used", "value": names}
    return _set([of_check(each) for each in value])


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
    "any": lambda value: _set([of_check(each) for each in value], enough=1 / len(value)),
    "not": lambda value: _not(of_check(value)),
}
