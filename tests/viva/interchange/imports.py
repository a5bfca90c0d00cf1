"""Imports sources of other formats in tests, and accounts for their leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import viva
from tests.viva.interchange.accounting import leaves, texts_of
from viva.cases import Case, find_cases, load_cases
from viva.interchange import ImportReport, SourceFile
from viva.interchange.formats import ImportOptions, format_named
from viva.interchange.ledger import canonical

SOURCES = Path(__file__).parent / "sources"


def all_cases(folder: Path) -> list[Case]:
    """All cases of a folder, in the order of its files."""
    return [case for path in find_cases(folder) for case in load_cases(path)]


class Imported:
    """An import: its cases by their names, and its report."""

    def __init__(self, source: Path, out: Path, format_name: str | None = None) -> None:
        self.out = out
        self.source = source
        self.report: ImportReport = viva.import_cases(source, out, format=format_name)
        self.cases: dict[str, Case] = {case.row or case.entry or case.name: case for case in all_cases(out)}

    def reported(self, kind: str, part: str) -> bool:
        """Whether a value with `part` in its path was reported as of this kind."""
        return any(each.kind.value == kind and part in each.path for each in self.report.reported)

    def dropped(self) -> list[tuple[str, Any]]:
        """The leaves of all documents of the source that are neither in a case nor expressed nor reported."""
        file = SourceFile(self.source)
        format_named(self.report.format).load().read(file, ImportOptions())
        paths = {each.path for each in self.report.reported}
        written = texts_of(self.out)
        if (self.out / "reference.json").exists():
            written += "\n" + (self.out / "reference.json").read_text()
        found = []
        for leaf in file.ledger:
            place = str(_tree(file, leaf.document, leaf.path))
            text = leaf.value if isinstance(leaf.value, str) else canonical(leaf.value)
            if not (leaf.is_empty or leaf.expressed or place in paths or text in written):
                found.append((place, leaf.value))
        return found


def _tree(file: SourceFile, document: str, path: tuple[str | int, ...]) -> str:
    from viva.interchange.ledger import shown_path

    return shown_path(document, path)


def leaf_count(document: Any) -> int:
    """The number of leaves of plain data, counted without the product's own tree."""
    return len(leaves(document))


def texts(case: Case) -> list[str]:
    """The statements of a case's points, empty for those with a check alone."""
    return [point.score_point for point in case.scoring_points]


def checks(case: Case) -> list[Any]:
    """The checks of a case's points."""
    return [dict(point.check) for point in case.scoring_points if point.check is not None]


def said(case: Case) -> list[str]:
    """The messages of a case's script."""
    return [line.say for line in case.script]
