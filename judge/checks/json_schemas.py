"""Checks a JSON value against a JSON Schema (draft 2020-12) of the keywords that `cases/checks/schemas.py` lets pass.

The package jsonschema would do it, too, but its patterns take exponential time if an agent wants them to, and with what
it requires it is beyond the size of Viva's core. Tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from viva.cases.checks.schemas import resolved
from viva.judge.checks.same import canonical_json
from viva.judge.checks.schema_limits import PLAIN_KEYWORDS, SHOWN, SchemaTooMuch, matches

MOST_LOOKS = 2_000
"""Maximum number of times that a schema looks at a value."""


def schema_fault(schema: Any, value: Any) -> str | None:
    """Return where a value does not fulfil a schema, and why; None if it does.

    Raises:
        SchemaTooMuch: it would take too long.
    """
    return next(_Looks(schema).faults(schema, value, ""), None)


class _Looks:
    """Looks at the parts of one value."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = MOST_LOOKS

    def faults(self, schema: Any, value: Any, place: str) -> Iterator[str]:
        """Yield the faults of a value; only as many are looked for as are taken."""
        self.spend(1)
        if isinstance(schema, bool):
            if not schema:
                yield f"{place or 'the value'} is not allowed"
            return
        if "$ref" in schema:
            yield from self.faults(resolved(self._root, schema["$ref"]), value, place)
        for keyword, given in schema.items():
            if (plain := PLAIN_KEYWORDS.get(keyword)) is not None:
                if (fault := plain(given, value)) is not None:
                    yield f"{place or 'the value'} {fault}"
            elif (inner := _INNER.get(keyword)) is not None:
                yield from inner(self, schema, value, place)

    def fits(self, schema: Any, value: Any) -> bool:
        """Return whether a value fulfils a schema."""
        return next(self.faults(schema, value, ""), None) is None

    def spend(self, looks: int) -> None:
        """Count looks.

        Raises:
            SchemaTooMuch: there were too many.
        """
        self._left -= looks
        if self._left < 0:
            raise SchemaTooMuch(f"with more than {MOST_LOOKS:,} values to inspect")


Schema = dict[str, Any]
_Inner = Callable[[_Looks, Schema, Any, str], Iterator[str]]


def _required(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        looks.spend(len(schema["required"]))
        yield from (
            f"{place or 'the value'} has no {name[:SHOWN]!r}" for name in schema["required"] if name not in value
        )


def _properties(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in schema["properties"].items():
            if name in value:
                yield from looks.faults(inner, value[name], _inside(place, name))


def _pattern_properties(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for pattern, inner in schema["patternProperties"].items():
            for name, item in value.items():
                looks.spend(1)
                if matches(pattern, name):
                    yield from looks.faults(inner, item, _inside(place, name))


def _additional(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, item in value.items():
        looks.spend(1)
        if name in known or any(matches(pattern, name) for pattern in patterns):
            continue
        yield from looks.faults(schema["additionalProperties"], item, _inside(place, name))


def _names(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    for name in value if isinstance(value, dict) else ():
        yield from looks.faults(schema["propertyNames"], name, f"the key {name[:SHOWN]!r} in {place or 'the value'}")


def _dependent(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    for name, inner in schema["dependentSchemas"].items():
        if isinstance(value, dict) and name in value:
            yield from looks.faults(inner, value, place)


def _items(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    if isinstance(value, list):
        for index in range(len(schema.get("prefixItems", ())), len(value)):
            yield from looks.faults(schema["items"], value[index], f"{place}[{index}]")


def _prefix(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, (inner, item) in enumerate(zip(schema["prefixItems"], value, strict=False)):
            yield from looks.faults(inner, item, f"{place}[{index}]")


def _contains(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    if isinstance(value, list):
        count = sum(looks.fits(schema["contains"], item) for item in value)
        least, most = schema.get("minContains", 1), schema.get("maxContains", len(value))
        if not least <= count <= most:
            yield f"{place or 'the value'} has {count} items of a kind of which it needs {least} to {most}"


def _unique(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    if isinstance(value, list) and schema["uniqueItems"]:
        looks.spend(len(value))
        if len({canonical_json(item) for item in value}) < len(value):
            yield f"{place or 'the value'} has the same item twice"


def _all_of(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    for inner in schema["allOf"]:
        yield from looks.faults(inner, value, place)


def _any_of(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    if not any(looks.fits(inner, value) for inner in schema["anyOf"]):
        yield f"{place or 'the value'} fulfils none of {len(schema['anyOf'])} schemas"


def _one_of(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    if (count := sum(looks.fits(inner, value) for inner in schema["oneOf"])) != 1:
        yield f"{place or 'the value'} fulfils {count} of {len(schema['oneOf'])} schemas, and not one"


def _not(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    if looks.fits(schema["not"], value):
        yield f"{place or 'the value'} fulfils a schema that it must not"


def _if(looks: _Looks, schema: Schema, value: Any, place: str) -> Iterator[str]:
    branch = schema.get("then" if looks.fits(schema["if"], value) else "else", True)
    yield from looks.faults(branch, value, place)


def _inside(place: str, name: str) -> str:
    return f"{place}.{name[:SHOWN]}" if place else name[:SHOWN]


_INNER: dict[str, _Inner] = {
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "propertyNames": _names,
    "dependentSchemas": _dependent,
    "items": _items,
    "prefixItems": _prefix,
    "contains": _contains,
    "uniqueItems": _unique,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
}
