"""Refuses evaluators that lack what they need, or whose names are taken, before anything is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from viva.cases import Case
from viva.errors import SetupError
from viva.exam.options import JudgeKind
from viva.judge.loaded_evaluator import LoadedEvaluator
from viva.judge.registry import DEFAULT, Need, read_spec
from viva.judge.scoring_points.scoring import case_needs_model
from viva.plugins.parameters import parameters_in_words
from viva.records.text import counted


def check_needs(
    needs: Mapping[str, frozenset[Need]],
    cases: Sequence[Case | None],
    model: str | None,
    kind: JudgeKind,
    *,
    reference: bool,
) -> None:
    """Check that evaluators get what they need to judge runs of these cases.

    Args:
        needs: The needs of each evaluator.
        cases: None stands for runs without a case.
        model: The judge's model, if one was named.
        kind: `code`, `model` or `both`.
        reference: Whether reference trajectories were given.

    Raises:
        SetupError: one requires something that was not given.
    """
    for evaluator, each in needs.items():
        if Need.CASE in each and any(case is None for case in cases):
            raise no_case(evaluator)
        if Need.RECORDING in each and cases and all(case is not None and not case.for_recordings for case in cases):
            raise SetupError(
                f"the evaluator {evaluator!r} requires recorded runs, and these are exams: "
                "name others with --evaluators."
            )
        if Need.REFERENCE in each and not reference:
            words = f"the evaluator {evaluator!r} requires a reference trajectory, and none was given"
            raise SetupError(f"{words}: add --reference FILE.")
        if Need.MODEL in each and not model:
            raise SetupError(_no_judge(evaluator, [case for case in cases if case is not None], kind))


def check_jury(models: Sequence[str]) -> None:
    """Check that no model is named twice: further votes of one model are asked for otherwise.

    Raises:
        SetupError: one is.
    """
    for number, model in enumerate(models):
        if model in models[:number]:
            raise SetupError(f"--judge-model {model} is given twice. For several votes of one model: --votes 2.")


def check_names(evaluators: Mapping[str, LoadedEvaluator]) -> None:
    """Check that no two evaluators have the same name in reports.

    Raises:
        SetupError: two have.
    """
    taken: dict[str, str] = {}
    for spec, evaluator in evaluators.items():
        if evaluator.name in taken:
            both = f"the evaluators {taken[evaluator.name]!r} and {spec!r} are both called {evaluator.name!r}"
            raise SetupError(f"{both}: give one another name, as in {_renamed(spec)}.")
        taken[evaluator.name] = spec


def _renamed(spec: str) -> str:
    part, parameters = read_spec(spec)
    return f"{part}({parameters_in_words({**parameters, 'name': 'other'})})"


def no_case(evaluator: str) -> SetupError:
    """Return the error for an evaluator that requires a case, where runs have none."""
    return SetupError(
        f"the evaluator {evaluator!r} requires a case, and recorded runs have none: "
        "give scoring points with --rubric FILE, or name other evaluators with --evaluators."
    )


def _no_judge(evaluator: str, cases: Iterable[Case], kind: JudgeKind) -> str:
    if evaluator != DEFAULT:
        return f"the evaluator {evaluator!r} requires a model: add --model openai:NAME or --judge-model openai:NAME."
    if kind != "code":
        return f"--judge {kind} requires a model: add --model openai:NAME or --judge-model openai:NAME."
    case = next(case for case in cases if case_needs_model(case, kind))
    points = counted(len(case_needs_model(case, kind)), "scoring point")
    # With --model, a model would also examine, instead of the script.
    option = "--judge-model" if case.script else "--model"
    what = f"the rubric {case.file}" if case.for_recordings else f"the case {case.name!r}"
    return f"{what} requires a model to judge {points} without check or eval_code: add {option} openai:NAME."
