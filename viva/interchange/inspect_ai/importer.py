"""Makes a case of each sample of a dataset or a log."""

from __future__ import annotations

from collections.abc import Sequence
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
from viva.interchange.inspect_ai.logs import is_log, log_tree
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

TELLING = ("choices", "files", "setup", "sandbox", "checkpoint")
NOTHING: tuple[object, ...] = (None, "", [], {})
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ANSWER = "Reply with the letter of the right answer, in the form 'ANSWER: LETTER'."
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
    letters = _choices(draft, sample.get("choices"))
    _target(draft, sample.get("target"), letters)
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


def _choices(draft: CaseDraft, choices: Source | None) -> str:
    """Add the choices to the message, and return their letters."""
    if choices is None or not draft.script:
        return ""
    if choices.is_text:  # a cell of a table
        parts = [part.strip() for part in str(choices.express("the choices of the message")).split(",")]
    else:
        parts = [str(each.take()) for each in choices.elements()]
    parts = [part for part in parts if part][: len(LETTERS)]
    if not parts:
        return ""
    listed = "\n".join(f"{letter}) {part}" for letter, part in zip(LETTERS, parts, strict=False))
    draft.script[-1] = f"{draft.script[-1]}\n\n{listed}\n\n{ANSWER}"
    return LETTERS[: len(parts)]


def _target(draft: CaseDraft, target: Source | None, letters: str) -> None:
    leaves = [] if target is None else list(target.leaves())
    texts = [str(leaf.peek()) for leaf in leaves if leaf.peek() not in NOTHING]
    if target is None or not texts:
        draft.mark("say what a good answer is: the sample has no target")
        return
    if letters and texts and all(text in letters for text in texts):
        target.express("check: regex, the letter of the answer")
        several = ",? *".join(texts)
        draft.points.append(check_point({"regex": {"pattern": rf"answer *: *\(?{several}\b", "ignore_case": True}}))
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
