"""Rubrics: scoring points for recordings, which were made without a case. `load_rubric` reads them from a YAML file.

A rubric has the points of a case, for all recordings or for those of a subject. Each of its papers is a `Case`, so that
recordings are judged as exams are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.cases.case import Case
from viva.cases.errors import CaseError, Mistake
from viva.cases.field_readers import CaseReader
from viva.cases.plain_fields import PlainReader
from viva.cases.text import describe
from viva.cases.yaml.lines import LineNumbers, read_yaml

TASK = "What the user asks the agent for, in the words of the user in the transcript."
"""The task of a paper that has no `task_description`: what was asked is in the recording."""
PAPER_KEYS = ("scoring_points", "task_description", "background")
"""The fields of a case that both a rubric and its entries have."""
SHARED_KEYS = ("evidence", "check_limits", "dependencies")
KEYS = ("subject", *PAPER_KEYS, *SHARED_KEYS, "for_each")
ENTRY_KEYS = ("subject", *PAPER_KEYS)

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Rubric:
    """The papers by which recordings are judged."""

    common: Case | None = None
    """The paper of every subject without one of its own; None if such recordings are not judged."""
    by_subject: Mapping[str, Case] = field(default_factory=dict)

    @property
    def papers(self) -> tuple[Case, ...]:
        """Return all papers."""
        return (*([] if self.common is None else [self.common]), *self.by_subject.values())


def load_rubric(file: Path) -> Rubric:
    """Load a rubric.

    Its keys are `scoring_points`, in the format of a case, and any of `subject` (a name or a list: the points are for
    these subjects only), `task_description`, `background`, `evidence`, `check_limits` and `dependencies`, as in a case.
    `for_each` is a list of entries with `subject`, and `scoring_points` that are added to those above.

    Raises:
        CaseError: the rubric is not sound. The error holds every mistake that was found, with its line.
    """
    data, lines, raw = read_yaml(file)
    if not isinstance(data, dict):
        raise CaseError(file, [Mistake("is not a mapping with scoring_points; see `viva docs recordings`", 1)])
    rubric, mistakes = _RubricReader(file, data, lines, hashlib.sha256(raw).hexdigest()).read()
    if mistakes:
        # The common points are read for each entry, but a mistake in them is one mistake.
        ordered: list[Mistake] = sorted(set(mistakes), key=lambda mistake: mistake.line or 0)
        raise CaseError(file, ordered)
    return rubric


class _RubricReader(PlainReader):
    """Reads one file."""

    def __init__(self, file: Path, data: dict[Any, Any], lines: LineNumbers, digest: str) -> None:
        super().__init__(data, lines)
        self._file = file
        self._digest = digest

    def read(self) -> tuple[Rubric, list[Mistake]]:
        for key, line in self.lines.duplicates:
            self.mistakes.append(Mistake(f"{key!r} is a duplicate key; YAML would silently drop the first value", line))
        self.check_keys(self.data, KEYS)
        entries = self._entries()
        common = None
        if self.data.get("scoring_points") is not None or not entries:
            common = self._paper({}, ())
        found: dict[str, Case] = {}
        for subject in self._subjects(self.data, required=False):
            if common is not None:
                found[subject] = common
        own: set[str] = set()
        for index, entry in enumerate(entries):
            paper = self._paper(entry, ("for_each", index))
            for subject in self._subjects(entry, "for_each", index):
                if subject in own:
                    self.add_mistake(f"another entry is for the subject {describe(subject)}", "for_each", index)
                own.add(subject)
                found[subject] = paper
        limited = self.data.get("subject") is not None
        return Rubric(None if limited else common, found), self.mistakes

    def _entries(self) -> list[dict[Any, Any]]:
        value = self.data.get("for_each")
        if value is None:
            return []
        if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
            self.add_mistake("for_each must be a list of entries with the keys subject and scoring_points", "for_each")
            return []
        for index, entry in enumerate(value):
            self.check_keys(entry, ENTRY_KEYS, "for_each", index)
        return value

    def _subjects(self, mapping: dict[Any, Any], *path: str | int, required: bool = True) -> list[str]:
        value = mapping.get("subject")
        names = value if isinstance(value, list) else [] if value is None else [value]
        if not names and (required or value is not None):
            self.add_mistake("subject is missing: name the task or the question of the recordings", *path, "subject")
        for name in names:
            if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
                self.add_mistake(f"subject must be text, not {describe(name)}", *path, "subject")
        return [str(name) for name in names]

    def _paper(self, entry: dict[Any, Any], path: Place) -> Case:
        """Read the case of an entry, or the common one."""
        own, shared = entry.get("scoring_points"), self.data.get("scoring_points")
        data = {key: self.data[key] for key in (*PAPER_KEYS, *SHARED_KEYS) if key in self.data}
        data |= {key: entry[key] for key in PAPER_KEYS if key in entry}
        data.setdefault("task_description", TASK)
        count = len(own) if isinstance(own, list) else 0
        if path and own is None:
            self.add_mistake("scoring_points is missing", *path)
        if isinstance(own, list) and isinstance(shared, list):
            data["scoring_points"] = [*own, *shared]
        reader = CaseReader(data, _EntryLines(self.lines, path, count), self._file)
        fields = reader.read()
        self.mistakes += reader.mistakes
        digest = hashlib.sha256(f"{self._digest}{path}".encode()).hexdigest()
        return Case(name=self._file.stem, file=self._file, hash=digest, for_recordings=True, **fields)


class _EntryLines(LineNumbers):
    """The lines of an entry, whose own points are followed by the common ones."""

    def __init__(self, lines: LineNumbers, path: Place, own: int) -> None:
        super().__init__(blocks=lines.blocks)
        self._lines = lines
        self._path = path
        self._own = own

    def of(self, *path: str | int) -> int | None:
        """Return the line of a path, or of the nearest thing around it."""
        match path:
            case ("scoring_points", int(index), *rest) if self._path and index >= self._own:
                return self._lines.of("scoring_points", index - self._own, *rest)
            case (str(key), *_) if self._path and (*self._path, key) not in self._lines.at:
                return self._lines.of(*path)
        return self._lines.of(*self._path, *path)
