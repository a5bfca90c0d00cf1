"""Comments of readers on runs and rounds, in a file beside the journal, which itself is only written by Viva's runs."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.full_disk import error_words
from viva.journal.append_file import AppendFile
from viva.records.bounded_json import UnfitJson, read
from viva.records.text import one_line, printable, storable
from viva.regular_files import MIB, open_plain

FILE = "comments.jsonl"
MOST = 16 * MIB
MOST_TEXT = 20_000
"""Maximum number of characters of one comment."""


@dataclass(frozen=True, slots=True)
class Comment:
    """What a reader says about a run, or about one of its rounds."""

    run: str
    text: str
    round: int | None = None
    by: str = ""
    at: str = ""
    """When it was written, in UTC: `2026-11-23T12:00:00Z`."""


def read_comments(folder: Path, run: str | None = None) -> list[Comment]:
    """Return the comments beside a journal in the order in which they were written; lines of other forms are left out.

    Args:
        folder: The journal's folder.
        run: The id of the only run; None for all.
    """
    try:
        with open_plain(folder / FILE) as file:
            content = file.read(MOST)
    except OSError:
        return []
    found = (_comment(line) for line in content.split(b"\n") if line.strip())
    return [each for each in found if each is not None and run in (None, each.run)]


def add_comment(folder: Path, comment: Comment) -> Comment:
    """Append a comment, and return it as it was written.

    Raises:
        SetupError: it cannot be written, or it is empty or too long.
    """
    text = storable(comment.text).strip()
    if not text:
        raise SetupError("the comment is empty")
    if len(text) > MOST_TEXT:
        raise SetupError(f"the comment is longer than {MOST_TEXT:,} characters, the maximum")
    written = Comment(comment.run, text, comment.round, storable(comment.by), _now())
    plain = {"v": 1, **{name: value for name, value in asdict(written).items() if value not in ("", None)}}
    try:
        file = AppendFile(folder / FILE)
        try:
            file.append(f"{json.dumps(plain, ensure_ascii=False)}\n".encode())
        finally:
            file.close()
    except OSError as error:
        raise SetupError(f"{folder / FILE} cannot be written: {error_words(error, [folder])}.") from error
    return written


def comment_view(comment: Comment) -> dict[str, Any]:
    """Return a comment as the page shows it."""
    return {
        "text": printable(comment.text, MOST_TEXT),
        "round": comment.round,
        "by": one_line(comment.by, 60),
        "at": one_line(comment.at, 40),
    }


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _comment(line: bytes) -> Comment | None:
    try:
        plain = read(line)
    except UnfitJson:
        return None
    if not isinstance(plain, dict) or not isinstance(plain.get("run"), str) or not isinstance(plain.get("text"), str):
        return None
    round_, by, at = plain.get("round"), plain.get("by"), plain.get("at")
    return Comment(
        plain["run"],
        plain["text"][:MOST_TEXT],
        round_ if type(round_) is int else None,
        by if isinstance(by, str) else "",
        at if isinstance(at, str) else "",
    )
