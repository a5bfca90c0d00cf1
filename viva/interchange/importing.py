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
from viva.interchange.staging import Staged
from viva.interchange.writer import write_cases

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
            if not drafts:
                raise SetupError(f"{file.path} has no case that can be imported.")
            made = write_cases(drafts, staged.folder, Path(out))
            report.cases, report.files, report.marked = made.names, made.files, made.marked
            report.needs_model = any(draft.needs_model for draft in drafts)
            report.begun = sum(bool(draft.conversation) for draft in drafts)
            written = [*made.documents, _write_reference(drafts, made.names, staged.folder)]
        file.ledger.close(written)
        report.account(file.ledger)
        _write_json(staged.folder / REPORT_FILE, report.as_json())
        staged.publish()
    except BaseException:
        staged.discard()
        raise
    return report


def _write_reference(drafts: Sequence[CaseDraft], names: Sequence[str], folder: Path) -> dict[str, Any]:
    named = zip(names, drafts, strict=True)
    reference = {name: draft.reference for name, draft in named if draft.reference is not None}
    if reference:
        _write_json(folder / REFERENCE_FILE, reference)
    return reference


def _write_json(file: Path, document: object) -> None:
    file.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
