"""The table of built-in evaluators; finds evaluators by name, checks what they require, and creates them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from viva.cases import Case
from viva.errors import SetupError
from viva.plugins.import_strings import PluginError
from viva.plugins.kinds import Kind, is_announced, load
from viva.records.evaluator import Evaluator

EVALUATORS = Kind(
    "evaluator",
    "viva.evaluators",
    {
        "scoring_points": "viva.judge.scoring_points.scoring:ScoringPointsEvaluator",
        "reward": "viva.judge.reward:RewardEvaluator",
        "session": "viva.judge.session.evaluator:SessionEvaluator",
        "operational": "viva.judge.operational.evaluator:OperationalEvaluator",
        "thought_to_tool": "viva.judge.trajectory.by_model:ThoughtToTool",
        "query_to_thought": "viva.judge.trajectory.by_model:QueryToThought",
        "sequence": "viva.judge.trajectory.by_model:SequenceOptimality",
        "parameter_quality": "viva.judge.trajectory.by_model:ParameterQuality",
        "plan_and_recovery": "viva.judge.trajectory.by_model:PlanAndRecovery",
        "alignment": "viva.judge.trajectory.by_model:Alignment",
        "repeated_calls": "viva.judge.trajectory.calls:RepeatedCalls",
        "tool_success": "viva.judge.trajectory.calls:ToolSuccess",
        "loops": "viva.judge.trajectory.calls:Loops",
        "known_tools": "viva.judge.trajectory.calls:KnownTools",
        "argument_schema": "viva.judge.trajectory.schemas:ArgumentSchema",
        "match_strict": "viva.judge.trajectory.match:StrictMatch",
        "match_in_order": "viva.judge.trajectory.match:InOrderMatch",
        "match_any_order": "viva.judge.trajectory.match:AnyOrderMatch",
        "match_subset": "viva.judge.trajectory.match:SubsetMatch",
        "match_superset": "viva.judge.trajectory.match:SupersetMatch",
    },
)
DEFAULT = "scoring_points"


class Need(StrEnum):
    """What an evaluator can require. It declares its requirements as `needs`: these values, or their names."""

    CASE = "case"
    """The case of the exam; a recording has none."""
    MODEL = "model"
    """A model that judges: `--model` or `--judge-model`."""
    SANDBOX = "sandbox"
    """A sandbox that runs `eval_code`."""
    TEXT = "text"
    """The text of the conversation, not only its statistics."""
    REFERENCE = "reference"
    """A reference trajectory."""
    RECORDING = "recording"
    """A recorded run; a live exam is none."""


@dataclass(frozen=True, slots=True)
class NamedEvaluator:
    """An evaluator that was requested and is not created yet."""

    spec: str
    """A name, or an import string."""
    thing: Any
    """The loaded class, factory function or object."""

    def needs(self, cases: Sequence[Case | None], judge: str) -> frozenset[Need]:
        """Return what it requires to judge runs of these cases.

        Args:
            cases: None stands for runs without a case.
            judge: `code`, `model` or `both`.

        Raises:
            SetupError: it declares an unknown requirement.
        """
        asked = getattr(self.thing, "needs_for", None)
        declared: Iterable[str] = asked(cases, judge) if asked else getattr(self.thing, "needs", ())
        try:
            return frozenset(Need(need) for need in declared)
        except ValueError as error:
            known = ", ".join(Need)
            words = f"the evaluator {self.spec!r} has an unknown need: {error}. Known: {known}."
            raise SetupError(words) from error

    def make(self, offered: Mapping[str, Any]) -> Evaluator:
        """Create the evaluator, with those of the offered arguments that it accepts.

        Raises:
            SetupError: it requires other arguments, fails, or has no method `evaluate`.
        """
        thing = self.thing
        if inspect.isclass(thing) or not hasattr(thing, "evaluate"):
            try:
                thing = thing(**_accepted(thing, offered))
            except SetupError:
                raise
            except (Exception, SystemExit) as error:
                kind = f"{type(error).__name__}: {error}"
                raise SetupError(f"the evaluator {self.spec!r} cannot be created: {kind}") from error
        if not callable(getattr(thing, "evaluate", None)):
            raise SetupError(f"{self.spec!r} is not an evaluator: it has no evaluate(transcript, context) method.")
        if not isinstance(getattr(thing, "name", None), str):
            raise SetupError(f"the evaluator {self.spec!r} has no name; give its class a `name`.")
        evaluator: Evaluator = thing
        return evaluator


def find_evaluators(specs: Sequence[str], given: Mapping[str, Any] = MappingProxyType({})) -> list[NamedEvaluator]:
    """Return the evaluators of these names or import strings, in order; those in `given` are not looked up.

    Raises:
        SetupError: there is no such evaluator, or one is named twice.
    """
    if len(set(specs)) < len(specs):
        raise SetupError(f"--evaluators lists an evaluator twice: {', '.join(specs)}.")
    try:
        return [NamedEvaluator(spec, given[spec] if spec in given else load(EVALUATORS, spec)) for spec in specs]
    except PluginError as error:
        raise SetupError(str(error)) from error


def is_registered(name: str) -> bool:
    """Return whether Viva or an installed distribution has an evaluator of this name."""
    return name in EVALUATORS.builtin or (":" not in name and is_announced(EVALUATORS, name))


def _accepted(factory: Any, offered: Mapping[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(factory).parameters.values()
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
        return dict(offered)
    return {each.name: offered[each.name] for each in parameters if each.name in offered}
