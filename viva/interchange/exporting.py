"""Exports cases to files of other tools, and accounts for every value of a case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from viva.cases import Case
from viva.errors import SetupError
from viva.interchange.case_tree import case_tree, short_name
from viva.interchange.ledger import Gap, Ledger, Note, shown_path
from viva.interchange.pydantic_evals import exporter as pydantic_evals
from viva.interchange.report import Reported
from viva.interchange.rows import exporter as rows
from viva.interchange.yaml_text import yaml_text
from viva.records.text import one_line

FORMATS: Mapping[str, str] = {
    "pydantic-evals": "A dataset of pydantic-evals in YAML.",
    "rows": "Rows in JSON Lines, or in CSV: input, expected, metadata, tags.",
}
"""The formats that cases can be exported to, and what they are."""
UNKNOWN = "the format has nothing like it"


@dataclass(slots=True)
class Exported:
    """The result of an export."""

    text: str
    """The content of the file."""
    reported: list[Reported] = field(default_factory=list)
    """Every value of a case that is not in the file."""


def export_cases(cases: Sequence[Case], to: str, suffix: str = "") -> Exported:
    """Return cases in the format of another tool. Code is never exported.

    Args:
        cases: The cases.
        to: `pydantic-evals` or `rows`.
        suffix: Ending of the file, which chooses between JSON Lines and CSV.

    Raises:
        SetupError: there is no such format.
    """
    ledger = Ledger()
    short = Counter(map(short_name, cases))
    trees = [
        (short_name(case) if short[short_name(case)] == 1 else case.name, case_tree(case, ledger)) for case in cases
    ]
    if to == "pydantic-evals":
        text = yaml_text(pydantic_evals.export(trees), [])
    elif to == "rows":
        text = rows.export(trees, as_table=suffix == ".csv")
    else:
        raise SetupError(f"there is no format {to!r} to export to; known: {', '.join(FORMATS)}.")
    return Exported(text, _reported(ledger))


def _reported(ledger: Ledger) -> list[Reported]:
    found: list[Reported] = []
    for leaf in ledger:
        if not leaf.is_accounted_for and not leaf.is_empty:
            leaf.notes.append(Note(Gap.NO_HOME, UNKNOWN))
        value: Any = leaf.value if isinstance(leaf.value, str) else str(leaf.value)
        place = shown_path(leaf.document, leaf.path)
        found += [Reported(place, one_line(value, 160), note.kind, note.why) for note in leaf.notes]
    return found
