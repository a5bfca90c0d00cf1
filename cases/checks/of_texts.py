"""Reads the checks that are about a text: a reply of the agent, or what one of its files holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from viva.cases.checks.data import (
    CheckRange,
    ContainsCheck,
    EdgeCheck,
    EqualsCheck,
    JsonCheck,
    NumberCheck,
    PatternCheck,
    SimilarCheck,
    TextCheck,
    WordsCheck,
)
from viva.cases.checks.json_paths import PathFault, read_path
from viva.cases.checks.patterns import PatternFault, compiled
from viva.cases.checks.plain import Path, is_plain_number
from viva.cases.checks.schemas import SchemaParts
from viva.cases.text import describe, number_text

LONGEST_SIMILAR = 1_000
"""Maximum number of characters of a text that replies are compared with."""


class TextChecks(SchemaParts):
    """Reads checks of texts; each method returns None if it noted a mistake that leaves nothing to build."""

    def text_readers(self) -> Mapping[str, Callable[[Any, Path], TextCheck | None]]:
        """Return the method that reads each kind of check of a text."""
        return {
            "contains": self.contains,
            "not_contains": self.not_contains,
            "equals": self.equals,
            "starts_with": self.starts_with,
            "ends_with": self.ends_with,
            "regex": self.regex,
            "number": self.number_in,
            "json": self.json_in,
            "words": self.words,
            "similar": self.similar,
        }

    def contains(self, value: Any, path: Path) -> TextCheck | None:
        """Read `contains`: a text, a list of texts that must all be there, or a mapping with `all` or `any`."""
        options = value if isinstance(value, Mapping) else {"all": value}
        self.keys(options, ("all", "any", "ignore_case"), path)
        given = [key for key in ("all", "any") if options.get(key) is not None]
        if len(given) != 1:
            self.fault("contains needs a text, a list of texts, or a mapping with either all or any", *path)
            return None
        needs: Literal["all", "any"] = "any" if given == ["any"] else "all"
        texts = self.texts(options[needs], (*path, needs) if value is options else path)
        return ContainsCheck(texts=texts, needs=needs, ignore_case=self.flag(options, "ignore_case", path))

    def not_contains(self, value: Any, path: Path) -> TextCheck | None:
        """Read `not_contains`: texts of which none may be there."""
        options, texts = self._texts_of(value, path, ())
        return ContainsCheck(texts=texts, needs="none", ignore_case=self.flag(options, "ignore_case", path))

    def equals(self, value: Any, path: Path) -> TextCheck | None:
        """Read `equals`: a text, or a list of texts of which it must be one."""
        options, texts = self._texts_of(value, path, ("trim",))
        ignore_case, trim = self.flag(options, "ignore_case", path), self.flag(options, "trim", path, default=True)
        return EqualsCheck(texts=texts, ignore_case=ignore_case, trim=trim)

    def starts_with(self, value: Any, path: Path) -> TextCheck | None:
        """Read `starts_with`."""
        options, texts = self._texts_of(value, path, ())
        return EdgeCheck(edge="start", texts=texts, ignore_case=self.flag(options, "ignore_case", path))

    def ends_with(self, value: Any, path: Path) -> TextCheck | None:
        """Read `ends_with`."""
        options, texts = self._texts_of(value, path, ())
        return EdgeCheck(edge="end", texts=texts, ignore_case=self.flag(options, "ignore_case", path))

    def _texts_of(self, value: Any, path: Path, more: tuple[str, ...]) -> tuple[Mapping[Any, Any], tuple[str, ...]]:
        if not isinstance(value, Mapping):
            return {}, self.texts(value, path)
        self.keys(value, ("text", "ignore_case", *more), path)
        if value.get("text") is None:
            self.fault(f"{path[-1]} needs text: a text, or a list of texts", *path)
            return value, ()
        return value, self.texts(value["text"], (*path, "text"))

    def regex(self, value: Any, path: Path) -> TextCheck | None:
        """Read `regex`: a pattern, or a mapping with `pattern`."""
        options = value if isinstance(value, Mapping) else {"pattern": value}
        self.keys(options, ("pattern", "ignore_case", "whole"), path)
        pattern = self.text(options.get("pattern"), (*path, "pattern") if value is options else path)
        ignore_case, whole = self.flag(options, "ignore_case", path), self.flag(options, "whole", path)
        if pattern is None:
            return None
        try:
            compiled(pattern, ignore_case, whole)
        except PatternFault as error:
            self.fault(f"regex {describe(pattern)} cannot be used: {error}", *path)
        return PatternCheck(pattern=pattern, ignore_case=ignore_case, whole=whole)

    def number_in(self, value: Any, path: Path) -> TextCheck | None:
        """Read `number`: a number, or a mapping with `equals` and `tolerance` or `percent`, or with `min` and `max`."""
        options = value if isinstance(value, Mapping) else {"equals": value}
        self.keys(options, ("equals", "tolerance", "percent", "min", "max", "only"), path)
        if value is not options and not is_plain_number(value):
            self.fault(f"number must be a number, or a mapping with equals, min or max, not {describe(value)}", *path)
            return None
        equals, least, most = (self.number(options, key, path) for key in ("equals", "min", "max"))
        tolerance, percent = (self.number(options, key, path, least=0) for key in ("tolerance", "percent"))
        if (equals is None) == (least is None and most is None):
            self.fault("number needs either equals (with tolerance or percent), or min, max or both", *path)
            return None
        if tolerance is not None and percent is not None:
            self.fault("number has tolerance and percent: remove one of them", *path)
        only = self.flag(options, "only", path)
        if equals is None:
            if tolerance is not None or percent is not None:
                self.fault("tolerance and percent belong to equals", *path)
            allowed = self.between(least, most, path)
            return None if allowed is None else NumberCheck(allowed=allowed, only=only)
        around = abs(equals) * percent / 100 if percent is not None else tolerance or 0.0
        return NumberCheck(allowed=CheckRange(equals - around, equals + around), equals=equals, only=only)

    def json_in(self, value: Any, path: Path) -> TextCheck | None:
        """Read `json`: true for any JSON, or a mapping with `path`, `equals`, `schema` and `inside`."""
        if value is True:
            return JsonCheck()
        if not isinstance(value, Mapping) or not value:
            words = "json must be true, or a mapping with path, equals, schema or inside"
            self.fault(f"{words}, not {describe(value)}", *path)
            return None
        self.keys(value, ("path", "equals", "schema", "inside"), path)
        steps: tuple[str | int, ...] = ()
        if value.get("path") is not None and (given := self.text(value["path"], (*path, "path"))) is not None:
            try:
                steps = read_path(given)
            except PathFault as error:
                self.fault(str(error), *path, "path")
        wanted = self.json(value["equals"], (*path, "equals")) if "equals" in value else None
        schema = self.schema(value["schema"], (*path, "schema")) if "schema" in value else None
        return JsonCheck(
            path=steps,
            has_value="equals" in value,
            value=wanted,
            schema=schema,
            inside=self.flag(value, "inside", path),
        )

    def words(self, value: Any, path: Path) -> TextCheck | None:
        """Read `words`: how many, or a mapping with `min` and `max`."""
        allowed = self.counts(value, path)
        return None if allowed is None else WordsCheck(allowed=allowed)

    def similar(self, value: Any, path: Path) -> TextCheck | None:
        """Read `similar`: `to` a text, with `at_least` (0 to 1) or `distance_at_most`."""
        options = value if isinstance(value, Mapping) else {"to": value}
        self.keys(options, ("to", "at_least", "distance_at_most", "ignore_case"), path)
        to = self.text(options.get("to"), (*path, "to") if value is options else path)
        if to is not None and len(to) > LONGEST_SIMILAR:
            self.fault(f"similar compares with at most {LONGEST_SIMILAR:,} characters; this has {len(to):,}", *path)
        at_least, most = self.number(options, "at_least", path, least=0), self.count(options, "distance_at_most", path)
        if at_least is not None and at_least > 1:
            self.fault(f"at_least must be a number from 0 to 1, not {number_text(at_least)}", *path, "at_least")
        if at_least is not None and most is not None:
            self.fault("similar has at_least and distance_at_most: remove one of them", *path)
        if to is None:
            return None
        if at_least is None and most is None:
            at_least = 0.8
        ignore_case = self.flag(options, "ignore_case", path)
        return SimilarCheck(to=to, at_least=at_least, distance_at_most=most, ignore_case=ignore_case)
