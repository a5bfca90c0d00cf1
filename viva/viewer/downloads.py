"""Opens the files that an agent left, for downloads. Their names are the agent's; no link is followed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from viva.exam.kept_workspaces import find_workspace
from viva.journal.kept_files import open_folder
from viva.regular_files import open_plain
from viva.viewer.watched import WatchedJournal


@contextmanager
def open_left_file(journal: WatchedJournal, run: str, path: str) -> Iterator[tuple[BinaryIO, int]]:
    """Open a file in a run's workspace; give it with its size in bytes.

    Args:
        journal: The journal.
        run: The run's id.
        path: The path below the workspace.

    Raises:
        FileNotFoundError: there is no such file, or it is not a regular one.
    """
    stored = journal.conversation(run, 0, 0)
    folder = None if stored is None else find_workspace(stored).folder
    parts = path.split("/")
    if folder is None or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise FileNotFoundError(f"the agent left no file {path!r:.200}")
    try:
        with open_folder(folder, parts[:-1]) as inside, open_plain(parts[-1], inside) as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        if isinstance(error, BrokenPipeError | ConnectionResetError | TimeoutError):
            raise
        raise FileNotFoundError(f"the agent left no file {path!r:.200}") from error
