"""How the classes of OpenAI's evals judge a sample, as checks and statements."""

from __future__ import annotations

from dataclasses import dataclass

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.expected import AGREES
from viva.interchange.drafts.points import text_point
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

NUMBERED = ("num_few_shot", "few_shot_jsonl")
GRADED = {
    "fact": AGREES,
    "closedqa": "The agent's answer meets this criterion: ",
    "battle": "The agent's answer is at least as good as this one: ",
}
"""Specifications of evals that a model judges, and the statements that stand for them."""

_KINDS = {"Equals": "equals", "Match": "starts_with", "Includes": "contains", "FuzzyMatch": "contains"}
"""Kinds of checks by the names of classes."""
NOTHING: tuple[object, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class SampleJudging:
    """What becomes of `ideal`."""

    kind: str = "Equals"
    """Name of the class."""
    ignore_case: bool = False
    spec: str = ""
    """Of a class that judges by a model: the name of its specification."""
    used: tuple[str, ...] = ()
    """Further fields of samples that are judged by."""


def judging_of(kind: Source, arguments: Source | None) -> SampleJudging:
    """Return how an eval judges.

    Args:
        kind: Its class, `evals.elsuite.basic.match:Match`.
        arguments: Its `args`.
    """
    name = str(kind.peek()).partition(":")[2]
    ignore = arguments.get("ignore_case") if arguments is not None else None
    graded = arguments.get("modelgraded_spec") if arguments is not None else None
    spec = str(graded.express("statements of scoring points")) if graded is not None else ""
    if name in _KINDS:
        kind.express(f"check: {_KINDS[name]}")
    elif spec in GRADED:
        kind.express("statements that a model judges")
    else:
        kind.report(
            Gap.REFUSED, "code of the source is neither imported nor run: a model judges whether the answer agrees"
        )
    if arguments is not None:
        for key, value in arguments.items():
            if key in NUMBERED:
                value.report(Gap.NO_HOME, "examples before a question are turns of a conversation already begun")
            elif key not in ("samples_jsonl", "ignore_case", "modelgraded_spec"):
                value.report(Gap.NO_HOME, "is an option of the eval's class")
    lower = ignore is not None and ignore.express("checks that ignore the case of letters") is True
    return SampleJudging(name, lower, spec, ("criteria",) if spec == "closedqa" else ())


def add_points(draft: CaseDraft, row: Source, judging: SampleJudging) -> None:
    """Add the points of one sample."""
    for name in judging.used:
        value = row.get(name)
        if value is not None and value.is_text:
            draft.points.append(GRADED[judging.spec] + value.take())
    ideal = row.get("ideal")
    texts = [] if ideal is None else [str(each.take()) for each in ideal.leaves() if each.peek() not in NOTHING]
    if not texts:
        if not draft.points:
            draft.mark("say what a good answer is: the sample has no ideal")
        return
    if judging.kind not in _KINDS:
        draft.points.append(GRADED.get(judging.spec, AGREES) + "\nor: ".join(texts))
        return
    lower = judging.ignore_case or judging.kind == "FuzzyMatch"
    draft.points.append(text_point(_KINDS[judging.kind], texts, ignore_case=lower, instead=AGREES))
