"""Lists the files that an agent left in its workspace, with names and sizes, as the journal has kept them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from viva.exam.kept_workspaces import find_workspace
from viva.journal.reader import StoredRun
from viva.records.text import counted, one_line

MOST_FILES = 200
"""Maximum number of files that are listed of one run."""
MOST_LOOKED_AT = 5_000
MOST_DEPTH = 30


def left_files(stored: StoredRun) -> list[tuple[str, str]]:
    """Return the path and size of each file, in the order of the paths; the last row says how many are left out.

    Links are neither followed nor listed. The names are the agent's, and are escaped.
    """
    folder = find_workspace(stored).folder
    if folder is None:
        return []
    found = sorted(_files(folder))
    shown = [(one_line(path, 300), counted(size, "byte")) for path, size in found[:MOST_FILES]]
    more = len(found) - MOST_FILES
    return [*shown, (f"… {counted(more, 'more file')}", "")] if more > 0 else shown


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    looked_at = 0
    waiting = [("", 0)]
    while waiting:
        inner, depth = waiting.pop()
        try:
            with os.scandir(folder / inner) as entries:
                for entry in entries:
                    looked_at += 1
                    if looked_at > MOST_LOOKED_AT:
                        return
                    path = f"{inner}{entry.name}"
                    if entry.is_dir(follow_symlinks=False) and depth < MOST_DEPTH:
                        waiting.append((f"{path}/", depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        yield path, entry.stat(follow_symlinks=False).st_size
        except OSError:  # it cannot be read, or somebody is removing it
            continue
