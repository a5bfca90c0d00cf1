"""Makes scoring points of the assertions of one test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.cases.checks.reader import CheckMistake, read_check
from viva.errors import SetupError
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.ledger import Gap, Ledger
from viva.interchange.promptfoo.checks import CHECKS, USES_THRESHOLD, Assertion, Unfit
from viva.interchange.promptfoo.code import python_check, xml_check
from viva.interchange.promptfoo.references import FileReferences, file_name, is_code, with_function
from viva.interchange.promptfoo.statements import STAND_INS, STATEMENTS, negated, refusal
from viva.interchange.promptfoo.templates import filled_in, is_template
from viva.interchange.source import Source

NOT = "not-"
Point = str | dict[str, Any]
SETTINGS = {
    "provider": "the judge is the model of --model",
    "rubricPrompt": "Viva's judge has its own prompt",
    "config": "settings of the assertion",
    "contextTransform": "the context is not taken out of the answer by code",
}


class PointMaker:
    """Makes the points of one test."""

    def __init__(self, draft: CaseDraft, variables: Mapping[str, Any], references: FileReferences) -> None:
        self._draft = draft
        self._variables = variables
        self._references = references

    def add(self, given: Source) -> None:
        """Add a point for an assertion, or a group for a set of them; what cannot be had is marked and reported."""
        self._draft.points += self._points(given)

    def add_plain(self, given: Source, assertion: dict[str, Any]) -> None:
        """Add a point for an assertion that a single text of the source stands for."""
        ledger = Ledger()
        points = self._points(Source.root(assertion, ledger, str(given)))
        for note in dict.fromkeys(note for leaf in ledger for note in leaf.notes):
            given.report(note.kind, note.why)
        for _, note in ledger.remarks:
            given.remark(note.kind, note.why)
        if points:
            given.express("a scoring point")
        self._draft.points += points

    def _points(self, given: Source) -> list[Point]:
        kind = given.get("type")
        if kind is None or not isinstance(kind.peek(), str):
            given.report(Gap.NOT_READ, "it is not an assertion")
            return []
        if kind.peek() == "assert-set":
            return self._set(given)
        return self._single(given, kind)

    def _set(self, given: Source) -> list[Point]:
        inner = given.get("assert")
        members = [] if inner is None else list(self._references.listed(inner))
        points = [point for member in members for point in self._points(member)]
        given_type = given.get("type")
        if given_type is not None:
            given_type.express("a group of points")
        for key, each in given.items():
            if key not in ("type", "assert", "weight", "metric", "threshold"):
                each.report(Gap.NO_HOME, SETTINGS.get(key, "a setting of a set of assertions"))
        threshold = given.get("threshold")
        if not points:
            self._draft.mark(f"{given}: nothing of this set of assertions could be imported")
            return []
        if (one := self._any_of(points, threshold)) is not None:
            return self._finished(given, one)
        if threshold is not None:
            threshold.report(Gap.NO_HOME, "a set that passes as a whole; here each of its points counts")
        metric = given.get("metric")
        title = (
            filled_in(metric.peek(), self._variables)[0]
            if metric is not None and metric.is_text
            else f"All {len(points)} of these"
        )
        return self._finished(given, {"score_point": str(title), "points": points})

    def _any_of(self, points: list[Point], threshold: Source | None) -> dict[str, Any] | None:
        """Return one point for a set of checks of which one is enough, if that is what its threshold says."""
        least = None if threshold is None else threshold.peek()
        if threshold is None or not isinstance(least, int | float) or not 0 < least <= 1 / len(points):
            return None
        if not all(isinstance(point, dict) and set(point) == {"check"} for point in points):
            return None
        threshold.express("check: any")
        return {"check": {"any": [point["check"] for point in points if isinstance(point, dict)]}}

    def _single(self, given: Source, kind: Source) -> list[Point]:
        name = str(kind.peek())
        is_negated = name.startswith(NOT)
        base = name.removeprefix(NOT)
        if (transform := given.get("transform")) is not None:
            transform.report(Gap.REFUSED, "code that changes the answer before it is checked")
            return self._refuse(given, name, "its answer would be changed by code first")
        value = given.get("value")
        assertion = Assertion(base, is_negated, self._value(value), _number(given.get("threshold")))
        try:
            point = self._made(given, assertion)
        except Unfit as error:
            return self._refuse(given, name, str(error))
        kind.express(_words(point))
        self._account(given, value)
        return self._finished(given, point)

    def _value(self, value: Source | None) -> Any:
        if value is None:
            return None
        name = file_name(value)
        if name is not None and not is_code(name):
            found = self._references.document(value, name)
            if found is None:
                return None
            found.express("a value of an assertion")
            value = found
        filled, left = filled_in(value.peek(), self._variables)
        if left:
            value.remark(Gap.NEEDS_A_PERSON, f"these parts of templates were left as they are: {', '.join(left[:5])}")
            self._draft.mark(f"{value}: fill in {', '.join(left[:5])}")
        return filled

    def _made(self, given: Source, assertion: Assertion) -> dict[str, Any]:
        if assertion.kind in CHECKS:
            check = CHECKS[assertion.kind](assertion)
            check = _opposite(check) if assertion.negated else check
            try:
                read_check(check)
            except CheckMistake as error:
                raise Unfit(str(error)) from error
            return {"check": check}
        if assertion.kind == "python":
            return self._python(given, assertion)
        if assertion.kind in ("is-xml", "contains-xml"):
            words = "is XML and nothing else" if assertion.kind == "is-xml" else "contains XML"
            words = f"The agent's answer {words}."
            return {"score_point": negated(words) if assertion.negated else words, "eval_code": xml_check(assertion)}
        statement = STATEMENTS.get(assertion.kind) or STAND_INS.get(assertion.kind)
        if statement is None:
            raise Unfit(refusal(assertion.kind))
        if assertion.kind in STAND_INS:
            given.remark(Gap.NEEDS_A_PERSON, f"{assertion.kind} is judged by a model here, and not computed")
        words = statement(assertion)
        return {"score_point": negated(words) if assertion.negated else words}

    def _python(self, given: Source, assertion: Assertion) -> dict[str, Any]:
        function = None
        value = given.get("value")
        if value is not None and (named := file_name(value)) is not None:
            name, function = with_function(named)
            if not name.endswith(".py"):
                raise Unfit("its code is not Python")
            try:
                content = self._references.text(name)
            except SetupError as error:
                raise Unfit(str(error)) from error
            content.express("eval_code, which runs in the sandbox")
            value.express("eval_code, which runs in the sandbox")
            assertion = Assertion("python", assertion.negated, content.peek(), assertion.threshold)
            function = function or "get_assert"
        code = python_check(assertion, function, dict(self._variables))
        try:
            compile(code, "assertion", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise Unfit(f"its Python does not compile: {error}") from error
        words = "The assertion in Python holds."
        return {"score_point": words, "eval_code": code}

    def _account(self, given: Source, value: Source | None) -> None:
        kind = str(given.peek()["type"]).removeprefix(NOT)
        if value is not None and file_name(value) is None:
            if is_template(value.peek()) or kind not in ("llm-rubric", "equals", "contains", "regex"):
                value.express("a value of an assertion")
            else:
                value.take()
        threshold = given.get("threshold")
        if threshold is not None:
            if kind in USES_THRESHOLD or kind == "python":
                threshold.express("a limit of a check")
            else:
                threshold.report(Gap.NO_HOME, "a point is a hit or a miss, without a threshold of its own")
        for key, each in given.items():
            if key not in ("type", "value", "threshold", "weight", "metric"):
                each.report(Gap.NO_HOME, SETTINGS.get(key, "a setting of an assertion"))

    def _finished(self, given: Source, point: dict[str, Any]) -> list[Point]:
        weight, metric = given.get("weight"), given.get("metric")
        if weight is not None:
            number = weight.peek()
            if isinstance(number, bool) or not isinstance(number, int | float) or number <= 0:
                given.report(Gap.NO_HOME, "weight 0: it is measured and never counts, so it was left out")
                return []
            if number != 1:
                point["weight"] = weight.take()
            else:
                weight.express("weight 1, the default")
        if metric is not None and metric.peek() not in (None, ""):
            filled, _ = filled_in(metric.peek(), self._variables)
            if "points" in point:
                metric.take() if point["score_point"] == metric.peek() else metric.express("the title of a group")
                return [point]
            metric.take() if filled == metric.peek() else metric.express("metadata of a point")
            point["metadata"] = {"metric": filled}
        return [point["score_point"]] if set(point) == {"score_point"} else [point]

    def _refuse(self, given: Source, name: str, why: str) -> list[Point]:
        given.report(Gap.REFUSED, f"assertion {name}: {why}")
        self._draft.mark(f"write what the assertion {name} checked ({given}): {why}")
        return []


def _opposite(check: dict[str, Any]) -> dict[str, Any]:
    wanted = check.get("contains")
    if isinstance(wanted, str):
        return {"not_contains": wanted}
    return {"not": check}


def _words(point: dict[str, Any]) -> str:
    if "check" in point:
        check = point["check"]
        inner = check.get("not", check)
        return f"check: {'not ' if 'not' in check else ''}{next(iter(inner))}"
    return "eval_code" if "eval_code" in point else "a statement"


def _number(source: Source | None) -> float | None:
    value = None if source is None else source.peek()
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None
