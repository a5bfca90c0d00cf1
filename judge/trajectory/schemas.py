"""The evaluator that checks the arguments of tool calls against the tools' JSON schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from viva.errors import SetupError
from viva.judge.trajectory import ARGUMENT_SCHEMA
from viva.judge.trajectory.calls import NO_DEFINITIONS
from viva.judge.trajectory.decisions import StepDecision, calls, canonical, decisions, why_empty
from viva.judge.trajectory.insights import cannot_judge, summarize
from viva.judge.trajectory.tools import ToolDefinition, tool_definitions
from viva.records.evaluator import Context
from viva.records.fault import Fault
from viva.records.text import one_line
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Label, Verdict

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

MOST_FAULTS = 5
"""Faults of one call that a reason lists."""
MOST_REFERENCES = 100_000
"""References in schemas of one tool that are followed in all calls of one trajectory."""
PATTERN_SECONDS = 1.0
MOST_SCHEMAS = 1000
"""Schemas that are kept: to make a checker takes a hundred times as long as to check a call."""


class ArgumentSchema:
    """Checks each call's arguments against the JSON Schema of its tool.

    Labels of a call: `valid` (1), `invalid` (0), `unsure` (the tool has no schema, or is not defined), `error` (the
    schema itself is broken). Needs tool definitions in the recording, and the packages of `vivavoce[trajectory]`.
    """

    name = ARGUMENT_SCHEMA
    needs = ()
    instant = True

    def __init__(self) -> None:
        """Check that the package for schemas is installed.

        Raises:
            SetupError: it is not.
        """
        try:
            import jsonschema  # noqa: F401
        except ImportError as error:
            raise SetupError(
                f"the evaluator {self.name!r} requires the package jsonschema: pip install 'vivavoce[trajectory]'."
            ) from error
        self._known: dict[str, _Checker | str] = {}

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Return one verdict for each tool call."""
        tools = tool_definitions(transcript.tools)
        path = decisions(transcript)
        made = calls(path)
        if not tools and made:
            return cannot_judge(self.name, context.subject, NO_DEFINITIONS)
        checkers: dict[str, _Checker | str] = {}
        verdicts = [self._judge(each, tools, checkers) for each in made]
        return summarize(self.name, context.subject, verdicts, empty=why_empty(transcript, path))

    def _judge(
        self, call: StepDecision, tools: Mapping[str, ToolDefinition], checkers: dict[str, _Checker | str]
    ) -> Verdict:
        schema = tools[call.tool].parameters if call.tool in tools else None
        if schema is None:
            words = "the tool has no schema" if call.tool in tools else "no tool of this name is defined"
            return self._verdict(call, Label.UNSURE, None, words)
        if call.tool not in checkers:
            checkers[call.tool] = self._checker(schema)
        checker = checkers[call.tool]
        if isinstance(checker, str):
            return self._verdict(call, Label.ERROR, None, f"the tool's schema is broken: {checker}", Fault.JUDGE)
        arguments = call.arguments
        if not isinstance(arguments, dict):
            return self._verdict(call, "invalid", 0.0, f"the arguments are not an object: {one_line(call.input, 200)}")
        try:
            faults = sorted(_fault(error) for error in checker.validator.iter_errors(arguments))
        except Exception as error:  # a reference that leads nowhere, a pattern that is none
            words = one_line(f"{type(error).__name__}: {error}", 300)
            return self._verdict(call, Label.ERROR, None, f"the tool's schema is broken: {words}", Fault.JUDGE)
        if not faults:
            return self._verdict(call, "valid", 1.0, "the arguments fit the tool's schema")
        more = f"; {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        return self._verdict(call, "invalid", 0.0, "; ".join(faults[:MOST_FAULTS]) + more)

    def _checker(self, schema: Mapping[str, Any]) -> _Checker | str:
        """Return the checker of a schema, with all of its references left for this trajectory."""
        key = canonical(schema)
        if key not in self._known:
            if len(self._known) >= MOST_SCHEMAS:
                self._known.clear()
            self._known[key] = _make_checker(schema)
        checker = self._known[key]
        if isinstance(checker, _Checker):
            checker.steps.begin()
        return checker

    def _verdict(
        self, call: StepDecision, label: str, score: float | None, reason: str, fault: Fault | None = None
    ) -> Verdict:
        return Verdict(call.id, self.name, label, score, reason=reason, statement=call.tool, fault=fault)


@dataclass(frozen=True, slots=True)
class _Checker:
    validator: Validator
    steps: _Steps


def _make_checker(schema: Mapping[str, Any]) -> _Checker | str:
    """Make what checks arguments by a schema, or say why it cannot be made.

    A schema comes from a recording, and may be untrusted: references to elsewhere are not followed, and
    neither a pattern nor references to each other can make a check run forever.
    """
    import jsonschema
    from jsonschema.validators import extend, validator_for
    from referencing import Registry

    kind: Any = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(dict(schema))
    except (jsonschema.SchemaError, RecursionError) as error:
        return one_line(str(getattr(error, "message", error)), 300)
    if '"patternProperties"' in canonical(schema):
        return "patternProperties is not supported"
    steps = _Steps()
    bounded = {key: steps.counted(kind.VALIDATORS[key]) for key in ("$ref", "$dynamicRef") if key in kind.VALIDATORS}
    make: Any = extend(kind, {**bounded, "pattern": _pattern})  # type: ignore[no-untyped-call]
    return _Checker(make(dict(schema), registry=Registry()), steps)


class _Steps:
    """Counts the references that are followed: each may double the work of the one before."""

    def __init__(self) -> None:
        self._left = MOST_REFERENCES

    def begin(self) -> None:
        """Count anew, for another trajectory."""
        self._left = MOST_REFERENCES

    def counted(self, follow: Any) -> Any:
        def one(validator: Any, reference: Any, instance: Any, schema: Any) -> Iterator[Any]:
            self._left -= 1
            if self._left < 0:
                raise ValueError("it follows too many references")
            yield from follow(validator, reference, instance, schema) or ()

        return one


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
    import regex  # type: ignore[import-untyped]
    from jsonschema import ValidationError

    if isinstance(instance, str) and not regex.search(pattern, instance, timeout=PATTERN_SECONDS):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _fault(error: Any) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    return one_line(f"{place}: {error.message}" if place else str(error.message), 300)
