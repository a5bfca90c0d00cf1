"""Finds eval sets and their criteria in a file or a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from viva.errors import SetupError
from viva.interchange.adk.criteria import Criteria, read_criteria
from viva.interchange.adk.evalset import is_evalset, read_evalset
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions
from viva.interchange.ledger import Gap

CONFIG = "test_config.json"
ENDINGS = (".evalset.json", ".test.json")


def recognises(source: SourceFile) -> bool:
    """Return whether a file is an eval set, or a folder has one."""
    if source.path.is_dir():
        return next(_evalsets(source), None) is not None
    return is_evalset(source.tree().peek())


def read(source: SourceFile, options: ImportOptions) -> Sequence[CaseDraft]:
    """Return the cases of all eval sets; the criteria of `test_config.json` in the same folder apply to them.

    Raises:
        SetupError: a file cannot be read, or is not an eval set.
    """
    if not source.path.is_dir():
        tree = source.tree()
        if not is_evalset(tree.peek()):
            raise SetupError(f"{source.path} is not an eval set: it has no eval_cases.")
        return list(read_evalset(tree, _criteria(source, "")))
    drafts: list[CaseDraft] = []
    criteria: dict[str, Criteria] = {}
    for name in _evalsets(source):
        folder = os.path.dirname(name)
        if folder not in criteria:
            criteria[folder] = _criteria(source, folder)
        drafts += read_evalset(source.tree_of(name), criteria[folder])
    return drafts


def _evalsets(source: SourceFile) -> Iterator[str]:
    for parent, folders, names in os.walk(source.path):
        folders.sort()
        for name in sorted(names):
            if name.endswith(ENDINGS):
                yield os.path.relpath(os.path.join(parent, name), source.path)


def _criteria(source: SourceFile, folder: str) -> Criteria:
    name = os.path.join(folder, CONFIG)
    if not os.path.isfile(source.folder / name):
        return Criteria()
    config = source.tree_of(name)
    found = read_criteria(config)
    for key, value in config.items():
        if key in ("live_model_config", "liveModelConfig"):
            value.report(Gap.REFUSED, "Viva's conversations are in writing: live sessions of speech are not supported")
    return found
