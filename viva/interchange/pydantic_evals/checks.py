"""The evaluators that stand for scoring points: what `evaluators` reads, in the other direction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from viva.interchange.ledger import Gap
from viva.interchange.pydantic_evals.evaluators import JSON_TYPES
from viva.interchange.pydantic_evals.specs import OURS
from viva.interchange.source import Source

Spec = tuple[str, dict[str, Any]]
WITHOUT = "pydantic-evals has no evaluator for this check"
POINT = "an evaluator has no weight, no round and no layer"


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
    found = _of_check(check.peek(), ours)
    if found is None:
        check.report(Gap.NO_HOME, WITHOUT)
        return
    check.express("an evaluator")
    for name, arguments in found:
        yield name, {**arguments, **_rest(ours)}, of_all


def _rest(ours: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in ours.items() if key not in ("evaluator", "type_name")}


def _of_check(check: dict[str, Any], ours: dict[str, Any]) -> list[Spec] | None:
    known = ours.get("evaluator")
    if known in ("ToolCorrectness", "TrajectoryMatch"):
        return [(known, {})]
    if known == "EqualsExpected":
        return [(known, {})]
    if set(check) - {"over"} != set(check):
        return None
    kind, value = next(iter(check.items()))
    options = value if isinstance(value, dict) else {}
    if kind == "equals":
        text = options.get("text", value)
        return [("Equals", {"value": text})] if isinstance(text, str) and not options.get("ignore_case") else None
    if kind == "contains":
        return _contains(options.get("all", value), options.get("ignore_case") is True)
    if kind == "json":
        return _json(options)
    if kind == "seconds_at_most":
        return [("MaxDuration", {} if "seconds" in ours else {"seconds": value})]
    if kind == "steps":
        return _steps(options)
    if kind == "tool_called":
        return _tool(value, options)
    if kind == "tool_order":
        tools, exact = options.get("tools", value), options.get("exact") is True
        return [("TrajectoryMatch", {"expected_trajectory": tools, "order": "exact" if exact else "in_order"})]
    if kind == "all":
        return _all(value)
    return None


def _contains(texts: Any, ignore_case: bool) -> list[Spec] | None:
    listed = [texts] if isinstance(texts, str) else texts
    if not isinstance(listed, list):
        return None
    more = {"case_sensitive": False} if ignore_case else {}
    return [("Contains", {"value": text, **more}) for text in listed]


def _json(options: dict[str, Any]) -> list[Spec] | None:
    names = {kind: name for name, kind in JSON_TYPES.items()}
    if list(options) == ["equals"]:
        return [("Equals", {"value": options["equals"]})]
    schema = options.get("schema")
    if list(options) == ["schema"] and isinstance(schema, dict) and list(schema) == ["type"]:
        return [("IsInstance", {"type_name": names[schema["type"]]})] if schema["type"] in names else None
    return None


def _steps(options: dict[str, Any]) -> list[Spec] | None:
    if set(options) != {"max", "kind"}:
        return None
    known = {"tool": ("MaxToolCalls", "max_calls"), "model": ("MaxModelRequests", "max_requests")}
    if options["kind"] not in known:
        return None
    name, argument = known[options["kind"]]
    return [(name, {argument: options["max"]})]


def _tool(value: Any, options: dict[str, Any]) -> list[Spec] | None:
    name, arguments = options.get("name", value), options.get("arguments")
    if arguments is not None:
        exact = {"match_mode": "exact"} if options.get("exact") else {}
        times = options.get("times")
        return (
            None if times else [("ArgumentCorrectness", {"tool_name": name, "expected_arguments": arguments, **exact})]
        )
    times = options.get("times", 1)
    least = times.get("min") if isinstance(times, dict) and list(times) == ["min"] else times
    if not isinstance(least, int) or (isinstance(times, int) and times != 1) or not 1 <= least <= 100:
        return None
    return [("ToolCorrectness", {"expected_tools": [name] * least, "allow_extra": True})]


def _all(checks: list[Any]) -> list[Spec] | None:
    """Return an evaluator for values at the top of an object, or the evaluators of all checks."""
    paths: dict[str, Any] = {}
    for each in checks:
        options = each.get("json") if isinstance(each, dict) else None
        path = options.get("path", "") if isinstance(options, dict) else ""
        if isinstance(options, dict) and set(options) == {"path", "equals"} and path[:2] in ('["', "['"):
            paths[path[2:-2]] = options["equals"]
    if len(paths) == len(checks):
        return [("Contains", {"value": paths})]
    found = [_of_check(each, {}) for each in checks]
    return None if any(each is None for each in found) else [spec for each in found for spec in each or ()]
