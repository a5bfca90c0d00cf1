"""Shows the agent's files to a judge as marked text, with pictures for models that see, and finds quotes in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from viva.cases import Case
from viva.journal.images import kind_of
from viva.journal.scaled_pictures import look_at, scale_picture
from viva.judge.evidence import FILE
from viva.judge.files.given import given_files
from viva.judge.files.workspace import Change, WorkspaceChanges, WorkspaceFile, compare
from viva.judge.quotes import Text
from viva.judge.steps import indented, readings, visible
from viva.models.model import PictureFile
from viva.records.text import counted, storable
from viva.records.verdict import Evidence
from viva.regular_files import open_plain

MOST_LISTED = 200
"""Maximum number of files in the list."""
FEWEST_LISTED = 50
"""The same for a judge whose provider refuses longer requests."""
MOST_HEADS = 20
"""Maximum number of text files of which the beginning is shown."""
HEAD = 4_000
"""Maximum number of bytes that are shown of one file."""
MOST_PICTURES = 4
PICTURE_BYTES = 400_000
"""Maximum number of bytes of one picture; a larger one is scaled down."""
LARGEST_PICTURE = 20 * 1024 * 1024
NAME_SHOWN = 300
_AGENTS = (Change.NEW, Change.CHANGED, Change.FOUND)


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A file of the list."""

    number: int
    file: WorkspaceFile
    line: str
    head: str | None = None
    """The beginning of its text."""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class ShownFiles:
    """The agent's files as a judge sees them."""

    text: str
    """Between marks: all lines of names and contents are indented, as in a transcript."""
    parts: tuple[PictureFile | str, ...]
    """Pictures, each after words that say which file it is."""
    listed: tuple[_Numbered, ...]
    available: bool = True
    """Whether there was anything to look at."""

    @property
    def any_of_the_agents(self) -> bool:
        """Return whether the agent left any file of its own."""
        return any(each.file.change in _AGENTS for each in self.listed)

    def names_alone(self) -> ShownFiles:
        """Return the first lines of the list, without what the files hold."""
        listed = tuple(replace(each, head=None) for each in self.listed[:FEWEST_LISTED])
        more = len(self.listed) - len(listed)
        lines = [each.line for each in listed] + ([f"(not listed: {counted(more, 'more file')})"] if more else [])
        return ShownFiles("\n".join(["[files]:", indented("\n".join(lines))]), (), listed)

    def find(self, quotes: Iterable[str]) -> tuple[list[Evidence], list[str]]:
        """Return evidence for the quotes that are in a line of the list or in a shown file, and those that are not."""
        texts = [(each, _readings(each)) for each in self.listed]
        found, lost = [], []
        for quote in quotes:
            where = next((each for each, forms in texts if any(text.find(quote) for text in forms)), None)
            if where is None:
                lost.append(quote)
            else:
                found.append(Evidence(f"{FILE}{storable(where.file.path)[:NAME_SHOWN]}", storable(quote.strip())))
        return found, lost


def show_files(workspace: Path | None, case: Case, journal: Path | None, marker: str, *, pictures: bool) -> ShownFiles:
    """Look at a workspace and write what it holds, as text for a model. It reads files: call it in a thread.

    Args:
        workspace: The agent's files, if there are any.
        case: The case, which says what the agent was given, and names the files that matter most.
        journal: The folder of the journal.
        marker: Marks what is cut off; random, so that nobody who wrote a file can know it.
        pictures: Whether the model sees pictures.
    """
    if workspace is None:
        return ShownFiles("(The agent's files are not available.)", (), (), available=False)
    changes = compare(workspace, given_files(case, journal))
    return _written(changes, workspace, case, marker, pictures=pictures)


def _written(changes: WorkspaceChanges, workspace: Path, case: Case, marker: str, *, pictures: bool) -> ShownFiles:
    words = " ".join([case.task_description, *(point.score_point for point in case.scoring_points)])
    # An agent can leave thousands of files: those that the case names come first, and those as before last.
    shown = [file for file in changes.files if file.change is not Change.SAME]
    shown.sort(key=lambda file: _last_name(file.path) not in words)
    numbered = [_Numbered(number, file, _line(number, file)) for number, file in enumerate(shown[:MOST_LISTED], 1)]
    listed = tuple(_with_heads(numbered, workspace))
    lines = ["[files]:", indented("\n".join([*(each.line for each in listed), *_rest(changes, len(shown))]))]
    for each in listed:
        if each.head is not None:
            text = visible(each.head) + (f" [… the file goes on, {marker} …]" if each.cut else "")
            lines += [f"[beginning of file {each.number}]:", indented(text or "(nothing)")]
    parts = tuple(_pictures(listed, workspace)) if pictures else ()
    return ShownFiles("\n".join(lines), parts, listed)


def _line(number: int, file: WorkspaceFile) -> str:
    name = visible(json.dumps(storable(file.path)[:NAME_SHOWN], ensure_ascii=False))
    kind = " link, not followed" if file.is_link else ""
    return f"{number}. {file.change.value}{kind}, {counted(file.size, 'byte')}: {name}"


def _rest(changes: WorkspaceChanges, shown: int) -> Iterator[str]:
    """Yield what the list does not say one by one."""
    same = sum(file.change is Change.SAME for file in changes.files)
    if not shown:
        yield "(no file is new, changed or deleted)" if changes.whole else "(no given file is changed or deleted)"
    if shown > MOST_LISTED:
        yield f"(not listed: {counted(shown - MOST_LISTED, 'more file')})"
    if same:
        yield f"(as the agent was given: {counted(same, 'file')})"
    if not changes.whole:
        yield "(there are more files, which were not searched)"


def _last_name(path: str) -> str:
    return path.rpartition("/")[2]


def _with_heads(listed: Sequence[_Numbered], workspace: Path) -> Iterator[_Numbered]:
    left = MOST_HEADS
    for each in listed:
        content = _content(workspace, each.file, HEAD + 1) if left and each.file.change in _AGENTS else None
        text = None if content is None else _text(content[:HEAD])
        if content is None or text is None:
            yield each
            continue
        left -= 1
        yield _Numbered(each.number, each.file, each.line, text, len(content) > HEAD)


def _content(workspace: Path, file: WorkspaceFile, most: int) -> bytes | None:
    if file.is_link:
        return None
    try:
        with open_plain(workspace / file.path) as stream:
            return stream.read(most)
    except (OSError, ValueError):
        return None


def _text(content: bytes) -> str | None:
    """Return the content of a text file in UTF-8; a character that is cut off at the end is left out."""
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        return content[: error.start].decode("utf-8") if error.start and error.start > len(content) - 4 else None


def _pictures(listed: Sequence[_Numbered], workspace: Path) -> Iterator[PictureFile | str]:
    left = MOST_PICTURES
    for each in listed:
        if not left:
            return
        if each.head is not None or each.file.change not in _AGENTS or each.file.size > LARGEST_PICTURE:
            continue
        start = _content(workspace, each.file, 16)
        if not start or kind_of(start) is None:
            continue
        content = _content(workspace, each.file, LARGEST_PICTURE)
        if content and (picture := _fit(content)) is not None:
            left -= 1
            yield f"The picture in file {each.number}:"
            yield PictureFile(picture)


def _fit(content: bytes) -> bytes | None:
    facts = look_at(content)
    if facts is None:
        return None
    small = len(content) <= PICTURE_BYTES and kind_of(content) in ("png", "jpeg")
    return content if small else scale_picture(content, PICTURE_BYTES)


def _readings(each: _Numbered) -> tuple[Text, ...]:
    return (*readings(each.line), *(readings(each.head) if each.head is not None else ()))
