"""Shows an agent's files beside those of its case: which are new, changed or removed, and the lines that differ."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.exam.kept_workspaces import find_workspace
from viva.journal.kept_cases import stored_case
from viva.journal.kept_files import open_folder
from viva.journal.reader import StoredRun
from viva.judge.files.given import GivenFile, given_files
from viva.judge.files.workspace import Change, WorkspaceFile, compare
from viva.records.text import counted, one_line, printable
from viva.regular_files import open_plain
from viva.viewer.answers import NotFound
from viva.viewer.watched import WatchedJournal

MOST_FILES = 1000
"""Maximum number of files in one answer."""
MOST_TEXT = 512 * 1024
"""Maximum size in bytes of a file whose text is shown; of a larger one, the size alone."""
MOST_LINES = 3000
"""Maximum number of lines of one answer."""
MOST_PAIRS = 1_000_000
"""Maximum product of the numbers of lines that are aligned; matching them takes time in proportion to it."""
MOST_OF_A_LINE = 2000
CONTEXT = 3
"""Number of equal lines around those that differ."""
_ORDER = (Change.CHANGED, Change.NEW, Change.DELETED, Change.FOUND, Change.SAME)
_WORDS = {Change.DELETED: "removed", Change.FOUND: "unknown"}


@dataclass(frozen=True, slots=True)
class _Workspace:
    folder: Path | None
    given: Mapping[str, GivenFile] | None
    """None if it is not known what the agent was given."""
    missing: str


def files_view(journal: WatchedJournal, run: str) -> dict[str, Any]:
    """Return the files of a run's workspace, those first that the agent changed, made or removed.

    Args:
        journal: The journal.
        run: The run's id.
    """
    found = _workspace(journal, run)
    if found.folder is None:
        return {"files": [], "more": 0, "known": found.given is not None, "note": found.missing}
    changes = compare(found.folder, found.given)
    ordered = sorted(changes.files, key=lambda file: _ORDER.index(file.change))
    note = "" if changes.whole else "There are more files than are compared."
    return {
        "files": [_file(each, found.given) for each in ordered[:MOST_FILES]],
        "more": max(0, len(ordered) - MOST_FILES),
        "known": found.given is not None,
        "note": note,
    }


def file_view(journal: WatchedJournal, run: str, path: str) -> dict[str, Any]:
    """Return one file: what differs from what the agent was given, or its text if there is nothing to compare with.

    Args:
        journal: The journal.
        run: The run's id.
        path: The path below the workspace.

    Raises:
        NotFound: there is no such file.
    """
    found = _workspace(journal, run)
    given = None if found.given is None else found.given.get(path)
    left = None if found.folder is None else _left(found.folder, path)
    if left is None and given is None:
        raise NotFound(f"there is no file {path!r:.200}")
    before, after = None if given is None else _given_content(given), left
    sizes = [None if given is None else given.size, None if left is None else left[0]]
    shown: dict[str, Any] = {"path": one_line(path, 500), "sizes": sizes, "lines": [], "cut": 0, "note": ""}
    if after is not None and after[1] is None:
        return shown | {"kind": "large"}
    if given is not None and before is None:
        return shown | {"kind": "large"}
    texts = [_text(content) for content in (before, None if after is None else after[1])]
    if any(text is None for text, content in zip(texts, (before, after), strict=True) if content is not None):
        return shown | {"kind": "binary"}
    lines = list(_differences(*texts))
    if texts[0] is not None and texts[0] == texts[1]:
        shown["note"] = "It is the file that the agent was given."
    elif texts[0] is not None and texts[1] is not None and all(sign == " " for sign, *_ in lines):
        shown["note"] = "Only the line break at the end differs."
    return shown | {"kind": "text", "lines": lines[:MOST_LINES], "cut": max(0, len(lines) - MOST_LINES)}


def _workspace(journal: WatchedJournal, run: str) -> _Workspace:
    stored = journal.conversation(run, 0, 0)
    if stored is None:
        return _Workspace(None, None, "")
    found = find_workspace(stored)
    return _Workspace(found.folder, _given(stored), printable(found.missing or "", 1000))


def _given(stored: StoredRun) -> dict[str, GivenFile] | None:
    setting = stored.setting
    if not setting.case_hash:
        return None
    try:
        return given_files(stored_case(stored.folder, setting.case, setting.case_hash), stored.folder)
    except SetupError:
        return None  # the case was deleted from the journal, or damaged


def _file(file: WorkspaceFile, given: Mapping[str, GivenFile] | None) -> dict[str, Any]:
    before = None if given is None or file.path not in given else given[file.path].size
    return {
        "path": file.path if file.path.isprintable() else None,
        "name": one_line(file.path, 300),
        "change": _WORDS.get(file.change, file.change.value),
        "size": counted(file.size, "byte"),
        "before": counted(before, "byte") if before is not None and file.change is Change.CHANGED else "",
        "link": file.is_link,
    }


def _left(folder: Path, path: str) -> tuple[int, bytes | None] | None:
    """Return the size and the content of a file that the agent left; the content is None if it is too large."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return None
    try:
        with open_folder(folder, parts[:-1]) as inside, open_plain(parts[-1], inside) as file:
            size = file.seek(0, 2)
            file.seek(0)
            return size, file.read(MOST_TEXT) if size <= MOST_TEXT else None
    except (OSError, ValueError):
        return None


def _given_content(given: GivenFile) -> bytes | None:
    if given.size > MOST_TEXT:
        return None
    if not isinstance(given.source, Path):
        return given.source
    try:
        with open_plain(given.source) as file:
            return file.read(MOST_TEXT)
    except OSError:
        return None


def _text(content: bytes | None) -> str | None:
    """Return the text of a file; None if it is binary."""
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


_Line = tuple[str, int | None, int | None, str]
"""A sign (`-`, `+`, a blank, or `@` where lines are left out), the numbers of the line before and after, the text."""


def _differences(before: str | None, after: str | None) -> Iterator[_Line]:
    old, new = _lines(before), _lines(after)
    if before is None or after is None or before == after:
        sign = "-" if after is None else "+" if before is None else " "
        for number, line in enumerate(new if after is not None else old, 1):
            yield sign, None if sign == "+" else number, None if sign == "-" else number, _shown(line)
        return
    first, last = _ends(old, new)
    inner = old[first : len(old) - last], new[first : len(new) - last]
    for group in _grouped(_blocks(*inner, first), len(old), len(new)):
        if group[0][1] > 0:
            yield "@", group[0][1] + 1, group[0][3] + 1, ""
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from ((" ", a + k + 1, c + k + 1, _shown(old[a + k])) for k in range(b - a))
            else:
                yield from (("-", place + 1, None, _shown(old[place])) for place in range(a, b))
                yield from (("+", None, place + 1, _shown(new[place])) for place in range(c, d))


def _lines(text: str | None) -> list[str]:
    lines = (text or "").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _shown(line: str) -> str:
    return printable(line, MOST_OF_A_LINE)


def _ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines at the beginning and at the end are the same."""
    least = min(len(old), len(new))
    first = next((place for place in range(least) if old[place] != new[place]), least)
    last = next((place for place in range(least - first) if old[-1 - place] != new[-1 - place]), least - first)
    return first, last


_Block = tuple[str, int, int, int, int]


def _blocks(old: Sequence[str], new: Sequence[str], first: int) -> list[_Block]:
    if len(old) * len(new) > MOST_PAIRS:
        found: list[_Block] = [("replace", 0, len(old), 0, len(new))]
    else:
        found = list(difflib.SequenceMatcher(None, old, new).get_opcodes())
    return [(tag, a + first, b + first, c + first, d + first) for tag, a, b, c, d in found]


def _grouped(blocks: list[_Block], old: int, new: int) -> Iterator[list[_Block]]:
    """Yield the blocks with some equal lines around each, as `difflib` groups them."""
    if not blocks:
        return
    a, c = blocks[0][1], blocks[0][3]
    b, d = blocks[-1][2], blocks[-1][4]
    whole = [("equal", 0, a, 0, c), *blocks, ("equal", b, old, d, new)]
    group: list[_Block] = []
    for place, (tag, i, j, k, m) in enumerate(whole):
        if tag != "equal":
            group.append((tag, i, j, k, m))
            continue
        last = place == len(whole) - 1
        if group and not last and j - i <= 2 * CONTEXT:
            group.append((tag, i, j, k, m))
            continue
        if group:
            group.append((tag, i, min(j, i + CONTEXT), k, min(m, k + CONTEXT)))
            yield group
            group = []
        if not last:
            group = [(tag, max(i, j - CONTEXT), j, max(k, m - CONTEXT), m)]
