"""Writes the cases of an import, reads them back with the reader of cases, and fails if anything differs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from viva.cases import CaseError, load_case
from viva.cases.yaml_lines import read_yaml
from viva.errors import SetupError
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.names import CaseNames
from viva.interchange.yaml_text import yaml_text

CASE_FILE = "case.yaml"


class Staged:
    """A folder that takes its final place only when everything in it is complete."""

    def __init__(self, out: Path) -> None:
        """Make the folder beside its final place.

        Raises:
            SetupError: the final place holds something already, or no folder can be made there.
        """
        self._out = out
        if os.path.lexists(out) and (not out.is_dir() or any(out.iterdir())):
            raise SetupError(f"{out} exists and is not an empty folder; name a new one with --out.")
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            self.folder = Path(tempfile.mkdtemp(prefix=f".{out.name[:40]}-", dir=out.parent))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise SetupError(f"{out} cannot be made: {why}.") from error

    def publish(self) -> None:
        """Move the folder to its final place."""
        self.folder.chmod(0o777 & ~_umask())
        self.folder.replace(self._out)

    def discard(self) -> None:
        """Remove what is not complete."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write_cases(drafts: Sequence[CaseDraft], folder: Path) -> tuple[list[str], list[Any]]:
    """Write a folder for each case.

    Args:
        drafts: The cases.
        folder: An empty folder.

    Returns:
        The names of the cases, and what their files hold.

    Raises:
        SetupError: a case that was written cannot be read, or reads differently. That is a fault of the importer.
    """
    names = CaseNames()
    written = [(names.of(draft.title), draft) for draft in drafts]
    return [name for name, _ in written], [_write(draft, folder / name) for name, draft in written]


def _write(draft: CaseDraft, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    for name, content in draft.files.items():
        place = folder / name
        if ".." in place.parts or place.is_absolute() is not folder.is_absolute():
            raise SetupError(f"the importer gave a data file the name {name!r}, which lies outside the case.")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    document = draft.document()
    file = folder / CASE_FILE
    file.write_text(yaml_text(document, draft.marks), encoding="utf-8", newline="\n")
    try:
        read, _, _ = read_yaml(file)
        load_case(folder)
    except CaseError as error:
        raise SetupError(
            f"the case {folder.name!r} that was imported cannot be read, so none was kept: {error}"
        ) from error
    if read != document:
        raise SetupError(
            f"the case {folder.name!r} that was imported reads differently than it was written; none was kept."
        )
    return document


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
