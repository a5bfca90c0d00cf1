"""Says where an assertion of promptfoo means something else than the check that it was made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

ONLY_THERE = ("format", "prefixItems", "dependentRequired", "dependentSchemas", "minContains", "maxContains")
"""Keywords of a JSON Schema that promptfoo checks and Viva does not, or the other way round."""
_OF_WORDS = re.compile(r"\\[wWbB]")


def differences(check: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a person should know who compares the verdicts of both, each once."""
    yield from dict.fromkeys(_of(check))


def _of(check: Mapping[str, Any]) -> Iterator[str]:
    for kind, value in check.items():
        options = value if isinstance(value, dict) else {}
        if kind in ("all", "any"):
            for each in value:
                yield from _of(each)
        elif kind == "not":
            yield from _of(value)
        elif kind in ("starts_with", "ends_with", "similar"):
            yield "promptfoo compares white space around the reply, too"
        elif kind == "json":
            yield from _of_json(options)
        elif kind == "regex":
            pattern = str(options.get("pattern", value))
            if _OF_WORDS.search(pattern) and not pattern.isascii():
                yield "in JavaScript's patterns, \\w and \\b know ASCII letters only"
        elif kind == "tool_called" and not options.get("exact") and _is_deep(options.get("arguments")):
            yield "promptfoo accepts further keys also within the values of arguments"


def _of_json(options: Mapping[str, Any]) -> Iterator[str]:
    if not options.get("inside"):
        yield "promptfoo does not look into a code fence for JSON"
    if _uses(options.get("schema")):
        yield f"promptfoo's schemas are of draft 7 and check formats: {', '.join(ONLY_THERE)} differ there"


def _uses(schema: Any) -> bool:
    if isinstance(schema, dict):
        return any(key in ONLY_THERE or _uses(value) for key, value in schema.items())
    return isinstance(schema, list) and any(map(_uses, schema))


def _is_deep(arguments: Any) -> bool:
    return any(map(_has_mapping, (arguments or {}).values()))


def _has_mapping(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_mapping, value)))
