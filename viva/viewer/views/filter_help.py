"""Explains filter expressions: the fields, their operators and values, as the parser knows them."""

from __future__ import annotations

from typing import Any

from viva.filters.fields import FIELDS, OPERATORS

EXAMPLES = (
    ("score<1 and tag=smoke", "runs with this tag that lost points"),
    ('agent~gpt or case="two words"', "~ is part of the text; quotes for blanks"),
    ("not passed and (rounds>10 or seconds>2m)", "not, and, or, brackets"),
    ('missed~"the price" and persona=terse', "a point that was missed"),
)


def filter_help() -> dict[str, Any]:
    """Return the fields of filter expressions in their order, and some expressions with what they keep."""
    fields = [[each.shown, " ".join(OPERATORS[each.kind]), each.words, list(each.values)] for each in FIELDS.values()]
    return {"fields": fields, "examples": [list(each) for each in EXAMPLES]}
