"""Makes a case of each golden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.errors import SetupError
from viva.interchange.deepeval.expectations import add_expectations
from viva.interchange.deepeval.persona import add_persona
from viva.interchange.drafts.begun import add_chat
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.expected import AGREES
from viva.interchange.drafts.spelling import entries, field
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

TELLING = (
    "actual_output",
    "additional_metadata",
    "custom_column_key_values",
    "expected_outcome",
    "expected_tools",
    "retrieval_context",
    "source_file",
    "tools_called",
    "user_description",
)
"""Fields by which goldens are told from other rows."""
KEPT = ("comments", "source_file", "additional_metadata", "custom_column_key_values", "id")
RECORDED = (
    "actual_output",
    "tools_called",
    "retrieval_context",
    "token_cost",
    "input_token_count",
    "output_token_count",
)
WRAPPERS = ("goldens", "conversationalGoldens", "conversational_goldens")


def recognises(source: SourceFile) -> bool:
    """Return whether the rows have fields that only goldens have."""
    if source.path.is_dir():
        return False
    found = _goldens(source.tree())
    return bool(found) and all(_is_golden(each) for each in found) and any(_tells(each) for each in found)


def read(source: SourceFile, options: ImportOptions) -> Sequence[CaseDraft]:
    """Return the cases of all goldens.

    Raises:
        SetupError: there are none.
    """
    goldens = _goldens(source.tree())
    if not goldens:
        raise SetupError(f"{source.path} has no goldens: it must be a list of objects with input or scenario.")
    return [_case(golden, number) for number, golden in enumerate(goldens, 1) if _is_golden(golden)]


def _goldens(root: Source) -> list[Source]:
    if root.is_list:
        return list(root.elements())
    return [each for name in WRAPPERS for each in entries(root.get(name))]


def _is_golden(row: Source) -> bool:
    return any((value := field(row, name)) is not None and value.is_text for name in ("input", "scenario"))


def _tells(row: Source) -> bool:
    fields = row.peek()
    camel = {
        name: "".join(word.capitalize() if index else word for index, word in enumerate(name.split("_")))
        for name in TELLING
    }
    expectations = field(row, "expectations")
    told = expectations is not None and expectations.is_mapping and field(expectations, "must") is not None
    return told or any(name in fields or camel[name] in fields for name in TELLING)


def _case(golden: Source, number: int) -> CaseDraft:
    scenario, asked, name = (field(golden, each) for each in ("scenario", "input", "name"))
    draft = CaseDraft(f"{number:04}", "")
    metadata: dict[str, Any] = {}
    if scenario is not None and scenario.is_text:
        draft.task_description = scenario.take()
        draft.title += f" {draft.task_description[:40]}"
        _begun(draft, golden)
        _point(draft, field(golden, "expected_outcome"), "")
    elif asked is not None:
        draft.script.append(asked.take())
        draft.fields["max_rounds"] = 1
        draft.title += f" {draft.script[0][:40]}"
        _point(draft, field(golden, "expected_output"), AGREES)
    if name is not None and name.is_text:
        draft.title = metadata["name"] = name.take()
    add_expectations(draft, golden)
    add_persona(draft, golden)
    _context(draft, field(golden, "context"))
    _rest(golden, metadata)
    tags = field(golden, "tags")
    if tags is not None:
        draft.tags += [str(each.take()).strip() for each in tags.leaves() if each.is_text]
    if metadata:
        draft.metadata = metadata
    if not draft.points:
        draft.mark("say what a good answer is: the golden has no expectation")
    return draft


def _point(draft: CaseDraft, expected: Source | None, before: str) -> None:
    if expected is not None and expected.is_text:
        draft.points.append(before + expected.take())


def _begun(draft: CaseDraft, golden: Source) -> None:
    add_chat(draft, entries(field(golden, "turns")))
    if draft.script:
        # A model examines: what the script would say is said first, and the rest of the scenario follows.
        draft.fields["opening"] = "\n".join(draft.script)
        draft.script.clear()


def _context(draft: CaseDraft, context: Source | None) -> None:
    if context is None:
        return
    facts = [str(each.take()) for each in context.leaves() if each.is_text]
    if context.is_text:  # a cell of a table, whose parts stand between bars
        facts = str(context.express("background: a fact on each line")).split("|")
    if facts:
        draft.fields["background"] = "\n".join(facts)


def _rest(golden: Source, metadata: dict[str, Any]) -> None:
    for name in KEPT:
        value = field(golden, name)
        if value is not None and value.peek() not in ("", {}):
            metadata[name] = value.take()
    for name in RECORDED:
        value = field(golden, name)
        if value is not None and value.peek() != "":
            value.report(Gap.NO_HOME, "is part of a recorded answer, not of the case: `viva trace` judges recordings")
    labels = field(golden, "expected_labels")
    if labels is not None:
        metadata["expected_labels"] = labels.take()
        labels.report(Gap.NEEDS_A_PERSON, "is kept as metadata: say in scoring points what each label means")
    images = field(golden, "images_mapping")
    if images is not None:
        images.report(Gap.NO_HOME, "a message of a case is text; give files as data_files")
