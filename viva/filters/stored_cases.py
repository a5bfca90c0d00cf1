"""Reads what the cases of a journal say beyond their exam: rows, columns and metadata, for filters and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.cases import Case
from viva.journal.kept_files import case_name, read_kept
from viva.records.codec import loads
from viva.records.run_record import RunRecord

MOST_KEPT = 100_000
"""Cases whose facts are remembered."""


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """What a case says of itself that no exam depends on."""

    row: str = ""
    """The id of its row; empty if it is no row of a family."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """The values of its row, as far as the journal keeps them."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    points: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The metadata of its scoring points, by id; those without any are not named."""

    def __bool__(self) -> bool:
        return bool(self.row or self.metadata or self.points)

    @property
    def parts(self) -> Mapping[str, Any]:
        """Return what filters compare: `metadata` and `row`."""
        return {"metadata": self.metadata, "row": self.columns}


NO_FACTS = CaseFacts()


class StoredCases:
    """The facts of the cases of one journal, each of which is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, CaseFacts] = {}

    def __call__(self, record: RunRecord) -> Mapping[str, Any]:
        """Return what filters compare of a run's case; none where the journal does not hold the case."""
        return self.facts(record).parts

    def facts(self, record: RunRecord) -> CaseFacts:
        """Return the facts of a run's case; none where the journal does not hold the case."""
        digest = record.setting.case_hash
        if not digest:
            return NO_FACTS
        found = self._found.get(digest)
        if found is None:
            if len(self._found) >= MOST_KEPT:
                self._found.clear()
            found = self._found[digest] = self._read(digest)
        return found

    def tags(self, record: RunRecord) -> tuple[str, ...]:
        """Return the tags of a run's case, which only the record of a run that ended has, too."""
        digest = record.setting.case_hash
        tags = self._data(digest).get("tags") if digest else None
        return tuple(each for each in tags if isinstance(each, str)) if isinstance(tags, list) else ()

    def _read(self, digest: str) -> CaseFacts:
        return facts_in(self._data(digest))

    def _data(self, digest: str) -> Mapping[str, Any]:
        try:
            content = read_kept(self._folder, case_name(digest))
            data = None if content is None else loads(content)
        except (OSError, ValueError, RecursionError):
            return {}
        return data if isinstance(data, dict) else {}


def facts_of(case: Case) -> CaseFacts:
    """Return the facts of a case."""
    points = {point.id: point.metadata for point in case.scoring_points if point.metadata}
    return CaseFacts(case.row, case.columns, case.metadata, points)


def facts_in(case: Mapping[str, Any]) -> CaseFacts:
    """Return the facts of a case as a journal holds it, which may be a stranger's: what is of another type is none."""
    row, points = case.get("row"), case.get("scoring_points")
    named = [each for each in points if isinstance(each, dict)] if isinstance(points, list) else []
    of_points = {each["id"]: _mapping(each.get("metadata")) for each in named if isinstance(each.get("id"), str)}
    found = CaseFacts(
        row if isinstance(row, str) else "",
        _mapping(case.get("columns")),
        _mapping(case.get("metadata")),
        {name: each for name, each in of_points.items() if each},
    )
    return found or NO_FACTS


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
