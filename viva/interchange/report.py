"""What an import reports: the cases that it wrote, and every value of the source that is in none of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from viva.interchange.ledger import Gap, Leaf, Ledger, shown_path
from viva.records.text import one_line

SHOWN = 160
"""Maximum number of characters of a value in the report."""


@dataclass(frozen=True, slots=True)
class Reported:
    """One value that is in no case."""

    path: str
    value: str
    """Shortened, on one line."""
    kind: Gap
    why: str


@dataclass(slots=True)
class ImportReport:
    """The result of an import."""

    source: str
    format: str
    out: str
    cases: list[str] = field(default_factory=list)
    """CaseNames of the cases, in the order of the source."""
    marked: dict[str, list[str]] = field(default_factory=dict)
    """What a person has to do, by the name of the case."""
    values: int = 0
    """Leaves of the source."""
    taken: int = 0
    """Those whose values are in a case."""
    expressed: dict[str, int] = field(default_factory=dict)
    """How many leaves became a form of a case, by what they became."""
    empty: int = 0
    """Leaves with nothing in them: null, empty text, empty lists and mappings."""
    reported: list[Reported] = field(default_factory=list)

    def account(self, ledger: Ledger) -> None:
        """Add what became of every leaf; the ledger is closed."""
        expressed: Counter[str] = Counter()
        for leaf in ledger:
            self.values += 1
            self.taken += leaf.taken
            if leaf.expressed:
                expressed[leaf.expressed] += 1
            if leaf.is_empty and not leaf.is_accounted_for:
                self.empty += 1
            self.reported += _reported(leaf)
        self.reported += [Reported(place, "", note.kind, note.why) for place, note in ledger.remarks]
        self.expressed = dict(expressed.most_common())

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data, as `import-report.json` holds it."""
        return {
            "source": self.source,
            "format": self.format,
            "out": self.out,
            "cases": self.cases,
            "marked": self.marked,
            "values": self.values,
            "in_cases": self.taken,
            "expressed": self.expressed,
            "empty": self.empty,
            "reported": [
                {"path": each.path, "value": each.value, "kind": each.kind.value, "why": each.why}
                for each in self.reported
            ],
        }


def _reported(leaf: Leaf) -> list[Reported]:
    value = one_line(leaf.value if isinstance(leaf.value, str) else str(leaf.value), SHOWN)
    return [Reported(shown_path(leaf.document, leaf.path), value, note.kind, note.why) for note in leaf.notes]
