"""Imports a source: finds its format, has its cases built, writes them, and accounts for every value."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from viva.errors import SetupError
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions, format_named, recognised
from viva.interchange.report import ImportReport
from viva.interchange.writer import Staged, write_cases

REPORT_FILE = "import-report.json"


def import_cases(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - as the option of the command line
    mapping: Mapping[str, str] | None = None,
) -> ImportReport:
    """Import cases from a file or folder of another tool into a new folder. Nothing in the source is run.

    Args:
        source: The file or folder.
        out: The folder of the cases, which must be new or empty; `import-report.json` is written beside them.
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
        if not drafts:
            raise SetupError(f"{file.path} has no case that can be imported as {chosen.name}.")
        names, written = write_cases(drafts, staged.folder)
        file.ledger.close(written)
        marked = {name: draft.marks for name, draft in zip(names, drafts, strict=True) if draft.marks}
        report = ImportReport(str(file.path), chosen.name, str(out), names, marked)
        report.account(file.ledger)
        text = json.dumps(report.as_json(), ensure_ascii=False, indent=1)
        (staged.folder / REPORT_FILE).write_text(text + "\n", encoding="utf-8")
        staged.publish()
    except BaseException:
        staged.discard()
        raise
    return report
