"""Chooses who examines: the script of a case, a model, either of them by case, or the questions of a stored run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from viva.adapters.connectors.replay import stored_run
from viva.cases import Case
from viva.errors import SetupError
from viva.exam.options import Options
from viva.examiner import Examiner, ReplayedExaminer, ScriptedExaminer
from viva.models.prices import parse_prices
from viva.models.roles import parse_role_limits

if TYPE_CHECKING:
    from viva.models.client import ModelClient

ExaminerFactory = Callable[[Case], Examiner]
SCRIPT, MODEL, AUTO, REPLAY = "script", "model", "auto", "replay"
"""The values of `--examiner`; a journal follows the last, after a colon."""


@dataclass(frozen=True, slots=True)
class ChosenExaminer:
    """Who examines the cases of a plan."""

    make: ExaminerFactory | None
    """Makes the examiner of one conversation; None if each run brings its own questions."""
    name: str = REPLAY
    """Its name in records: `script`, `replay`, or the model's."""
    model: ModelClient | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The hash of its prompt."""
    prefers_scripts: bool = False
    """Whether it is used only for cases without a script."""


def choose_examiner(options: Options, cases: Sequence[Case]) -> ChosenExaminer:
    """Choose who examines these cases.

    Raises:
        SetupError: the choice is unknown, requires a model that was not given or a script that a case does not have, or
            the stored questions belong to another case.
    """
    spec = options.examiner_model or options.model
    kind = options.examiner or (MODEL if spec else SCRIPT)
    if kind.startswith(f"{REPLAY}:"):
        return _replayed(kind, cases)
    if kind not in (SCRIPT, MODEL, AUTO):
        raise SetupError(f"--examiner takes script, model, auto or replay:JOURNAL, not {kind!r}.")
    without_script = [case for case in cases if not case.script]
    if kind == SCRIPT or (kind == AUTO and not (spec and without_script)):
        for case in without_script:
            raise SetupError(
                f"the case {case.name!r} has no script, so a model must examine: add --model openai:NAME "
                "(or write a script into the case; see `viva docs write-a-case`)."
            )
        return ChosenExaminer(_scripted, SCRIPT)
    if not spec:
        raise SetupError("--examiner model requires a model: add --model openai:NAME or --examiner-model openai:NAME.")
    return _of_model(spec, options, prefers_scripts=kind == AUTO)


def _scripted(case: Case) -> Examiner:
    return ScriptedExaminer(case.script)


def _replayed(kind: str, cases: Sequence[Case]) -> ChosenExaminer:
    stored = stored_run(kind.removeprefix(f"{REPLAY}:"))
    of = stored.setting.case
    for case in cases:
        # The stored run may be a recording, which names no case.
        if of and case.name != of:
            raise SetupError(f"the questions of {kind} belong to the case {of!r} and cannot be used for {case.name!r}.")
    return ChosenExaminer(lambda case: ReplayedExaminer(stored.transcript))


def _of_model(spec: str, options: Options, *, prefers_scripts: bool) -> ChosenExaminer:
    from viva.models.factory import make_model

    limits = parse_role_limits(options.max_output_tokens, options.model_seconds)
    model = make_model(spec, calls=options.model_calls, prices=parse_prices(options.prices))
    # Imported here, because only a model requires AutoGen, and after the mistakes that are known without it.
    from viva.examiner.model import PROMPT, ModelExaminer
    from viva.models.prompts import digest

    def make(case: Case) -> Examiner:
        if prefers_scripts and case.script:
            return _scripted(case)
        return ModelExaminer(limits.limited(model, "examiner"), case.task_description)

    return ChosenExaminer(make, model.name, model, {"examiner": digest(PROMPT)}, prefers_scripts)
