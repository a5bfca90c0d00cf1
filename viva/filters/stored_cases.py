"""Reads what filters compare of the cases in a journal: `metadata` and `row`; no other filter reads cases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from viva.journal.kept_files import case_name, read_kept
from viva.records.codec import loads
from viva.records.run_record import RunRecord

PARTS = ("metadata", "row")
MOST_KEPT = 100_000
"""Cases whose parts are remembered."""


class StoredCases:
    """The parts of the cases of one journal, each of which is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, Mapping[str, Any]] = {}

    def __call__(self, record: RunRecord) -> Mapping[str, Any]:
        """Return the parts of a run's case; none where the journal does not hold the case."""
        digest = record.setting.case_hash
        if digest not in self._found:
            if len(self._found) >= MOST_KEPT:
                self._found.clear()
            self._found[digest] = self._read(digest)
        return self._found[digest]

    def _read(self, digest: str) -> Mapping[str, Any]:
        try:
            content = read_kept(self._folder, case_name(digest))
            data = {} if content is None else loads(content)
        except (OSError, ValueError, RecursionError):
            return {}
        return {name: data[name] for name in PARTS if name in data} if isinstance(data, dict) else {}
