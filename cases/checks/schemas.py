"""Checks that a JSON Schema uses only what checks understand: the common keywords of draft 2020-12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.cases.checks.patterns import PatternFault, compiled
from viva.cases.checks.plain import CheckParts, Path, is_plain_number
from viva.cases.text import describe

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
LENGTHS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
COUNTS = (*LENGTHS, "minContains", "maxContains")
ONE_INSIDE = ("not", "items", "contains", "additionalProperties", "propertyNames", "if", "then", "else")
LISTS_INSIDE = ("allOf", "anyOf", "oneOf", "prefixItems")
MAPPINGS_INSIDE = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
NOTES = ("title", "description", "default", "examples", "$schema", "$id", "$comment", "format", "deprecated")
"""Keywords that say something to readers only; `format` is none that is checked, as the standard allows."""
KEYWORDS = (
    "type", "enum", "const", "required", "pattern", "uniqueItems", "$ref", *NUMBERS, *COUNTS, *ONE_INSIDE,
    *LISTS_INSIDE, *MAPPINGS_INSIDE, *NOTES,
)  # fmt: skip
MOST_SCHEMAS = 1_000
"""Maximum number of schemas inside of one."""


class SchemaParts(CheckParts):
    """Reads the JSON Schemas of checks."""

    def schema(self, value: Any, path: Path) -> Any:
        """Read a schema: a mapping of keywords, true or false."""
        plain = self.json(value, path)
        before = len(self.faults)
        if (count := _count(plain)) > MOST_SCHEMAS:
            self.fault(f"schema has {count:,} values, more than {MOST_SCHEMAS:,}", *path)
        else:
            self._schema(plain, path, plain)
        if len(self.faults) == before and _leads_in_a_circle(plain):
            self.fault("schema has references ($ref) that lead in a circle", *path)
        return plain

    def _schema(self, value: Any, path: Path, root: Any) -> None:
        if isinstance(value, bool):
            return
        if not isinstance(value, dict):
            self.fault(f"a schema must be a mapping, true or false, not {describe(value)}", *path)
            return
        self.keys(value, KEYWORDS, path)
        for key, given in value.items():
            if key in ONE_INSIDE:
                self._schema(given, (*path, key), root)
            elif key in LISTS_INSIDE:
                self._list(key, given, path, root)
            elif key in MAPPINGS_INSIDE:
                self._mapping(key, given, path, root)
            elif (wrong := self._wrong(key, given, root)) is not None:
                self.fault(f"{key} must be {wrong}, not {describe(given)}", *path, key)
            elif key == "pattern":
                self._pattern(given, (*path, key))

    def _list(self, key: str, given: Any, path: Path, root: Any) -> None:
        if not isinstance(given, list) or not given:
            self.fault(f"{key} must be a list of schemas, not {describe(given)}", *path, key)
            return
        for index, each in enumerate(given):
            self._schema(each, (*path, key, index), root)

    def _mapping(self, key: str, given: Any, path: Path, root: Any) -> None:
        if not isinstance(given, dict):
            self.fault(f"{key} must be a mapping of schemas, not {describe(given)}", *path, key)
            return
        for name, each in given.items():
            if key == "patternProperties":
                self._pattern(name, (*path, key, name))
            self._schema(each, (*path, key, name), root)

    def _pattern(self, pattern: str, path: Path) -> None:
        try:
            compiled(pattern)
        except PatternFault as error:
            self.fault(f"pattern {describe(pattern)} cannot be used: {error}", *path)

    def _wrong(self, key: str, given: Any, root: Any) -> str | None:
        """Return what a plain keyword must be, if it is not."""
        if key == "type":
            kinds = given if isinstance(given, list) else [given]
            return None if kinds and all(kind in TYPES for kind in kinds) else f"one of {', '.join(TYPES)}, or a list"
        if key == "enum":
            return None if isinstance(given, list) and given else "a list of values"
        if key == "required":
            fine = isinstance(given, list) and all(isinstance(each, str) for each in given)
            return None if fine else "a list of names"
        if key == "uniqueItems":
            return None if isinstance(given, bool) else "true or false"
        if key == "pattern":
            return None if isinstance(given, str) else "a regular expression"
        if key == "$ref":
            return None if resolved(root, given) is not None else "a reference in this schema, such as #/$defs/NAME"
        if key in COUNTS:
            return None if isinstance(given, int) and is_plain_number(given, 0) else "a whole number from 0"
        if key in NUMBERS:
            fine = is_plain_number(given) and not (key == "multipleOf" and given <= 0)
            return None if fine else "a number above 0" if key == "multipleOf" else "a number"
        return None


def resolved(root: Any, reference: Any) -> Any:
    """Return the schema to which a reference in the same document leads; None if there is none."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    value = root
    for part in reference[1:].split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value if isinstance(value, dict | bool) else None


def _count(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(_count(each) for each in value.values())
    return 1 + sum(_count(each) for each in value) if isinstance(value, list) else 1


_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
"""Keywords whose schemas are about the same value, so that a circle of references over them never ends."""


def _leads_in_a_circle(root: Any) -> bool:
    """Return whether references lead back to where they began without going into a value."""
    done: set[int] = set()

    def visit(schema: Any, above: frozenset[int]) -> bool:
        if not isinstance(schema, dict) or id(schema) in done:
            return False
        if id(schema) in above:
            return True
        inner = frozenset({*above, id(schema)})
        nexts = [resolved(root, schema["$ref"])] if "$ref" in schema else []
        for key in _IN_PLACE:
            given = schema.get(key)
            nexts += (
                given if isinstance(given, list) else given.values() if key == "dependentSchemas" and given else [given]
            )
        circle = any(visit(each, inner) for each in nexts)
        done.add(id(schema))
        return circle

    def every(value: Any) -> bool:
        if isinstance(value, dict):
            return visit(value, frozenset()) or any(every(each) for each in value.values())
        return isinstance(value, list) and any(every(each) for each in value)

    return every(root) if isinstance(root, Mapping) else False
