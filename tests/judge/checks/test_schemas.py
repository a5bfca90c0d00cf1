"""The schemas of checks say what the package jsonschema says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.examples import examples
from viva.cases.checks.reader import CheckMistake, read_check
from viva.judge.checks.json_schemas import MOST_LOOKS, schema_fault
from viva.judge.checks.schema_limits import SchemaTooMuch

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from([0.5, 1.0, 2.5, -3.0])
    | st.text("ab1é", max_size=4)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
COUNTS = st.integers(0, 3)
NUMBERS = st.sampled_from([-1, 0, 1, 1.5, 2, 3])
PATTERNS = st.sampled_from(["^a", "b$", "a|1", "^.{2}$", "[0-9]"])
TYPES = st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"])


@st.composite
def larger(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    """A schema of a few keywords."""
    keywords = keywords_with(inner)
    chosen = draw(st.lists(st.sampled_from(sorted(keywords)), max_size=4, unique=True))
    return {keyword: draw(keywords[keyword]) for keyword in chosen}


def keywords_with(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    lists = st.lists(inner, min_size=1, max_size=3)
    return {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "required": st.lists(NAMES, max_size=2, unique=True),
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(["a", "b|c"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "dependentSchemas": st.dictionaries(NAMES, inner, max_size=2),
        "items": inner,
        "prefixItems": lists,
        "contains": inner,
        "minContains": COUNTS,
        "maxContains": COUNTS,
        "uniqueItems": st.booleans(),
        "pattern": PATTERNS,
        "minimum": NUMBERS,
        "maximum": NUMBERS,
        "exclusiveMinimum": NUMBERS,
        "exclusiveMaximum": NUMBERS,
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minLength": COUNTS,
        "maxLength": COUNTS,
        "minItems": COUNTS,
        "maxItems": COUNTS,
        "minProperties": COUNTS,
        "maxProperties": COUNTS,
        "allOf": lists,
        "anyOf": lists,
        "oneOf": lists,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
    }


FLAT = st.booleans() | larger(st.booleans())
SCHEMAS = FLAT | larger(FLAT) | larger(larger(FLAT))


@settings(max_examples=examples(200), deadline=None)
@given(SCHEMAS, VALUES)
def test_a_value_fulfils_what_jsonschema_says_that_it_fulfils(schema: Any, value: Any) -> None:
    read_check({"json": {"schema": schema}})
    assert (schema_fault(schema, value) is None) is Draft202012Validator(schema).is_valid(value)


LIST = {"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}}


def test_a_schema_may_refer_to_itself_inside_of_a_value() -> None:
    assert read_check({"json": {"schema": LIST}})
    assert schema_fault(LIST, {"next": {"next": {}}}) is None
    assert schema_fault(LIST, {"next": {"next": 3}}) == "next.next is not of the type object"


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        ({"required": ["name"]}, {}, "the value has no 'name'"),
        ({"properties": {"a": {"items": {"minimum": 3}}}}, {"a": [5, 1]}, "a[1] is below 3"),
        ({"additionalProperties": False}, {"x": 1}, "x is not allowed"),
        ({"oneOf": [True, True]}, 1, "the value fulfils 2 of 2 schemas, and not one"),
        ({"uniqueItems": True}, [1, 1.0], "the value has the same item twice"),
        ({"type": ["string", "null"]}, 1, "the value is not of the type string or null"),
    ],
)
def test_a_fault_says_where_and_what(schema: Any, value: Any, fault: str) -> None:
    assert schema_fault(schema, value) == fault


def test_a_value_that_is_too_large_for_its_schema_is_not_looked_at_in_full() -> None:
    with pytest.raises(SchemaTooMuch):
        schema_fault({"items": {"type": "number"}}, [1] * (MOST_LOOKS + 1))


@pytest.mark.parametrize("keyword", ["unevaluatedProperties", "$dynamicRef", "dependencies", "extends"])
def test_a_keyword_that_is_not_understood_is_a_mistake_and_not_ignored(keyword: str) -> None:
    with pytest.raises(CheckMistake, match="unknown key"):
        read_check({"json": {"schema": {keyword: {}}}})


def test_a_pattern_of_a_schema_takes_linear_time() -> None:
    schema = {"pattern": "^(a+)+$"}
    assert schema_fault(schema, "a" * 4_000 + "b") is not None
    assert json.dumps(schema)
