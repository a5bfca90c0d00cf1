"""What the evaluators of a dataset become: checks and statements."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from viva.interchange.drafts.points import LONGEST, Point, check_point, tool_called
from viva.interchange.ledger import Gap
from viva.interchange.pydantic_evals.specs import OURS, GivenEvaluator

JSON_TYPES = {"dict": "object", "list": "array", "int": "integer", "float": "number", "bool": "boolean"}
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_CLOCK = re.compile(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)")


def points_of(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    """Return the points of an evaluator; what it is not expressed by is reported, or kept in their metadata.

    Args:
        evaluator: The evaluator.
        expected: The expected output of the case.
        has_expected: Whether there is one.
    """
    make = _MAKERS.get(evaluator.name)
    if make is None:
        why = f"{evaluator.name} is code of the source, which is neither imported nor run: write a scoring point"
        evaluator.source.report(Gap.REFUSED, why)
        return []
    _express_name(evaluator)
    points = make(evaluator, expected, has_expected)
    kept = {name: given.take() for name, given in evaluator.arguments.items()} if points else {}
    if not points:
        for given in evaluator.arguments.values():
            given.report(Gap.NO_HOME, _WITHOUT.get(evaluator.name, "no check can express it"))
    for point in points:
        about = {**kept, **point.pop("about", {})}
        if about:
            point["metadata"] = {OURS: about}
    return points


def _express_name(evaluator: GivenEvaluator) -> None:
    if evaluator.source.is_text:
        evaluator.source.express("a scoring point")


def _equals(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    return [check_point(_equal_to(evaluator.take("value")))]


def _equals_expected(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    if not has_expected:
        return []
    return [check_point(_equal_to(expected), about={"evaluator": "EqualsExpected"})]


def _equal_to(value: Any) -> dict[str, Any]:
    fits = isinstance(value, str) and value and len(value) <= LONGEST
    if fits:
        return {"equals": {"text": value, "trim": False}}
    # Text that no check of texts can hold is compared as part of a pattern of JSON: it has no length.
    return {"json": {"equals": value}}


def _contains(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    value = evaluator.peek("value")
    if isinstance(value, dict) and not evaluator.peek("as_strings"):
        taken = evaluator.take("value")
        inner = [{"json": {"path": f"[{_quoted(key)}]", "equals": each}} for key, each in taken.items()]
        return [check_point({"all": inner})] if inner else []
    text = value if isinstance(value, str) else str(value)
    if not text or len(text) > LONGEST:
        return []
    evaluator.take("value")
    if evaluator.peek("case_sensitive") is False:
        evaluator.arguments.pop("case_sensitive").express("check: contains with ignore_case")
        return [check_point({"contains": {"all": text, "ignore_case": True}})]
    return [check_point({"contains": text})]


def _quoted(key: str) -> str:
    mark = "'" if '"' in key else '"'
    return f"{mark}{key}{mark}"


def _is_instance(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    name = evaluator.peek("type_name")
    if not isinstance(name, str) or name not in JSON_TYPES:
        return []
    evaluator.take("type_name")
    return [check_point({"json": {"schema": {"type": JSON_TYPES[name]}}}, about={"type_name": name})]


def _max_duration(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    value = evaluator.peek("seconds")
    seconds = seconds_of(value)
    if seconds is None:
        return []
    if isinstance(value, str):
        return [check_point({"seconds_at_most": seconds})]
    evaluator.take("seconds")
    return [check_point({"seconds_at_most": value})]


def seconds_of(value: Any) -> float | None:
    """Return a duration in seconds: a number, ISO 8601 (`PT1M30S`) or hours, minutes and seconds (`0:01:30`)."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    if not isinstance(value, str):
        return None
    if (found := _CLOCK.fullmatch(value)) is not None:
        return int(found[1]) * 3600 + int(found[2]) * 60 + float(found[3])
    if (found := _DURATION.fullmatch(value)) is not None and len(value) > 2:
        days, hours, minutes, rest = (float(part or 0) for part in found.groups())
        return days * 86400 + hours * 3600 + minutes * 60 + rest
    return None


def _judged(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    rubric = evaluator.peek("rubric")
    if not isinstance(rubric, str) or not rubric.strip():
        return []
    _model(evaluator)
    return [{"score_point": evaluator.take("rubric")}]


def _graded(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    criteria, steps = evaluator.peek("criteria"), evaluator.peek("evaluation_steps")
    if not isinstance(criteria, str) or not criteria.strip():
        return []
    _model(evaluator)
    for name in ("score_range",):
        if name in evaluator.arguments:
            evaluator.arguments[name].report(Gap.NO_HOME, "a scoring point is hit or missed; it has no grades")
    lines = [f"- {step}" for step in steps] if isinstance(steps, list) else []
    evaluator.take("criteria")
    return [{"score_point": "\n".join([criteria, *lines]), "about": {"evaluator": "GEval", "criteria": criteria}}]


def _model(evaluator: GivenEvaluator) -> None:
    for name in ("model", "model_settings"):
        if name in evaluator.arguments:
            why = "which model judges is said on the command line: --judge-model"
            evaluator.arguments[name].report(Gap.NEEDS_A_PERSON, why)


def _tools(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    names = evaluator.peek("expected_tools")
    if not _are_names(names):
        return []
    evaluator.take("expected_tools")
    about = {"evaluator": "ToolCorrectness", "expected_tools": names}
    checks = [tool_called(name, times=names.count(name)) for name in dict.fromkeys(names)]
    if not evaluator.peek("allow_extra"):
        checks.append({"steps": {"max": len(names), "kind": "tool"}})
    return [check_point(checks[0] if len(checks) == 1 else {"all": checks}, about=about)]


def _trajectory(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    names, order = evaluator.peek("expected_trajectory"), evaluator.peek("order") or "in_order"
    if not _are_names(names) or order not in ["exact", "in_order", "any_order"]:
        return []
    if order == "any_order":
        check: dict[str, Any] = {"all": [tool_called(name, times=names.count(name)) for name in dict.fromkeys(names)]}
    else:
        check = {"tool_order": {"tools": names, "exact": True} if order == "exact" else names}
    if order != "exact":
        evaluator.source.remark(Gap.NEEDS_A_PERSON, "the share of calls that agree (F1) became a check: hit or miss")
    evaluator.take("expected_trajectory")
    return [check_point(check, about={"evaluator": "TrajectoryMatch", "expected_trajectory": names})]


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and 0 < len(names) < 99 and all(isinstance(each, str) and each for each in names)


def _arguments(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    name, wanted = evaluator.peek("tool_name"), evaluator.peek("expected_arguments")
    if not isinstance(name, str) or not name or not isinstance(wanted, dict):
        return []
    if evaluator.peek("occurrence") is not None:
        evaluator.arguments["occurrence"].report(Gap.NEEDS_A_PERSON, "any call with these arguments counts")
    exact = evaluator.peek("match_mode") == "exact"
    evaluator.take("tool_name")
    evaluator.take("expected_arguments")
    return [check_point(tool_called(name, wanted, exact=exact), about={"evaluator": "ArgumentCorrectness"})]


def _steps(argument: str, kind: str) -> Callable[[GivenEvaluator, Any, bool], list[Point]]:
    def make(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
        most = evaluator.peek(argument)
        if not isinstance(most, int) or isinstance(most, bool) or most < 0:
            return []
        return [check_point({"steps": {"max": evaluator.take(argument), "kind": kind}})]

    return make


def _no_points(evaluator: GivenEvaluator, expected: Any, has_expected: bool) -> list[Point]:
    return []


_MAKERS: dict[str, Callable[[GivenEvaluator, Any, bool], list[Point]]] = {
    "ArgumentCorrectness": _arguments,
    "Contains": _contains,
    "Equals": _equals,
    "EqualsExpected": _equals_expected,
    "GEval": _graded,
    "HasMatchingSpan": _no_points,
    "IsInstance": _is_instance,
    "LLMJudge": _judged,
    "MaxDuration": _max_duration,
    "MaxModelRequests": _steps("max_requests", "model"),
    "MaxToolCalls": _steps("max_calls", "tool"),
    "ToolCorrectness": _tools,
    "TrajectoryMatch": _trajectory,
}
_WITHOUT = {
    "HasMatchingSpan": "a case knows steps, not spans: write check: tool_called or check: steps",
    "IsInstance": "a reply is text, and the types of a program are not known: write check: json with a schema",
    "MaxDuration": "is not a duration that is known",
}
