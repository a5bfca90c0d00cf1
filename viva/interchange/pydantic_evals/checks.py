"""The evaluators that stand for scoring points: what `evaluators` reads, in the other direction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from viva.interchange.check_keys import keys_of
from viva.interchange.ledger import Gap
from viva.interchange.pydantic_evals.evaluators import JSON_TYPES
from viva.interchange.pydantic_evals.specs import OURS
from viva.interchange.source import Source

Spec = tuple[str, dict[str, Any]]
WITHOUT = "pydantic-evals has no evaluator for this check"
POINT = "an evaluator has no weight, no round and no layer"
MOST_CALLS = 100
"""Maximum number of calls that an evaluator is written for."""


class NoEvaluator(Exception):
    """Pydantic-evals has no evaluator like it."""


def evaluators_of(point: Source) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield the evaluators of a scoring point: name, arguments, and whether all cases of the dataset have it."""
    inner = point.get("points")
    if inner is not None:
        for below in inner.elements():
            yield from evaluators_of(below)
        return
    kept = point.get("metadata", OURS)
    ours = {} if kept is None else dict(kept.express("arguments of an evaluator"))
    of_all = bool(ours.pop("of_all_cases", False))
    statement, check, code = (point.get(name) for name in ("score_point", "check", "eval_code"))
    for name in ("weight", "round", "shown", "require"):
        value = point.get(name)
        if value is not None:
            value.report(Gap.NO_HOME, POINT)
    if code is not None:
        code.report(Gap.REFUSED, "code is not exported: write an evaluator of your own")
    if ours.pop("of", None) == "expected_output" and statement is not None:
        statement.express("expected_output")
        return
    if check is None:
        if statement is None:
            return
        if ours.get("evaluator") == "GEval":
            statement.express("an evaluator")
            yield "GEval", _rest(ours), of_all
            return
        yield "LLMJudge", {"rubric": statement.take(), **_rest(ours)}, of_all
        return
    if statement is not None:
        statement.report(Gap.NO_HOME, "an evaluator that does not ask a model has no statement")
    try:
        found = _of_check(check.peek(), ours)
    except NoEvaluator:
        check.report(Gap.NO_HOME, WITHOUT)
        return
    check.express("an evaluator")
    for words in dict.fromkeys(_differences(check.peek(), ours)):
        check.remark(Gap.NEEDS_A_PERSON, words)
    for name, arguments in found:
        yield name, {**arguments, **_rest(ours)}, of_all


def _rest(ours: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in ours.items() if key not in ("evaluator", "type_name")}


def _of_check(check: Mapping[str, Any], ours: Mapping[str, Any]) -> list[Spec]:
    """Return the evaluators for a check.

    Raises:
        NoEvaluator: there is none, or it has no argument for a part of the check.
    """
    if len(check) != 1:  # the other key is `over`
        raise NoEvaluator
    kind, value = next(iter(check.items()))
    if kind not in _MAKERS:
        raise NoEvaluator
    found = _MAKERS[kind](value)
    known = ours.get("evaluator")
    if known in ("ToolCorrectness", "TrajectoryMatch", "EqualsExpected"):
        return [(known, {})]
    return [(name, {} if name == "MaxDuration" and "seconds" in ours else arguments) for name, arguments in found]


def _differences(check: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a person should know who compares the results of both."""
    for kind, value in check.items():
        if kind == "all":
            for each in value:
                yield from _differences(each, {})
        elif kind == "equals" and not (isinstance(value, dict) and value.get("trim") is False):
            yield "Equals compares white space around the output, too"
        elif kind == "tool_order" and "evaluator" not in ours:
            yield "TrajectoryMatch gives the share of calls that agree (F1), also below 1"


def _keys(value: Any, short: str, *others: str) -> Mapping[str, Any]:
    """Return the keys of a kind of check, as `keys_of` does.

    Raises:
        NoEvaluator: there is a key that is not translated.
    """
    keys = keys_of(value, short, *others)
    if keys is None:
        raise NoEvaluator
    return keys


def _equals(value: Any) -> list[Spec]:
    options = _keys(value, "text", "ignore_case", "trim")
    if not isinstance(options.get("text"), str) or options.get("ignore_case"):
        raise NoEvaluator
    return [("Equals", {"value": options["text"]})]


def _contains(value: Any) -> list[Spec]:
    options = _keys(value, "all", "ignore_case")
    texts = options.get("all")
    listed = [texts] if isinstance(texts, str) else texts
    if not isinstance(listed, list):
        raise NoEvaluator
    more = {"case_sensitive": False} if options.get("ignore_case") is True else {}
    return [("Contains", {"value": text, **more}) for text in listed]


def _json(value: Any) -> list[Spec]:
    options = value if isinstance(value, dict) else {}
    names = {kind: name for name, kind in JSON_TYPES.items()}
    if list(options) == ["equals"]:
        return [("Equals", {"value": options["equals"]})]
    schema = options.get("schema")
    kind = schema["type"] if isinstance(schema, dict) and list(schema) == ["type"] else None
    if list(options) != ["schema"] or not isinstance(kind, str) or kind not in names:
        raise NoEvaluator
    return [("IsInstance", {"type_name": names[kind]})]


def _steps(value: Any) -> list[Spec]:
    known = {"tool": ("MaxToolCalls", "max_calls"), "model": ("MaxModelRequests", "max_requests")}
    if not isinstance(value, dict) or set(value) != {"max", "kind"} or value["kind"] not in known:
        raise NoEvaluator
    name, argument = known[value["kind"]]
    return [(name, {argument: value["max"]})]


def _named(name: str) -> str:
    """Return the name of a tool.

    Raises:
        NoEvaluator: it is a pattern, which would be taken for a name.
    """
    if "*" in name:
        raise NoEvaluator
    return name


def _tool(value: Any) -> list[Spec]:
    options = _keys(value, "name", "arguments", "exact", "times")
    name, arguments, times = _named(options["name"]), options.get("arguments"), options.get("times")
    if arguments is not None:
        if times is not None:
            raise NoEvaluator
        exact = {"match_mode": "exact"} if options.get("exact") else {}
        return [("ArgumentCorrectness", {"tool_name": name, "expected_arguments": arguments, **exact})]
    # A whole number means exactly so many calls, and an evaluator can only want so many or more.
    least = 1 if times is None else times.get("min") if isinstance(times, dict) and list(times) == ["min"] else None
    if not isinstance(least, int) or not 1 <= least <= MOST_CALLS:
        raise NoEvaluator
    return [("ToolCorrectness", {"expected_tools": [name] * least, "allow_extra": True})]


def _tool_order(value: Any) -> list[Spec]:
    options = _keys(value, "tools", "exact")
    tools = [_named(name) for name in options["tools"]]
    order = "exact" if options.get("exact") is True else "in_order"
    return [("TrajectoryMatch", {"expected_trajectory": tools, "order": order})]


def _all(checks: list[Any]) -> list[Spec]:
    """Return an evaluator for values at the top of an object, or the evaluators of all checks."""
    paths: dict[str, Any] = {}
    for each in checks:
        options = each.get("json") if isinstance(each, dict) and len(each) == 1 else None
        path = options.get("path", "") if isinstance(options, dict) else ""
        if isinstance(options, dict) and set(options) == {"path", "equals"} and path[:2] in ('["', "['"):
            paths[path[2:-2]] = options["equals"]
    if len(paths) == len(checks):
        return [("Contains", {"value": paths})]
    return [spec for each in checks for spec in _of_check(each, {})]


_MAKERS: dict[str, Callable[[Any], list[Spec]]] = {
    "equals": _equals,
    "contains": _contains,
    "json": _json,
    "seconds_at_most": lambda value: [("MaxDuration", {"seconds": value})],
    "steps": _steps,
    "tool_called": _tool,
    "tool_order": _tool_order,
    "all": _all,
}
