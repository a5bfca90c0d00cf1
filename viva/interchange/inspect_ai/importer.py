"""Makes a case of each sample of a dataset or a log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from viva.errors import SetupError
from viva.interchange.drafts.begun import add_chat
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.expected import AGREES
from viva.interchange.drafts.points import check_point, text_point
from viva.interchange.drafts.spelling import entries, text_of
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions
from viva.interchange.inspect_ai.files import add_files
from viva.interchange.inspect_ai.letters import LETTERS, MOST_ORDERS, letter_check, letters_of
from viva.interchange.inspect_ai.logs import is_log, log_tree
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

TELLING = ("choices", "files", "setup", "sandbox", "checkpoint")
NOTHING: tuple[object, ...] = (None, "", [], {})
ANSWER = "Reply with the letter of the right answer, in a last line of the form 'ANSWER: LETTER'."
ANSWERS = "Reply with the letters of all right answers, in a last line of the form 'ANSWER: LETTERS'."
WITHOUT = {
    "sandbox": "where the agent works is its adapter's matter; checks run in Viva's own sandbox",
    "checkpoint": "runs are continued with --resume",
}


def recognises(source: SourceFile) -> bool:
    """Return whether a file is a log, or has samples with `input` and a field that only samples have."""
    if source.path.is_dir():
        return False
    if is_log(source):
        return True
    tree = source.tree()
    rows = [each.peek() for each in entries(tree)]
    samples = bool(rows) and all(isinstance(row, dict) and "input" in row for row in rows)
    targets = any("target" in row or set(TELLING) & set(row) for row in rows) if samples else False
    return samples and targets


def read(source: SourceFile, options: ImportOptions) -> Sequence[CaseDraft]:
    """Return the cases of all samples.

    Raises:
        SetupError: there are none, or the file cannot be read.
    """
    tree = log_tree(source) if is_log(source) else source.tree()
    samples = list(entries(tree.get("samples") if tree.is_mapping else tree))
    if not any(sample.get("input") is not None for sample in samples):
        raise SetupError(f"{source.path} has no samples with input.")
    if any(sample.get("target") is not None for sample in samples):
        words = "the scorer is a function of the task's program: a reply has to contain a target; change the checks"
        tree.remark(Gap.NEEDS_A_PERSON, words)
    cases = enumerate(samples, 1)
    drafts = [_case(source, sample, number) for number, sample in cases if sample.get("input") is not None]
    if not is_log(source):
        for draft in drafts:
            draft.row = str(draft.metadata.get("id", ""))
    return drafts


def _case(source: SourceFile, sample: Source, number: int) -> CaseDraft:
    identifier, asked = sample.get("id"), sample.get("input")
    draft = CaseDraft(f"{number:04}", "")
    metadata: dict[str, Any] = {}
    if identifier is not None:
        metadata["id"] = identifier.take()
        draft.title = str(metadata["id"])
    assert asked is not None
    if asked.is_list:
        add_chat(draft, asked.elements())
    else:
        text = text_of(asked, "a message of the script")
        draft.script.append(text if text.strip() else "(empty)")
    target = sample.get("target")
    _target(draft, target, _choices(draft, sample.get("choices"), _texts(target)))
    if not draft.script:
        draft.mark("The sample's messages do not end with the user's: write what the user says.")
        draft.script.append("Please go on.")
    draft.fields["max_rounds"] = len(draft.script)
    if identifier is None:
        draft.title += f" {draft.script[0][:40]}"
    add_files(draft, source, sample.get("files"))
    _others(draft, sample, metadata)
    if metadata:
        draft.metadata = metadata
    return draft


def _choices(draft: CaseDraft, choices: Source | None, targets: Sequence[str]) -> dict[str, Any] | None:
    """Add the choices to the message, and return the check of the right letters; None if the targets are no letters."""
    parts = _parts(choices) if choices is not None and draft.script else []
    if choices is None or not any(parts):
        return None
    if "" in parts:
        choices.remark(Gap.NEEDS_A_PERSON, "a choice is empty; it keeps its letter, as in Inspect")
    if len(parts) > len(LETTERS):
        words = f"there are {len(parts)} choices, and only {len(LETTERS)} letters and digits for them"
        for each in list(choices.elements())[len(LETTERS) :] or [choices]:
            each.report(Gap.NO_HOME, f"{words}: this is left out")
        draft.mark(f"In the sample, {words}: the remaining choices are left out.")
        parts = parts[: len(LETTERS)]
    listed = "\n".join(f"{letter}) {part}" for letter, part in zip(LETTERS, parts, strict=False))
    letters = letters_of(targets, len(parts))
    draft.script[-1] = f"{draft.script[-1]}\n\n{listed}\n\n{ANSWERS if len(letters) > 1 else ANSWER}"
    if len(letters) > MOST_ORDERS:
        choices.remark(Gap.NEEDS_A_PERSON, "the right letters are expected in the order of the alphabet")
    return letter_check(letters, len(parts)) if letters else None


def _parts(choices: Source) -> list[str]:
    """Return the texts of choices in their order: of a list, or of a cell of a table, as Inspect reads both."""
    if not choices.is_text:
        return ["" if each.peek() is None else str(each.take()) for each in choices.elements()]
    text = str(choices.express("the choices of the message")).strip()
    if text.startswith("["):
        with suppress(ValueError, RecursionError):
            return [str(each) for each in json.loads(text)]
    return [part.strip() for part in text.split(",")]


def _texts(target: Source | None) -> list[str]:
    leaves = [] if target is None else target.leaves()
    return [str(leaf.peek()) for leaf in leaves if leaf.peek() not in NOTHING]


def _target(draft: CaseDraft, target: Source | None, letters: Mapping[str, Any] | None) -> None:
    texts = _texts(target)
    if target is None or not texts:
        draft.mark("say what a good answer is: the sample has no target")
        return
    if letters is not None:
        target.express("check: the letters in the last line ANSWER: …")
        draft.points.append(check_point(letters))
        return
    target.take()
    draft.points.append(text_point("contains", texts, ignore_case=True, instead=AGREES))


def _others(draft: CaseDraft, sample: Source, metadata: dict[str, Any]) -> None:
    kept, description, setup = (sample.get(name) for name in ("metadata", "description", "setup"))
    if kept is not None:
        taken = kept.take()
        metadata.update(taken if isinstance(taken, dict) else {"metadata": taken})
    if description is not None:
        metadata["description"] = description.take()
    if setup is not None and setup.peek():
        setup.report(Gap.REFUSED, "a program of the source is not run: write it as pre_command if you trust it")
        draft.mark(
            "The sample's setup is not run (see the report): prepare the workspace by data_files or pre_command."
        )
    for name, why in WITHOUT.items():
        value = sample.get(name)
        if value is not None and value.peek() != "":
            value.report(Gap.NO_HOME, why)
