"""Parses filter expressions, and says of a mistake in which column it is and what to write instead.

The grammar, in the notation of RFC 5234; spaces may be anywhere between its parts:

    expression = conjunction *("or" conjunction)
    conjunction = term *("and" term)
    term = "not" term / "(" expression ")" / field [operator value]
    field = name ["." key]
    operator = "=" / "!=" / "<" / "<=" / ">" / ">=" / "~"

A key or value is a word or is in quotes, in which a backslash stands before a quote or backslash. A field that is yes
or no needs no operator.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import NoReturn

from viva.filters.expression import KEYWORDS, NONE, And, Comparison, Expression, FilterError, Not, Or
from viva.filters.fields import FIELDS, OPERATORS, FieldKind, FilterField
from viva.filters.values import read_value
from viva.records.text import one_line, printable

MOST_CHARACTERS = 20_000
MOST_DEPTH = 60
"""Maximum depth of parentheses and `not`."""
SHOWN_BEFORE, SHOWN_AFTER = 60, 30
"""Characters of the expression that a message shows before and after the mistake."""
_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[^\W\d][\w-]*")
_KEY = re.compile(r"[^\s()\"'=<>!~]+")
_OPERATOR = re.compile(r"<=|>=|!=|=|<|>|~")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_WORD = re.compile(r"[^\s()\"']+")
_OTHER_LANGUAGES = {"&": "and", "|": "or", "!": "not"}


def parse_filter(text: str, option: str = "--where") -> Expression:
    """Return the tree of an expression.

    Args:
        text: The expression.
        option: What the message about a mistake names.

    Raises:
        FilterError: it is not an expression; the message names the column.
    """
    return _Parser(text, option).whole()


class _Parser:
    def __init__(self, text: str, option: str) -> None:
        self._text, self._option = text, option
        self._at = 0
        self._depth = 0

    def whole(self) -> Expression:
        if len(self._text) > MOST_CHARACTERS:
            self._at = MOST_CHARACTERS
            self._fail(f"the expression is longer than {MOST_CHARACTERS:,} characters")
        self._skip()
        if self._is_done():
            self._fail("the expression is empty; write, for example, score<1 and tag=smoke")
        found = self._disjunction()
        if not self._is_done():
            if self._text[self._at] == ")":
                self._fail("this parenthesis closes none")
            self._refuse_other_language()
            self._fail("'and' or 'or' is missing here; a value with spaces or parentheses requires quotes")
        return found

    def _disjunction(self) -> Expression:
        parts = [self._conjunction()]
        while self._takes("or"):
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _conjunction(self) -> Expression:
        parts = [self._term()]
        while self._takes("and"):
            parts.append(self._term())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _term(self) -> Expression:
        begin = self._at
        self._depth += 1
        if self._depth > MOST_DEPTH:
            self._fail(f"parentheses and 'not' are nested more than {MOST_DEPTH} deep")
        try:
            if self._takes("not"):
                return Not(self._term())
            if self._takes_sign("("):
                found = self._disjunction()
                if not self._takes_sign(")"):
                    if self._is_done():
                        self._at = begin
                        self._fail("this parenthesis is not closed")
                    self._fail("'and', 'or' or ) is missing here")
                return found
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Comparison:
        begin = self._at
        field = self._field()
        key = self._key(field)
        self._skip()
        operator = _OPERATOR.match(self._text, self._at)
        if operator is None:
            if field.kind is FieldKind.YES_NO and not self._is_value_next():
                return Comparison(field.name, "=", "yes", key, begin + 1)
            self._fail_at_operator(field)
        if operator[0] not in OPERATORS[field.kind]:
            self._fail(f"{field.name} is {_kind(field)}, which has no {operator[0]}; use {_operators(field)}")
        self._at = operator.end()
        self._skip()
        value_at = self._at
        value = self._value(field, operator[0])
        if value is None and operator[0] not in ("=", "!="):
            self._fail(f"{NONE} can only be compared by = and !=", value_at)
        self._skip()
        return Comparison(field.name, operator[0], value, key, begin + 1)

    def _field(self) -> FilterField:
        name = _NAME.match(self._text, self._at)
        if name is None or name[0].lower() in KEYWORDS:
            self._refuse_other_language()
            self._fail("a field is missing here, such as score")
        field = FIELDS.get(name[0])
        if field is None:
            near = get_close_matches(name[0].lower(), FIELDS, 1)
            known = ", ".join(each.shown for each in FIELDS.values())
            rest = f"did you mean {FIELDS[near[0]].shown}?" if near else f"the fields are {known}"
            self._fail(f"there is no field {one_line(name[0], 40)!r}; {rest}")
        self._at = name.end()
        return field

    def _key(self, field: FilterField) -> str | None:
        dot = self._text[self._at : self._at + 1] == "."
        if not field.keyed:
            if dot:
                self._fail(f"nothing can follow {field.name} and a dot")
            return None
        if not dot:
            self._fail(f"{field.name} requires a dot and a name: {field.shown}")
        self._at += 1
        if (quoted := self._quoted()) is not None:
            return quoted
        if (word := _KEY.match(self._text, self._at)) is None:
            self._fail(f"a name is missing here: {field.shown}")
        self._at = word.end()
        return word[0]

    def _value(self, field: FilterField, operator: str) -> str | None:
        begin = self._at
        value: str | None = self._quoted()
        if value is None:
            word = _WORD.match(self._text, begin)
            if word is None or word[0].lower() in KEYWORDS:
                self._fail(f"a value is missing after {operator}")
            if _OPERATOR.match(word[0]) or word[0].startswith("!"):
                words = "write the operator once, and a value that begins like this in quotes"
                self._fail(f"a value is missing after {operator}; {words}")
            self._at = word.end()
            if self._text[self._at : self._at + 1] in ("'", '"'):
                self._fail("this quote is within a value; put the whole value in quotes")
            if word[0].lower() == NONE:
                return None
            value = word[0]
        try:
            read_value(field, operator, value)
        except ValueError as error:
            self._fail(f"{one_line(value, 60)!r} {error}", begin)
        return value

    def _quoted(self) -> str | None:
        """Return the text in quotes that begins here; None if none does."""
        if self._text[self._at : self._at + 1] not in ("'", '"'):
            return None
        found = _QUOTED.match(self._text, self._at)
        if found is None:
            self._fail("this quote is not closed")
        self._at = found.end()
        return re.sub(r"\\(.)", r"\1", found[0][1:-1], flags=re.DOTALL)

    def _is_value_next(self) -> bool:
        word = _WORD.match(self._text, self._at)
        return word is not None and word[0].lower() not in KEYWORDS

    def _fail_at_operator(self, field: FilterField) -> NoReturn:
        sign = self._text[self._at : self._at + 1]
        if sign == ":":
            self._fail(f"write = between {field.shown} and its value")
        self._fail(f"an operator is missing after {field.shown}: {_operators(field)}")

    def _refuse_other_language(self) -> None:
        sign = self._text[self._at : self._at + 1]
        if sign and sign in _OTHER_LANGUAGES:
            self._fail(f"write '{_OTHER_LANGUAGES[sign]}' instead of {sign}")

    def _takes(self, keyword: str) -> bool:
        end = self._at + len(keyword)
        if self._text[self._at : end].lower() != keyword or re.match(r"[\w.=<>!~-]", self._text[end : end + 1]):
            return False
        self._at = end
        self._skip()
        return True

    def _takes_sign(self, sign: str) -> bool:
        if self._text[self._at : self._at + 1] != sign:
            return False
        self._at += 1
        self._skip()
        return True

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        self._at = self._at if space is None else space.end()

    def _is_done(self) -> bool:
        return self._at >= len(self._text)

    def _fail(self, words: str, at: int | None = None) -> NoReturn:
        at = self._at if at is None else at
        before = _on_one_line(self._text[max(0, at - SHOWN_BEFORE) : at])
        after = _on_one_line(self._text[at : at + SHOWN_AFTER])
        raise FilterError(f"{self._option}, column {at + 1}: {words}\n  {before}{after}\n  {' ' * len(before)}^")


def _on_one_line(text: str) -> str:
    """Return a part of an expression in which every white space is one blank, so that a mark can stand below it."""
    return printable(re.sub(r"\s", " ", text))


def _kind(field: FilterField) -> str:
    return {FieldKind.TEXT: "text", FieldKind.TEXTS: "text"}.get(field.kind, field.kind.value)


def _operators(field: FilterField) -> str:
    return ", ".join(OPERATORS[field.kind])
