"""Reads labelled sets: transcripts with statements whose right labels are known, to measure judges by.

The built-in set lies in the folder `builtin`. Users write their own in the same format, which the page `formats`
describes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from viva.cases import Case, CaseError, ScoringPoint
from viva.cases.yaml.lines import LineNumbers, read_yaml
from viva.errors import SetupError
from viva.judge.calibration.set_items import ItemOfSet
from viva.judge.calibration.set_limits import MOST_OF_SET, MOST_TURNS_OF_SET, Extent, TextBudget
from viva.judge.calibration.store import BUILTIN
from viva.records.codec import encode
from viva.records.transcript import Transcript
from viva.regular_files import read_text

BUILTIN_FOLDER = Path(__file__).parent / "builtin"
SUFFIXES = (".yaml", ".yml", ".jsonl")
MOST_MISTAKES = 20
"""Maximum number of mistakes that are reported at once."""


@dataclass(frozen=True, slots=True)
class LabelledPoint:
    """A statement about one transcript, with its right label."""

    point: ScoringPoint
    label: str
    """`hit`, `miss` or `unsure`."""
    why: str = ""
    """Why this label is the right one."""
    hard: bool = False
    """Whether people labelled the point because it seemed hard to judge."""


@dataclass(frozen=True)
class LabelledItem:
    """One transcript as a judge sees it, and what is true of it."""

    id: str
    kind: str
    """What the item tests, such as `half-right`."""
    case: Case
    transcript: Transcript
    points: tuple[LabelledPoint, ...]
    hostile: bool = False
    """Whether the agent talks to the judge in it."""
    cluster: str = ""
    """What it has in common with other items that a judge is right or wrong about together; empty for nothing."""
    folder: Path | None = None
    """The journal of a stored conversation."""
    workspace: Path | None = None
    """The agent's files of a stored conversation, which a judge sees if the case wants it to."""

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256, in hex, of all that a judge sees of the item, without its statements."""
        files = [*self.case.evidence, self.workspace is not None] if self.case.evidence else []
        shown = json.dumps([self.case.task_description, self.case.background, *files]).encode()
        return hashlib.sha256(shown + b"\0" + encode(self.transcript)).hexdigest()


@dataclass(frozen=True)
class LabelledSet:
    """All items of a set."""

    name: str
    items: tuple[LabelledItem, ...] = field(repr=False)

    @property
    def size(self) -> int:
        """Return the number of labelled points."""
        return sum(len(item.points) for item in self.items)

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256, in hex, of the items with their statements and labels."""
        total = hashlib.sha256()
        for item in self.items:
            labels = [[each.point.score_point, each.label, each.point.weight] for each in item.points]
            total.update(json.dumps([item.id, item.kind, item.hostile, item.digest, labels]).encode() + b"\n")
        return total.hexdigest()


def load_set(name: str | Path) -> LabelledSet:
    """Load a labelled set.

    Args:
        name: `builtin`, or the path of a YAML or JSON Lines file, or of a folder of such files.

    Raises:
        SetupError: there is no such set, or it is not sound. The message names all mistakes, each with its line.
    """
    path = BUILTIN_FOLDER if str(name) == BUILTIN else Path(name)
    items: dict[str, LabelledItem] = {}
    mistakes: list[str] = []
    extent = Extent()
    for file in _files(path):
        for data, where in _entries(file):
            try:
                read = ItemOfSet.model_validate(data, context=TextBudget(_id_of(data)))
            except ValidationError as error:
                mistakes += _mistakes(error, where)
                continue
            if read.id in items:
                mistakes.append(f"{where(())}: id {read.id!r} is the id of an earlier item, too; each requires its own")
            extent += read.extent
            if over := extent.fault(MOST_OF_SET, MOST_TURNS_OF_SET):
                raise SetupError(f"the labelled set {path} is too large: up to item {read.id[:100]!r} it has {over}.")
            items.setdefault(read.id, _item(read, file))
    if mistakes:
        shown = "".join(f"\n  {mistake}" for mistake in mistakes[:MOST_MISTAKES])
        more = len(mistakes) - MOST_MISTAKES
        further = f"\n  further mistakes: {more:,}" if more > 0 else ""
        raise SetupError(f"the labelled set {path} cannot be used; see `viva docs formats`:{shown}{further}")
    if not items:
        raise SetupError(f"the labelled set {path} holds no items; see `viva docs formats`.")
    return LabelledSet(str(name), tuple(items.values()))


def _id_of(data: object) -> str:
    return str(data.get("id", "")) if isinstance(data, dict) else ""


def _item(read: ItemOfSet, file: Path) -> LabelledItem:
    points = read.scoring_points()
    case = Case(
        name=read.id,
        file=file,
        hash="",
        task_description=read.task,
        scoring_points=points,
        background=read.background,
    )
    labelled = tuple(
        LabelledPoint(point, each.label, each.why) for point, each in zip(points, read.points, strict=True)
    )
    return LabelledItem(read.id, read.kind, case, read.transcript(), labelled, read.hostile)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES)
        if not files:
            raise SetupError(f"the folder {path} holds no labelled set: no file that ends in {', '.join(SUFFIXES)}.")
        return files
    if not path.exists():
        raise SetupError(f"there is no labelled set {path}; give {BUILTIN!r}, or the path of a file or a folder.")
    if path.suffix not in SUFFIXES:
        raise SetupError(f"{path} is not a labelled set: its name must end in one of {', '.join(SUFFIXES)}.")
    return [path]


class _Where:
    """Says where a mistake in an item is: the file, and the line if it is known."""

    def __init__(self, file: Path, line: int | None, lines: LineNumbers | None = None, index: int = 0) -> None:
        self._file, self._line, self._lines, self._index = file, line, lines, index

    def __call__(self, path: tuple[str | int, ...]) -> str:
        line = self._line if self._lines is None else self._lines.of(self._index, *path)
        return f"{self._file}:{line}" if line else str(self._file)


def _entries(file: Path) -> Iterator[tuple[Any, _Where]]:
    """Yield the data of each item of a file."""
    if file.suffix == ".jsonl":
        for number, line in enumerate(read_text(file, "the labelled set").split("\n"), 1):
            if line.strip():
                yield _parsed(line, f"{file}:{number}"), _Where(file, number)
        return
    try:
        data, lines, _ = read_yaml(file)
    except CaseError as error:
        raise SetupError(f"the labelled set cannot be read: {error}") from error
    if lines.duplicates:
        key, place = lines.duplicates[0]
        raise SetupError(f"{file}:{place}: the key {key!r} is given twice; remove one.")
    if not isinstance(data, list):
        raise SetupError(f"{file} is not a labelled set: it must be a list of items; see `viva docs formats`.")
    for index, item in enumerate(data):
        yield item, _Where(file, None, lines, index)


def _parsed(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SetupError(f"{where} is not a line of JSON: {error}.") from error


def _mistakes(error: ValidationError, where: _Where) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False):
        path = fault["loc"]
        field_ = ".".join(map(str, path)) or "the item"
        yield f"{where(path)}: {field_}: {fault['msg'].removeprefix('Value error, ')}"
