"""Makes a case of each sample."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from viva.errors import SetupError
from viva.interchange.drafts.begun import add_chat
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions
from viva.interchange.ledger import Gap
from viva.interchange.openai_evals.judging import SampleJudging, add_points, judging_of
from viva.interchange.source import Source

SAMPLES = "samples_jsonl"


def recognises(source: SourceFile) -> bool:
    """Return whether a file has samples with `input` and `ideal`, or is a registry of evals."""
    if source.path.is_dir():
        return False
    tree = source.tree()
    if tree.is_list:
        rows = [each.peek() for each in tree.elements()]
        return (
            bool(rows)
            and all(isinstance(row, dict) and "input" in row for row in rows)
            and any("ideal" in row for row in rows)
        )
    return any(_evals(tree))


def read(source: SourceFile, options: ImportOptions) -> Sequence[CaseDraft]:
    """Return the cases of all samples, or of all evals of a registry.

    Raises:
        SetupError: there are none, or a file of samples cannot be read.
    """
    tree = source.tree()
    if tree.is_list:
        tree.remark(
            Gap.NEEDS_A_PERSON,
            "the file does not say how the samples are judged: a reply has to be one of the ideals; import the eval's "
            "YAML file in the registry instead, or change the checks",
        )
        return list(_drafts(tree, SampleJudging(), {}))
    drafts: list[CaseDraft] = []
    for name, spec in tree.items():
        drafts += _of_eval(source, name, spec)
    return drafts


def _evals(registry: Source) -> Iterator[str]:
    for name, spec in registry.items():
        if spec.get("class") is not None and spec.get("args") is not None:
            yield name


def _of_eval(source: SourceFile, name: str, spec: Source) -> list[CaseDraft]:
    about: dict[str, Any] = {}
    for key in ("id", "description", "metrics"):
        value = spec.get(key)
        if value is not None:
            value.report(Gap.NO_HOME, "names an eval, of which the cases are imported")
    kind, samples = spec.get("class"), spec.get("args", SAMPLES)
    if kind is None:
        return []
    about["eval"] = name
    if samples is None or not samples.is_text:
        kind.report(Gap.REFUSED, f"{kind.peek()} makes its samples itself, by code that is not run")
        return []
    file = _file_of(source, str(samples.peek()))
    if file is None:
        words = f"{samples.peek()} is not in the folder {source.folder}, and nothing is fetched"
        raise SetupError(f"{source.path}: {words}; copy the samples there.")
    samples.express("the file that was read")
    return list(_drafts(source.tree_of(file), judging_of(kind, spec.get("args")), about))


def _file_of(source: SourceFile, name: str) -> str | None:
    """Return where the samples are: beside the registry's file, or where the project keeps its data."""
    for place in (name, os.path.join("data", name), os.path.basename(name)):
        if not os.path.isabs(place) and os.path.isfile(source.folder / place):
            return place
    return None


def _drafts(rows: Source, judging: SampleJudging, about: dict[str, Any]) -> Iterator[CaseDraft]:
    for number, row in enumerate(rows.elements(), 1):
        asked = row.get("input")
        draft = CaseDraft(f"{number:04}", "")
        if asked is not None and asked.is_list:
            add_chat(draft, asked.elements())
        elif asked is not None and asked.is_text:
            draft.script.append(asked.take())
        if not draft.script:
            row.report(Gap.NEEDS_A_PERSON, "nothing in it is said to the agent, so it is not a case")
            continue
        draft.title += f" {str(draft.script[0])[:40]}"
        draft.row = ""
        draft.fields["max_rounds"] = len(draft.script)
        add_points(draft, row, judging)
        metadata = {name: value.take() for name, value in row.items() if name not in ("input", "ideal", *judging.used)}
        if metadata or about:
            draft.metadata = {**about, **metadata}
        yield draft
