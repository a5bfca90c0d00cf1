"""Imports a source: finds its format, has its cases built, writes them, and accounts for every value."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions, format_named, recognised
from viva.interchange.journals import write_journal
from viva.interchange.report import ImportReport
from viva.interchange.writer import Staged, write_cases

REPORT_FILE = "import-report.json"
REFERENCE_FILE = "reference.json"
"""The expected tool calls by the names of the cases, as `--reference` reads them."""


def import_cases(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - as the option of the command line
    mapping: Mapping[str, str] | None = None,
) -> ImportReport:
    """Import cases from a file or folder of another tool into a new folder. Nothing in the source is run.

    Results of other tools become a journal instead.

    Args:
        source: The file or folder.
        out: The folder of the cases, which must be new or empty; `import-report.json` is written beside them, and
            `reference.json` if the source names expected tool calls.
        format: Name of the format; without it, the source is recognised.
        mapping: For rows: where the parts of a case are, as dotted paths: `{"input": "inputs.question"}`.

    Returns:
        What was written, and every value of the source that is in no case.

    Raises:
        SetupError: the source cannot be read or has no cases, or `out` holds something already.
    """
    file = SourceFile(Path(source))
    if not file.path.exists():
        raise SetupError(f"there is no file or folder {file.path}.")
    staged = Staged(Path(out))
    try:
        chosen = format_named(format) if format else recognised(file)
        drafts = list(chosen.load().read(file, ImportOptions(mapping=dict(mapping or {}))))
        report = ImportReport(str(file.path), chosen.name, str(out))
        if chosen.reader:
            report.runs, written = write_journal(f"{chosen.reader}:{file.path}", staged.folder)
        else:
            report.cases, written = _write(drafts, staged.folder, f"{file.path} has no case that can be imported")
            report.needs_model = any(draft.needs_model for draft in drafts)
            marked = zip(report.cases, drafts, strict=True)
            report.marked = {name: draft.marks for name, draft in marked if draft.marks}
        file.ledger.close(written)
        report.account(file.ledger)
        _write_json(staged.folder / REPORT_FILE, report.as_json())
        staged.publish()
    except BaseException:
        staged.discard()
        raise
    return report


def _write(drafts: Sequence[CaseDraft], folder: Path, none: str) -> tuple[list[str], list[Any]]:
    if not drafts:
        raise SetupError(f"{none}.")
    names, written = write_cases(drafts, folder)
    reference = {
        name: draft.reference for name, draft in zip(names, drafts, strict=True) if draft.reference is not None
    }
    if reference:
        _write_json(folder / REFERENCE_FILE, reference)
    return names, [*written, reference]


def _write_json(file: Path, document: object) -> None:
    file.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
