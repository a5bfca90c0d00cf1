"""Shows the agent's files to a judge as marked text, with pictures for models that see."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from viva.cases import Case
from viva.judge.files.given import GivenFile, given_files
from viva.judge.files.listed import NO_FILES, OF_THE_AGENT, ListedFile, ShownFiles
from viva.judge.files.named import NamedFiles, Rank
from viva.judge.files.pictures import LARGEST_PICTURE, MOST_PICTURES, fit, is_picture
from viva.judge.files.produced import WordsGiven
from viva.judge.files.workspace import Change, WorkspaceChanges, WorkspaceFile, compare
from viva.judge.steps import indented, visible
from viva.models.model import PictureFile
from viva.records.text import counted, storable
from viva.regular_files import open_plain

MOST_LISTED = 200
"""Maximum number of files in the list."""
MOST_HEADS = 20
"""Maximum number of text files of which the beginning is shown, apart from those that the case names."""
HEAD = 4_000
"""Maximum number of bytes of the beginning of one file, as they are sent: escaped and indented."""
FURTHER_HEAD = 400
"""The same for each further file that the case names."""
NAME_SHOWN = 300
"""Maximum number of bytes of a path, as they are sent."""
FILE_LAYER = "file"
_NAMED = (Rank.PATH, Rank.NAME, Rank.WORD)


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
        return NO_FILES
    given = given_files(case, journal)
    named = NamedFiles(case)
    changes = compare(workspace, given, named.paths)
    # An agent can leave thousands of files: those that the case names come first, and those as before last.
    ordered = named.ordered((file for file in changes.files if file.change is not Change.SAME), given or ())
    listed = [ListedFile(n, file, _line(n, file), rank) for n, (rank, file) in enumerate(ordered[:MOST_LISTED], 1)]
    listed = list(_with_heads(listed, workspace))
    if any(point.shown == FILE_LAYER for point in case.scoring_points):
        listed = [_with_given(each, given or {}) for each in listed]
    notes = [*_rest(changes, len(ordered)), *_without_heads(listed)]
    parts: Sequence[PictureFile | str] = ()
    if pictures:
        listed, parts, not_shown = _with_pictures(listed, workspace)
        notes += not_shown
    text = _written(listed, notes, marker)
    cut = len(ordered) > len(listed) or not changes.whole or any(each.cut for each in listed)
    return ShownFiles(text, tuple(parts), tuple(listed), cut=cut)


def _written(listed: Sequence[ListedFile], notes: Sequence[str], marker: str) -> str:
    lines = ["[files]:", indented("\n".join([*(each.line for each in listed), *notes]))]
    for each in listed:
        if each.head is not None:
            text = visible(each.head) + (f" [… the file goes on, {marker} …]" if each.cut else "")
            lines += [f"[beginning of file {each.number}]:", indented(text or "(nothing)")]
    return "\n".join(lines)


def _line(number: int, file: WorkspaceFile) -> str:
    whole = visible(json.dumps(storable(file.path), ensure_ascii=False))
    name = _within(whole, NAME_SHOWN)
    kind = " link, not followed" if file.is_link else ""
    return f"{number}. {file.change.value}{kind}, {counted(file.size, 'byte')}: {name}{'' if name == whole else '…'}"


def _within(text: str, most: int) -> str:
    """Return the beginning of a text that is at most so many bytes."""
    return text.encode()[:most].decode(errors="ignore")


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


def _without_heads(listed: Sequence[ListedFile]) -> Iterator[str]:
    """Yield what is not said of files whose beginnings are not shown because there are too many."""
    if more := sum(each.cut and each.head is None for each in listed):
        yield f"(what they hold is not shown: {counted(more, 'more file')})"


def _with_heads(listed: Sequence[ListedFile], workspace: Path) -> Iterator[ListedFile]:
    left = MOST_HEADS
    for each in listed:
        if each.file.change not in OF_THE_AGENT or each.file.is_link:
            yield each
            continue
        most = HEAD if left > 0 else FURTHER_HEAD if each.rank in _NAMED else 0
        content = _content(workspace, each.file, max(most, 64) + 1)
        text = None if content is None else _text(content[: max(most, 64)])
        if content is None or text is None:
            yield each
        elif not most:
            yield replace(each, cut=bool(content))
        else:
            left -= 1
            shown = _as_sent(text, most)
            yield replace(each, head=shown, cut=shown != text or len(content) > most)


def _as_sent(text: str, most: int) -> str:
    """Return the beginning of a text that is at most so many bytes when it is escaped and indented."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if len(indented(visible(text[:middle])).encode()) <= most:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def _with_given(each: ListedFile, given: Mapping[str, GivenFile]) -> ListedFile:
    if each.head is None or each.file.change is not Change.CHANGED:
        return each
    return replace(each, given=WordsGiven(given.get(each.file.path)))


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


def _with_pictures(
    listed: Sequence[ListedFile], workspace: Path
) -> tuple[list[ListedFile], list[PictureFile | str], list[str]]:
    """Return the files, the pictures among them with their captions, and notes on those that are not shown."""
    numbered: list[ListedFile] = []
    parts: list[PictureFile | str] = []
    notes: list[str] = []
    for each in listed:
        if each.head is not None or each.cut or not _begins_as_picture(workspace, each.file):
            numbered.append(each)
            continue
        picture, why = None, f"more than {counted(MOST_PICTURES, 'picture')}"
        if len(parts) < 2 * MOST_PICTURES:
            picture, why = _picture(workspace, each.file)
        if picture is None:
            notes.append(f"(not shown: the picture in file {each.number}: {why})")
            numbered.append(replace(each, cut=True))
            continue
        caption = f"The picture in file {each.number}{why}:"
        parts += [caption, picture]
        numbered.append(replace(each, caption=caption, cut=bool(why)))
    return numbered, parts, notes


def _begins_as_picture(workspace: Path, file: WorkspaceFile) -> bool:
    return file.change in OF_THE_AGENT and is_picture(_content(workspace, file, 16) or b"")


def _picture(workspace: Path, file: WorkspaceFile) -> tuple[PictureFile | None, str]:
    """Return a picture with what its caption adds, or None with why it is not shown."""
    if file.size > LARGEST_PICTURE:
        return None, "it is too large"
    fitted = fit(_content(workspace, file, LARGEST_PICTURE) or b"")
    if fitted is None:
        return None, "it has too many pixels, or is damaged"
    picture, smaller = fitted
    return picture, ", made smaller" if smaller else ""
