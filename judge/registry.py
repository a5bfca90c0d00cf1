"""The table of built-in evaluators; finds evaluators by name, checks what they require, and creates them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from viva.adapters.connectors.python import spec_of
from viva.cases import Case
from viva.errors import SetupError
from viva.judge.loaded_evaluator import (
    LoadedEvaluator,
    as_needs,
    check_evaluator,
    has_evaluate,
    is_own,
    load_evaluator,
    name_of,
    parameters_of_object,
)
from viva.judge.signatures import SHAPE
from viva.models.roles import ROLES, Role
from viva.plugins.import_strings import PluginError
from viva.plugins.kinds import Kind, is_announced, load
from viva.plugins.parameters import parameters_in_words, split_parameters

EVALUATORS = Kind(
    "evaluator",
    "viva.evaluators",
    {
        "scoring_points": "viva.judge.scoring_points.scoring:ScoringPointsEvaluator",
        "exam": "viva.judge.exam.evaluator:ExamEvaluator",
        "reward": "viva.judge.reward:RewardEvaluator",
        "grades": "viva.judge.grades:GradesEvaluator",
        "session": "viva.judge.session.evaluator:SessionEvaluator",
        "operational": "viva.judge.operational.evaluator:OperationalEvaluator",
        "thought_to_tool": "viva.judge.trajectory.by_model:ThoughtToTool",
        "query_to_thought": "viva.judge.trajectory.by_model:QueryToThought",
        "sequence": "viva.judge.trajectory.by_model:SequenceOptimality",
        "parameter_quality": "viva.judge.trajectory.by_model:ParameterQuality",
        "plan_and_recovery": "viva.judge.trajectory.by_model:PlanAndRecovery",
        "alignment": "viva.judge.trajectory.by_model:Alignment",
        "decisive_step": "viva.judge.decisive.evaluator:DecisiveStep",
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
    """A recorded run, not a live exam."""


@dataclass(frozen=True, slots=True)
class NamedEvaluator:
    """An evaluator that was requested and is not created yet."""

    spec: str
    """A name or an import string, with or without parameters."""
    thing: Any
    """The loaded class, function or object."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that the user gave."""

    @property
    def role(self) -> Role:
        """Return the role of its model, by which the limits of answers differ: `judge` for evaluators of the user's."""
        folder = str(getattr(self.thing, "__module__", "")).removeprefix("viva.judge.").partition(".")[0]
        return next((role for role in ROLES if role == folder), "judge")

    @property
    def own(self) -> bool:
        """Return whether it is one of Viva's own."""
        return is_own(self.thing)

    def needs(self, cases: Sequence[Case | None], judge: str) -> frozenset[Need]:
        """Return what it requires to judge runs of these cases.

        Args:
            cases: None stands for runs without a case.
            judge: `code`, `model` or `both`.

        Raises:
            SetupError: it declares an unknown requirement.
        """
        asked = getattr(self.thing, "needs_for", None)
        declared = asked(cases, judge) if asked else getattr(self.thing, "needs", ())
        try:
            return frozenset(Need(need) for need in as_needs(declared))
        except ValueError as error:
            known = ", ".join(Need)
            words = f"the evaluator {self.spec!r} has an unknown need: {error}. Known: {known}."
            raise SetupError(words) from error

    def check(self, offered: Mapping[str, Any]) -> None:
        """Check what can be known about the evaluator before it is created.

        Raises:
            SetupError: it is not an evaluator, or has a wrong signature or another parameter.
        """
        check_evaluator(self.spec, self.thing, self.parameters, offered)

    def make(self, offered: Mapping[str, Any]) -> LoadedEvaluator:
        """Create the evaluator, with its parameters and those of the offered arguments that it accepts.

        Raises:
            SetupError: it is no evaluator, requires other arguments, or fails.
        """
        return load_evaluator(self.spec, self.thing, self.parameters, offered)


def find_evaluators(specs: Sequence[str], given: Mapping[str, Any] = MappingProxyType({})) -> list[NamedEvaluator]:
    """Return the evaluators of these names or import strings, in order; those in `given` are not looked up.

    Args:
        specs: A part each, with or without parameters: `file.py:Brevity(words=3)`.
        given: Evaluators by their whole spec or by their part.

    Raises:
        SetupError: there is no such evaluator, its parameters cannot be read, or one is named twice.
    """
    if len(set(specs)) < len(specs):
        raise SetupError(f"--evaluators lists an evaluator twice: {', '.join(specs)}.")
    found = []
    for spec in specs:
        part, parameters = (spec, {}) if spec in given else read_spec(spec)
        try:
            thing = given[part] if part in given else load(EVALUATORS, part)
        except PluginError as error:
            raise SetupError(str(error)) from error
        found.append(NamedEvaluator(spec, thing, parameters))
    return found


def read_spec(spec: str) -> tuple[str, Mapping[str, Any]]:
    """Split the spec of an evaluator into its part, which is a name or an import string, and its parameters.

    Raises:
        SetupError: the parameters are not named literals.
    """
    try:
        return split_parameters(spec)
    except PluginError as error:
        raise SetupError(str(error)) from error


def name_evaluators(evaluators: Any) -> tuple[tuple[str, ...], dict[str, object]]:
    """Return the specs of evaluators that a Python program passes, and those that are objects by their spec.

    Args:
        evaluators: One or several: specs, evaluators, classes, or functions.

    Raises:
        SetupError: two are the same, or one is no evaluator.
    """
    one = isinstance(evaluators, str) or callable(evaluators) or has_evaluate(evaluators)
    several: Iterable[Any] = [evaluators] if one or not isinstance(evaluators, Iterable) else evaluators
    specs: list[str] = []
    given: dict[str, object] = {}
    for each in several:
        spec = each if isinstance(each, str) else _spec_of(each)
        if spec in specs:
            raise SetupError(f"two evaluators are called {spec!r}.")
        specs.append(spec)
        if not isinstance(each, str):
            given[spec] = each
    return tuple(specs), given


def _spec_of(thing: Any) -> str:
    # An object was made in this program, so it has no import string.
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return spec_of(thing)
    if not callable(thing) and not has_evaluate(thing):
        raise SetupError(f"{thing!r:.80} is not an evaluator. {SHAPE}")
    parameters = parameters_in_words(parameters_of_object(thing))
    return f"{name_of(thing)}({parameters})" if parameters else name_of(thing)


def is_registered(spec: str) -> bool:
    """Return whether Viva or an installed distribution has an evaluator of this name; it may have parameters."""
    try:
        name, _ = split_parameters(spec)
    except PluginError:  # parameters that a journal only describes
        return False
    return name in EVALUATORS.builtin or (":" not in name and is_announced(EVALUATORS, name))
