"""The Case: one exam paper as plain data. Reading it from a file is `load`'s."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ScoringPoint:
    """A statement that is true of a good exam, and how much it counts."""

    id: str
    """Stable within its case: made from the statement, so reordering the points keeps it."""
    score_point: str
    weight: float
    eval_code: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """One line of a script: a message, repeated for a counter, or said only if the agent's last words call for it."""

    say: str
    first: int | None = None
    last: int | None = None
    """With `first`: the line is said once for each number from `first` to `last`, both included."""
    counter: str = "n"
    """`{n}` in `say` becomes the number."""
    if_agent_says: str | None = None
    """A regular expression, case ignored; the line is skipped unless the agent's last reply matches it."""

    def messages(self) -> Iterator[str]:
        """The messages this line stands for, made one by one: a long one said 100,000 times would fill the memory."""
        if self.first is None or self.last is None:
            yield self.say
            return
        for number in range(self.first, self.last + 1):
            yield self.say.replace(f"{{{self.counter}}}", str(number))


@dataclass(frozen=True, slots=True)
class Case:
    """An exam paper. The fields are those of a TaskWeaver case file; `script`, `tags` and `timeout` are Viva's own."""

    name: str
    """The folder's name."""
    file: Path
    """The YAML file; its folder holds the data files."""
    hash: str
    """SHA-256 of the YAML file and the data files, in hex."""
    task_description: str
    scoring_points: tuple[ScoringPoint, ...]
    version: str | None = None
    config_var: Mapping[str, Any] | None = None
    app_dir: str | None = None
    dependencies: tuple[str, ...] = ()
    data_files: tuple[str, ...] = ()
    """Files and folders, relative to the case's folder."""
    max_rounds: int | None = None
    pre_command: tuple[str, ...] = ()
    verbose: bool = False
    script: tuple[ScriptLine, ...] = ()
    tags: tuple[str, ...] = ()
    timeout: float | None = None
    """Seconds that the whole conversation may take."""

    @property
    def folder(self) -> Path:
        """Where the case's files lie."""
        return self.file.parent

    @property
    def max_points(self) -> float:
        """Sum of all weights."""
        return sum(point.weight for point in self.scoring_points)
