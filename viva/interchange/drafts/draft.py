"""A case as an importer builds it, in the short forms of a case file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

INCOMPLETE = "import-incomplete"
"""The tag of a case that lacks something of its source: `viva suite --tag import-incomplete` selects these."""
FULFILLED = "The agent does what it was asked, fully and correctly."
"""The statement of a case whose source has no expectation that can be imported."""


@dataclass(slots=True)
class CaseDraft:
    """One case that is written when the import is complete."""

    title: str
    """Any text; the name of the case is made from it."""
    task_description: str = ""
    """Empty if the script says it all."""
    points: list[str | dict[str, Any]] = field(default_factory=list)
    """Scoring points: a statement, or a mapping as in a case file."""
    script: list[Any] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    conversation: list[dict[str, str]] = field(default_factory=list)
    """Turns that are given: mappings with `role` (`user`, `agent` or `system`) and `content`."""
    metadata: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    """All other fields of the case file."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Contents of data files by their names, which are added to `data_files`."""
    row: str | None = None
    """The id of the row of which it was made; empty if the row has none; None if it is no row of a table."""
    columns: dict[str, Any] = field(default_factory=dict)
    """Further values of the row, which its table keeps."""
    reference: list[dict[str, Any]] | None = None
    """The expected tool calls, for `--reference`; None if the source says nothing about them."""
    marks: list[str] = field(default_factory=list)
    """What a person has to do; comments at the top of the file. A marked case has the tag `import-incomplete`."""

    def mark(self, words: str) -> None:
        """Mark that something is missing, in words for the person who completes the case."""
        if words not in self.marks:
            self.marks.append(words)

    @property
    def needs_model(self) -> bool:
        """Return whether a model has to examine or to judge."""
        return not self.script or not self.points or any(_is_for_a_model(point) for point in self.points)

    def document(self) -> dict[str, Any]:
        """Return the content of the case file."""
        tags = list(dict.fromkeys([*self.tags, *([INCOMPLETE] if self.marks else [])]))
        ordered: dict[str, Any] = {
            "task_description": self.task_description,
            "conversation": self.conversation,
            "script": self.script,
            **self.fields,
            "data_files": [*self.fields.get("data_files", ()), *self.files],
            "scoring_points": self.points or [FULFILLED],
            "tags": tags,
            "metadata": self.metadata,
        }
        return {key: value for key, value in ordered.items() if value not in (None, [], {}, "")}


def _is_for_a_model(point: str | dict[str, Any]) -> bool:
    if isinstance(point, str):
        return True
    inner = point.get("points")
    return any(map(_is_for_a_model, inner)) if inner else not {"check", "eval_code"} & point.keys()
