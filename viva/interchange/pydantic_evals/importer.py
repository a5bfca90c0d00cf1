"""Makes a case of each case of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.errors import SetupError
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.expected import AGREES
from viva.interchange.drafts.spelling import entries
from viva.interchange.drafts.wording import as_text
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions
from viva.interchange.ledger import Gap
from viva.interchange.pydantic_evals.evaluators import points_of
from viva.interchange.pydantic_evals.specs import OURS, GivenEvaluator, read_evaluator
from viva.interchange.source import Source

KEYS = frozenset({"$schema", "name", "cases", "evaluators", "report_evaluators"})
USES_EXPECTED = ("EqualsExpected", "LLMJudge")


def recognises(source: SourceFile) -> bool:
    """Return whether a file is a dataset: it has cases with `inputs`."""
    if source.path.is_dir():
        return False
    document = source.tree().peek()
    cases = document.get("cases") if isinstance(document, dict) else None
    if not isinstance(cases, list) or not cases or not set(document) <= KEYS:
        return False
    return all(isinstance(case, dict) and "inputs" in case for case in cases)


def read(source: SourceFile, options: ImportOptions) -> Sequence[CaseDraft]:
    """Return the cases of a dataset.

    Raises:
        SetupError: it has none.
    """
    root = source.tree()
    if root.get("cases") is None:
        raise SetupError(f"{source.path} is not a dataset of pydantic-evals: it has no cases.")
    dataset: dict[str, Any] = {}
    name, schema = root.get("name"), root.get("$schema")
    if name is not None:
        dataset["dataset"] = name.take()
    if schema is not None:
        schema.report(Gap.NO_HOME, "names the schema of the file that was imported")
    reports = root.get("report_evaluators")
    if reports is not None:
        reports.report(Gap.NO_HOME, "`viva report` makes reports of journals: none of a source's is run")
    shared = list(entries(root.get("evaluators")))
    return [_case(case, number, dataset, shared) for number, case in enumerate(entries(root.get("cases")), 1)]


def _case(case: Source, number: int, dataset: dict[str, Any], shared: Sequence[Source]) -> CaseDraft:
    name, inputs, expected, metadata = (case.get(key) for key in ("name", "inputs", "expected_output", "metadata"))
    ours: dict[str, Any] = dict(dataset)
    draft = CaseDraft(f"{number:04}", "")
    if inputs is not None:
        asked = inputs.take() if inputs.is_text else inputs.peek()
        if not inputs.is_text:
            ours["inputs"] = inputs.take()
            inputs.remark(
                Gap.NEEDS_A_PERSON, "the inputs of a function became a message as JSON: say them as a user would"
            )
        draft.script.append(as_text(asked))
    else:
        draft.script.append("(empty)")
        draft.mark("say what the user says: the case has no inputs")
    draft.fields["max_rounds"] = 1
    if name is not None and name.is_text:
        draft.title = ours["name"] = name.take()
    else:
        draft.title += f" {draft.script[0][:40]}"
    if expected is not None:
        ours["expected_output"] = expected.take()
    _add_points(draft, case, shared, expected)
    kept = dict(metadata.take()) if metadata is not None and metadata.is_mapping else {}
    if metadata is not None and not metadata.is_mapping:
        ours["metadata"] = metadata.take()
    draft.metadata = {**kept, **({OURS: ours} if ours else {})}
    return draft


def _add_points(draft: CaseDraft, case: Source, shared: Sequence[Source], expected: Source | None) -> None:
    value = None if expected is None else expected.peek()
    own = [read_evaluator(each) for each in entries(case.get("evaluators"))]
    common = [read_evaluator(each) for each in shared]
    for evaluator, of_all in [*((each, False) for each in own), *((each, True) for each in common)]:
        if evaluator is None:
            continue
        points = points_of(evaluator, value, expected is not None)
        if not points and evaluator.name not in ("IsInstance", "EqualsExpected"):
            draft.mark(f"The evaluator {evaluator.name} of the source has no scoring point: write one.")
        for point in points:
            if of_all:
                point.setdefault("metadata", {}).setdefault(OURS, {})["of_all_cases"] = True
            draft.points.append(point)
    if expected is None:
        return
    if not draft.points:
        text = AGREES + as_text(value)
        draft.points.append({"score_point": text, "metadata": {OURS: {"of": "expected_output"}}})
    elif any(each is not None and _shows_expected(each) for each in (*own, *common)):
        draft.fields["background"] = f"The expected answer is: {as_text(value)}"


def _shows_expected(evaluator: GivenEvaluator) -> bool:
    given = evaluator.source.peek()
    inner = given.get("LLMJudge") if isinstance(given, dict) else None
    return isinstance(inner, dict) and inner.get("include_expected_output") is True
