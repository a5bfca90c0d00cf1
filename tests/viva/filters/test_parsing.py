"""The language of filters: what it accepts, where it says a mistake is, and that it never fails in another way."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.filters.expression import KEYWORDS, NONE, And, Comparison, Expression, FilterError, Not, Or, written
from viva.filters.fields import FIELDS, OPERATORS, FieldKind, FilterField
from viva.filters.parsing import MOST_CHARACTERS, MOST_DEPTH, parse_filter

SCORE = Comparison("score", "<", "1")
TAG = Comparison("tag", "=", "smoke")
PASSED = Comparison("passed", "=", "yes")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("score<1", SCORE),
        ("  score  <  1  ", SCORE),
        ("score<1 and tag=smoke", And((SCORE, TAG))),
        ("score<1 AND tag=smoke or passed", Or((And((SCORE, TAG)), PASSED))),
        ("score<1 and (tag=smoke or passed)", And((SCORE, Or((TAG, PASSED))))),
        ("not score<1 and tag=smoke", And((Not(SCORE), TAG))),
        ("not (score<1 and tag=smoke)", Not(And((SCORE, TAG)))),
        ("not(passed)", Not(PASSED)),
        ("passed=no", Comparison("passed", "=", "no")),
        ('case="a case (of two)"', Comparison("case", "=", "a case (of two)")),
        ("case='it\\'s \\\\ it'", Comparison("case", "=", "it's \\ it")),
        ("agent=http://host/v1#model?a=b", Comparison("agent", "=", "http://host/v1#model?a=b")),
        ("case=FILE#NAME[row 1]", None),
        ("case='FILE#NAME[row 1]'", Comparison("case", "=", "FILE#NAME[row 1]")),
        ("metadata.team!=blue", Comparison("metadata", "!=", "blue", "team")),
        ('point."It says 5."=miss', Comparison("point", "=", "miss", "It says 5.")),
        ("score=none", Comparison("score", "=", None)),
        ('case="none"', Comparison("case", "=", "none")),
        ('case="and"', Comparison("case", "=", "and")),
        ("cost>$0.5", Comparison("cost", ">", "$0.5")),
    ],
)
def test_an_expression_is_read_as_its_grammar_says(text: str, expected: Expression | None) -> None:
    if expected is None:
        with pytest.raises(FilterError, match="requires quotes"):
            parse_filter(text)
    else:
        assert parse_filter(text) == expected


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "the expression is empty"),
        ("agent=x and scor<1", 13, "did you mean score?"),
        ("xyzzy=1", 1, "the fields are agent,"),
        ("score<", 7, "a value is missing"),
        ("score<<1", 7, "write the operator once"),
        ("score==1", 7, "write the operator once"),
        ("score", 6, "an operator is missing"),
        ("score 1", 7, "an operator is missing"),
        ("case:x", 5, "write = between"),
        ("score<high", 7, "'high' is not a number"),
        ("score<nan", 7, "is not a number"),
        ("score<none", 7, "only be compared by = and !="),
        ("score~1", 6, "which has no ~"),
        ("case<5", 5, "which has no <"),
        ("passed=maybe", 8, "neither yes nor no"),
        ("passed yes", 8, "an operator is missing"),
        ("status=failing", 8, "did you mean failed?"),
        ("status=infra_error", 8, "write outcome=infra_error"),
        ("seconds>soon", 9, "is not a duration"),
        ("started>yesterday", 9, "neither a date nor a time"),
        ("(score<1", 1, "is not closed"),
        ("score<1)", 8, "closes none"),
        ("(score<1 tag=x)", 10, "is missing here"),
        ("score<1 tag=x", 9, "'and' or 'or' is missing"),
        ("score<1 && tag=x", 9, "write 'and' instead of &"),
        ("score<1 and !passed", 13, "write 'not' instead of !"),
        ("score<1 and", 12, "a field is missing"),
        ("and", 1, "a field is missing"),
        ("case=and", 6, "a value is missing"),
        ('case="open', 6, "this quote is not closed"),
        ('case=half"quoted"', 10, "put the whole value in quotes"),
        ("metadata=3", 9, "requires a dot and a name: metadata.KEY"),
        ("metadata.=3", 10, "a name is missing"),
        ("score.x=3", 6, "nothing can follow score and a dot"),
        ("(" * (MOST_DEPTH + 1) + "passed", MOST_DEPTH + 1, "nested more than"),
        ("passed or " * MOST_CHARACTERS, MOST_CHARACTERS + 1, "longer than"),
    ],
)
def test_a_mistake_is_told_with_its_column_and_what_to_write(text: str, column: int, words: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(text)
    message, shown, mark = str(caught.value).split("\n")
    assert message.startswith(f"--where, column {column}: ")
    assert words in message
    assert mark.strip() == "^"
    assert text[column - 1 : column] in ("", shown[mark.index("^") :][:1])


names = st.text(min_size=1, max_size=12).filter(lambda text: "\x00" not in text)
numbers = st.floats(allow_nan=False, allow_infinity=False).map(repr)


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    field: FilterField = draw(st.sampled_from(list(FIELDS.values())))
    operator = draw(st.sampled_from(OPERATORS[field.kind]))
    ordered = operator not in ("=", "!=", "~")
    values = {
        FieldKind.NUMBER: numbers,
        FieldKind.SECONDS: st.integers(0, 9999).map(str) | st.just("1h30m"),
        FieldKind.YES_NO: st.sampled_from(["yes", "no", "true", "false"]),
        FieldKind.CHOICE: st.sampled_from(field.values or ("x",)),
        FieldKind.MOMENT: st.datetimes(min_value=datetime(1990, 1, 1)).map(lambda at: at.isoformat()),
        FieldKind.ANY: numbers if ordered else names,
    }.get(field.kind, names | st.sampled_from([*KEYWORDS, NONE]))
    value = draw(values if operator not in ("=", "!=") else values | st.none())
    return Comparison(field.name, operator, value, draw(names) if field.keyed else None)


def combined(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(inner, min_size=2, max_size=4).map(tuple)
    return several.map(And) | several.map(Or) | inner.map(Not)


expressions: st.SearchStrategy[Expression] = st.recursive(comparisons(), combined, max_leaves=8)


@given(expressions)
def test_an_expression_that_is_written_is_read_as_the_same(expression: Expression) -> None:
    assert parse_filter(written(expression)) == expression


PIECES = [
    "score",
    "tag",
    "metadata.",
    "passed",
    "<",
    "=",
    "!=",
    "~",
    "(",
    ")",
    "and",
    "or",
    "not",
    '"',
    "'",
    "\\",
    "none",
]


@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=20).map(" ".join))
def test_any_text_is_an_expression_or_a_mistake_in_one(text: str) -> None:
    try:
        found = parse_filter(text)
    except FilterError as error:
        told = str(error)
        assert "column" in told
    else:
        assert parse_filter(written(found)) == found
