"""Checks that nothing of a source was dropped: every leaf stands in a case, decides the form of one, or is reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from viva.cases.yaml.lines import read_yaml
from viva.interchange.ledger import canonical, scalars, shown_path


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """The leaves of plain data with their paths, found without the product's own tree."""
    if isinstance(value, dict) and value:
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, str(key)))]
    if isinstance(value, list) and value:
        return [leaf for index, inner in enumerate(value) for leaf in leaves(inner, (*path, index))]
    return [(path, value)]


def texts_of(folder: Path) -> str:
    """All values of all case files, as text."""
    files = sorted(folder.rglob("*.yaml"))
    found = [canonical(value) for file in files for value in scalars(read_yaml(file)[0])]
    rows = [
        json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().strip().split("\n")
    ]
    others = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix in (".csv", ".txt")]
    return "\n".join([*found, *(canonical(value) for value in scalars(rows)), *(file.read_text() for file in others)])


def dropped(data: Any, folder: Path, expressed: set[str]) -> list[tuple[str, Any]]:
    """The leaves of a source that are neither in a case nor reported.

    Args:
        data: What the source file holds.
        folder: The folder of the import.
        expressed: Paths of leaves that the ledger counts as the form of a case.
    """
    report = json.loads((folder / "import-report.json").read_text())
    reported = {each["path"] for each in report["reported"]}
    cases = texts_of(folder)
    return [
        (shown_path("", path), value)
        for path, value in leaves(data)
        if value not in (None, "", [], {})
        and shown_path("", path) not in reported | expressed
        and (value if isinstance(value, str) else canonical(value)) not in cases
    ]
