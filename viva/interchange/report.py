"""What an import reports: the cases that it wrote, and every value of the source that is in none of them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from viva.interchange.ledger import Gap, Leaf, Ledger, shown_path
from viva.records.text import one_line

SHOWN = 160
"""Maximum number of characters of a value in the report."""


HIDDEN = "(hidden: it may be a secret)"
_SECRET = re.compile(r"(?i)api_?-?key|secret|token$|password|passwd|authorization|credential|cookie|private_?key")
_KEY = re.compile(
    r"\b(sk|pk|rk|ghp|gho|glpat|xox[abp])[-_][A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b|(?i:\bbearer\s+\S{12,})"
)
"""What keys of providers look like."""


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
    """Names of the cases, as journals have them, in the order of the source."""
    files: list[str] = field(default_factory=list)
    """The files with cases and rows, relative to `out`."""
    runs: int = 0
    """Number of runs in the journal, if the source holds results and no cases."""
    marked: dict[str, list[str]] = field(default_factory=dict)
    """What a person has to do, by the name of the case, or of the family."""
    needs_model: bool = False
    """Whether a model has to examine or judge in some case."""
    begun: int = 0
    """Number of cases whose conversation has already begun: not every agent can be given it."""
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
            "files": self.files,
            "runs": self.runs,
            "marked": self.marked,
            "needs_model": self.needs_model,
            "begun": self.begun,
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
    if any(isinstance(step, str) and _SECRET.search(step) for step in leaf.path) or _KEY.search(
        str(leaf.value)[:SHOWN]
    ):
        value = HIDDEN
    else:
        value = one_line(leaf.value if isinstance(leaf.value, str) else str(leaf.value), SHOWN)
    return [Reported(shown_path(leaf.document, leaf.path), value, note.kind, note.why) for note in leaf.notes]
