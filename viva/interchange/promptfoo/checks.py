"""The assertions of promptfoo that a program decides, as checks of scoring points."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viva.errors import SetupError
from viva.interchange.parsing import parse
from viva.interchange.promptfoo.templates import in_words


class Unfit(Exception):
    """The assertion has no equal among Viva's checks; the message says why."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assertion, whose variables are filled in."""

    kind: str
    """Its type, without `not-`."""
    negated: bool
    """Whether its type has `not-`."""
    value: Any
    threshold: float | None


Check = dict[str, Any]


def texts(assertion: Assertion) -> list[str]:
    """Return the value as a list of texts; plain text is separated by commas, of which some may be in quotes."""
    value = assertion.value
    if isinstance(value, list):
        return [in_words(each) for each in value]
    if not isinstance(value, str):
        return [text(assertion)]
    try:
        (names,) = csv.reader([" ".join(value.splitlines())], skipinitialspace=True)
    except (ValueError, csv.Error) as error:
        raise Unfit(f"its list of texts cannot be read: {error}") from error
    return [each.strip() for each in names if each.strip()]


def text(assertion: Assertion) -> str:
    """Return the value as text.

    Raises:
        Unfit: it has none.
    """
    if assertion.value is None or assertion.value == "":
        raise Unfit("it has no value")
    return in_words(assertion.value)


def _contains(assertion: Assertion) -> Check:
    words = text(assertion)
    return {"contains": {"all": words, "ignore_case": True} if assertion.kind[0] == "i" else words}


def _contains_all(assertion: Assertion) -> Check:
    words = texts(assertion)
    return {"contains": {"all": words, "ignore_case": True} if assertion.kind[0] == "i" else words}


def _contains_any(assertion: Assertion) -> Check:
    words = {"any": texts(assertion)}
    return {"contains": words | ({"ignore_case": True} if assertion.kind[0] == "i" else {})}


def _equals(assertion: Assertion) -> Check:
    if isinstance(assertion.value, dict | list):
        return {"json": {"equals": assertion.value}}
    return {"equals": {"text": text(assertion), "trim": False}}


def _regex(assertion: Assertion) -> Check:
    return {"regex": text(assertion)}


def _starts_with(assertion: Assertion) -> Check:
    return {"starts_with": text(assertion)}


def _ends_with(assertion: Assertion) -> Check:
    return {"ends_with": text(assertion)}


def _json(assertion: Assertion) -> Check:
    inside = {"inside": True} if assertion.kind == "contains-json" else {}
    schema = assertion.value
    if isinstance(schema, str) and schema.strip():
        try:
            schema = parse(schema.encode("utf-8", "replace"), "", "schema", core_yaml=True)
        except SetupError as error:
            raise Unfit(f"its schema cannot be read: {error}") from error
    wanted = inside | ({} if schema in (None, "") else {"schema": schema})
    return {"json": wanted or True}


def _words(assertion: Assertion) -> Check:
    value = assertion.value
    if isinstance(value, dict):
        return {"words": {key: _whole(value[key]) for key in ("min", "max") if value.get(key) is not None}}
    return {"words": _whole(value)}


def _latency(assertion: Assertion) -> Check:
    return {"seconds_at_most": _threshold(assertion) / 1000}


def _cost(assertion: Assertion) -> Check:
    return {"cost_at_most": _threshold(assertion)}


def _levenshtein(assertion: Assertion) -> Check:
    most = 5 if assertion.threshold is None else math.floor(assertion.threshold)
    return {"similar": {"to": text(assertion), "distance_at_most": most}}


def _tool_f1(assertion: Assertion) -> Check:
    least = {} if assertion.threshold is None else {"at_least": assertion.threshold}
    return {"tool_f1": {"tools": texts(assertion), **least} if least else texts(assertion)}


def _tool_used(assertion: Assertion) -> Check:
    value = assertion.value
    if isinstance(value, list):
        # `not-` forbids each tool of a list, and not only all of them in one conversation.
        return {"any" if assertion.negated else "all": [{"tool_called": in_words(each)} for each in value]}
    if not isinstance(value, dict):
        return {"tool_called": text(assertion)}
    if assertion.negated and value.get("max") == 0 and value.get("min") is None:
        raise Unfit("it cannot fail: promptfoo's smallest number of calls is 1 unless min says otherwise")
    times = {key: _whole(value[key]) for key in ("min", "max") if value.get(key) is not None}
    if value.get("max") is not None and value.get("min") is None:
        times = {"min": 0 if value["max"] == 0 else 1} | times
    return {"tool_called": {"name": _tool(value), **({"times": times} if times else {})}}


def _tool_sequence(assertion: Assertion) -> Check:
    value = assertion.value if isinstance(assertion.value, dict) else {"steps": assertion.value}
    steps = value.get("steps")
    if not isinstance(steps, list):
        raise Unfit("it has no list of steps")
    tools = [_tool(each) if isinstance(each, dict) else in_words(each) for each in steps]
    return {"tool_order": {"tools": tools, "exact": True} if value.get("mode") == "exact" else tools}


def _tool_arguments(assertion: Assertion) -> Check:
    value = assertion.value
    if not isinstance(value, dict):
        raise Unfit("its value is not a mapping with name and args")
    wanted = value.get("args", value.get("arguments"))
    exact = value.get("mode") == "exact"
    ignored = value.get("ignore") or []
    ignored = [ignored] if isinstance(ignored, str) else ignored
    if not isinstance(wanted, dict):
        raise Unfit("its args are not a mapping")
    if exact and (ignored or value.get("defaults")):
        raise Unfit("a check cannot leave out arguments and be exact about the others")
    if any("*" in name or "?" in name for name in ignored):
        raise Unfit("it leaves out arguments by a pattern")
    kept = {key: each for key, each in wanted.items() if key not in ignored}
    return {"tool_called": {"name": _tool(value), "arguments": kept, **({"exact": True} if exact else {})}}


def _step_count(assertion: Assertion) -> Check:
    value = assertion.value if isinstance(assertion.value, dict) else {}
    counts = {key: _whole(value[key]) for key in ("min", "max") if value.get(key) is not None}
    kinds = {None: {}, "span": {}, "tool": {"kind": "tool"}, "reasoning": {"kind": "think"}}
    if not counts or value.get("type") not in kinds:
        raise Unfit(f"steps of the type {value.get('type')!r} cannot be counted" if counts else "it has no min or max")
    if value.get("pattern") in (None, "*"):
        return {"steps": counts | kinds[value.get("type")]}
    if value.get("type") != "tool":
        raise Unfit("only tools can be counted by a pattern")
    return {"tool_called": {"name": _tool(value), "times": {"min": 0} | counts}}


def _tool(value: dict[str, Any]) -> str:
    name = value.get("name", value.get("pattern"))
    if not isinstance(name, str) or not name:
        raise Unfit("it has neither name nor pattern")
    if "?" in name:
        raise Unfit("its pattern has a question mark")
    return name


def _whole(value: Any) -> int:
    try:
        number = float(value)
        if isinstance(value, bool) or not number.is_integer():
            raise ValueError
    except (TypeError, ValueError, OverflowError) as error:
        raise Unfit(f"{value!r} is not a whole number") from error
    return int(number)


def _threshold(assertion: Assertion) -> float:
    if assertion.threshold is None:
        raise Unfit("it has no threshold, so it only measures")
    return assertion.threshold


# Each makes the check of which `not-` is the opposite.
CHECKS: dict[str, Callable[[Assertion], Check]] = {
    "contains": _contains,
    "icontains": _contains,
    "contains-all": _contains_all,
    "icontains-all": _contains_all,
    "contains-any": _contains_any,
    "icontains-any": _contains_any,
    "equals": _equals,
    "regex": _regex,
    "starts-with": _starts_with,
    "ends-with": _ends_with,
    "is-json": _json,
    "contains-json": _json,
    "word-count": _words,
    "latency": _latency,
    "cost": _cost,
    "levenshtein": _levenshtein,
    "tool-call-f1": _tool_f1,
    "trajectory:tool-used": _tool_used,
    "trajectory:tool-sequence": _tool_sequence,
    "trajectory:tool-args-match": _tool_arguments,
    "trajectory:step-count": _step_count,
}
USES_THRESHOLD = frozenset({"latency", "cost", "levenshtein", "tool-call-f1"})
