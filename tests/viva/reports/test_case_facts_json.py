"""What a case says of itself, in the JSON of a report: any content, also a stranger's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.filters.stored_cases import facts_in
from viva.records.codec import to_plain
from viva.reports.json_document import _of_decoded

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=())),  # with lone surrogates
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@given(st.dictionaries(st.text(min_size=1), VALUES, max_size=4))
def test_columns_are_written_as_any_record_is(columns: dict[str, Any]) -> None:
    facts = facts_in({"row": "1", "columns": columns})
    text = _of_decoded(facts)
    assert text.isascii()
    assert json.loads(text) == to_plain(facts, full=True)


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), "\ud800", "\x7f", nested(2_000)])
def test_what_json_has_no_form_for_is_written_all_the_same(value: Any) -> None:
    text = _of_decoded(facts_in({"metadata": {"odd": value}}))
    assert text.isascii()
    assert "NaN" not in text
    assert "\x7f" not in text
    assert list(json.loads(text)["metadata"]) == ["odd"]
