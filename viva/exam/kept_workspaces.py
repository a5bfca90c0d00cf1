"""Copies agents' files into the journal if they are in another folder, and finds the files of stored runs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from viva.adapters.workspace import clear_path
from viva.journal.kept_files import open_folder
from viva.journal.reader import StoredRun
from viva.records.run_record import Setting
from viva.records.text import slug

MIB = 1024 * 1024
MOST_BYTES = 256 * MIB
"""Maximum total size of one run's files that are copied into a journal; a sandbox accepts as much."""
MOST_ENTRIES = 20_000
MOST_DEPTH = 200
"""Levels of folders, as many as a sandbox accepts."""
_DEEP = 32
_deep = threading.Lock()
"""Held while deep folders are copied: each level takes two descriptors, and one tree must not take them all."""
_RUN = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,199}")
"""The run ids that Viva makes; those in an untrusted journal can be anything."""


@dataclass(frozen=True, slots=True)
class FoundWorkspace:
    """Where the files of a stored run are, or why they are missing."""

    folder: Path | None = None
    """None if the agent left no files, or if they must not be read."""
    missing: str | None = None
    """Why files that the agent left are missing, and what to do, in words."""


def workspace_name(run: str) -> str:
    """Return the folder of a run's files, relative to the journal."""
    return f"workspaces/{run if _RUN.fullmatch(run) else slug(run, 100)}"


def find_workspace(stored: StoredRun, named: Sequence[str] = ()) -> FoundWorkspace:
    """Return the agent's files in the run's own journal, or in a folder that the user named.

    Args:
        stored: The run.
        named: Absolute folders outside of the journal. No other path out of the journal is followed.
    """
    return find_workspace_of(stored.setting, stored.folder, named)


def find_workspace_of(setting: Setting, journal: Path, named: Sequence[str] = ()) -> FoundWorkspace:
    """Do what `find_workspace` does for a run with this setting in the journal in this folder."""
    path = setting.workspace
    if path is None:
        return FoundWorkspace(missing=setting.workspace_left_out or None)
    parts = path.split("/")
    if parts[0] == "workspaces" and len(parts) > 1 and not {"", ".", ".."} & set(parts):
        # A link counts as no folder: the agent may have left it there.
        return FoundWorkspace(journal / path if _is_folder(journal, parts) else None)
    folder = (journal / path).resolve()
    if any(folder.is_relative_to(Path(each).resolve()) for each in named):
        return FoundWorkspace(folder if folder.is_dir() else None)
    return FoundWorkspace(
        missing=f"the agent's files are outside of the journal, in {folder}; if you trust it, add --workspaces {folder}"
    )


def keep_workspace(source: Path, journal: Path, name: str, *, link: bool = False) -> str | None:
    """Copy an agent's files into a journal. Links are copied as links; pipes, sockets, devices and what
    cannot be read are left out.

    Args:
        source: The folder with the files. If it is a link, nothing is copied: an agent may have put it there.
        journal: The journal's folder.
        name: The target folder, relative to the journal (`workspace_name`). An existing folder is moved aside.
        link: Share the files with the source (hard links) where the file system allows it.

    Returns:
        Why nothing was copied, in words; None if everything was copied.

    Raises:
        SetupError: an existing folder cannot be moved.
    """
    target = clear_path(journal / name)
    copier = None
    try:
        copier = _Copier(journal, link=link)
        with (
            open_folder(journal, name.split("/"), make=True) as into,
            open_folder(source.parent, [source.name]) as out_of,
        ):
            copier.folder(out_of, into, 0)
    except (OSError, _TooMuch) as error:
        shutil.rmtree(target, ignore_errors=True)
        words = error.strerror if isinstance(error, OSError) else str(error)
        return f"the agent's files in {source} could not be copied into the journal: {words}"
    finally:
        if copier is not None and copier.is_deep:
            _deep.release()
    return None


class _TooMuch(Exception):
    """The files exceed what a journal accepts."""


class _Copier:
    def __init__(self, journal: Path, *, link: bool) -> None:
        self._left, self._entries, self._link = MOST_BYTES, MOST_ENTRIES, link
        found = os.stat(journal)
        self.is_deep = False
        # An agent may work in the folder that contains the journal, which would then be copied into itself.
        self._journal = found.st_dev, found.st_ino

    def folder(self, source: int, target: int, depth: int) -> None:
        """Copy the contents of one open folder into another.

        Args:
            source: File descriptor of the folder to copy.
            target: File descriptor of the folder to copy to.
            depth: Number of folders around it.
        """
        if depth > MOST_DEPTH:
            raise _TooMuch(f"folders are nested more than {MOST_DEPTH} levels deep")
        if depth == _DEEP and not self.is_deep:
            self.is_deep = _deep.acquire()
        with os.scandir(source) as entries:
            for entry in entries:
                self._entries -= 1
                if self._entries < 0:
                    raise _TooMuch(f"there are more than {MOST_ENTRIES:,} files")
                # What cannot be read does not exist for a check either: a mode excludes no run from the averages.
                with contextlib.suppress(PermissionError):
                    found = os.stat(entry.name, dir_fd=source, follow_symlinks=False)
                    self._entry(entry.name, found, source, target, depth)

    def _entry(self, name: str, found: os.stat_result, source: int, target: int, depth: int) -> None:
        if stat.S_ISDIR(found.st_mode):
            if (found.st_dev, found.st_ino) == self._journal:
                return
            os.mkdir(name, 0o755, dir_fd=target)
            with _opened(name, source) as inner, _opened(name, target) as copy:
                self.folder(inner, copy, depth + 1)
        elif stat.S_ISLNK(found.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        elif stat.S_ISREG(found.st_mode):
            self._file(name, found, source, target)

    def _file(self, name: str, found: os.stat_result, source: int, target: int) -> None:
        if found.st_size > self._left:
            raise _TooMuch(f"there are more than {MOST_BYTES // MIB} MiB")
        if self._link:
            with contextlib.suppress(OSError):  # another file system, or one without hard links
                os.link(name, name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
                self._left -= found.st_size
                return
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(name, flags, dir_fd=source), "rb") as file:
            mode = 0o755 if found.st_mode & 0o100 else 0o644
            made = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=target)
            with open(made, "wb") as copy:
                while block := file.read(min(MIB, self._left + 1)):
                    self._left -= len(block)
                    if self._left < 0:
                        raise _TooMuch(f"there are more than {MOST_BYTES // MIB} MiB")
                    copy.write(block)
            os.utime(name, ns=(found.st_atime_ns, found.st_mtime_ns), dir_fd=target, follow_symlinks=False)


@contextlib.contextmanager
def _opened(name: str, inside: int) -> Iterator[int]:
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=inside)
    try:
        yield fd
    finally:
        os.close(fd)


def _is_folder(folder: Path, parts: Sequence[str]) -> bool:
    try:
        if not os.access(os.path.join(folder, *parts), os.F_OK):
            return False  # most agents leave no files, which one system call shows
        with open_folder(folder, parts):
            return True
    except (OSError, ValueError):
        return False
