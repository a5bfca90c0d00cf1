"""Makes the folder of each run in which the agent works, and copies the case's data files into it."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from viva.adapters.machine import check_machine
from viva.errors import AgentError, WorkspaceError

if TYPE_CHECKING:
    from viva.cases import Case  # an agent in a process of its own imports this module, and needs no cases

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def clear_path(path: Path) -> Path:
    """Make room for a run's workspace: a folder from an earlier attempt is moved aside.

    Raises:
        WorkspaceError: the folder cannot be moved.
    """
    if os.path.lexists(path):
        number = 1
        while (aside := path.with_name(f"{path.name}.{number}")).exists():
            number += 1
        try:
            path.rename(aside)
        except FileNotFoundError:
            return path  # removed meanwhile
        except OSError as error:
            raise WorkspaceError(f"cannot move {path} aside: {error.strerror}. Choose another --out.") from error
    return path


def make_folder(path: Path) -> Path:
    """Make a run's workspace if it does not exist yet, and return its path.

    Raises:
        WorkspaceError: the folder cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"cannot create the workspace {path}: {error.strerror}. Choose another --out.") from error
    return path


def copy_data_files(case: Case, workspace: Path) -> None:
    """Copy the case's data files into the workspace as TaskWeaver does: a file by its name, a folder by its path.

    The agent may already have written here, so no link in the workspace, or in its place, is followed.

    Raises:
        WorkspaceError: a file of the case cannot be read, or the workspace cannot be made.
        AgentError: a file cannot be written because of what the agent left there.
        MachineError: the disk is full.
    """
    for name in case.data_files:
        source = case.folder / name
        try:
            if not os.path.lexists(workspace):
                make_folder(workspace)
            with _opened(workspace) as folder:
                if source.is_dir():
                    _copy_below(source, Path(name).parts, folder)
                else:
                    _copy_file(source, folder)
        except _CaseFileError as error:
            words = f"cannot copy the data file {source} to {workspace}: {error.__cause__}"
            raise WorkspaceError(words) from error
        except OSError as error:
            check_machine(error, workspace)
            words = f"its workspace {workspace} cannot hold the data file {name}: {error.strerror}"
            raise AgentError(words) from error


class _CaseFileError(Exception):
    """A file of the case cannot be read."""


@contextlib.contextmanager
def _read_from_case() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _CaseFileError from error


def _copy_below(source: Path, parts: Sequence[str], folder: int) -> None:
    if parts:
        with _opened(parts[0], folder) as deeper:
            _copy_below(source, parts[1:], deeper)
        return
    with _read_from_case(), os.scandir(source) as found:
        entries = list(found)
    for entry in entries:
        if entry.is_symlink():
            # Links are copied as links, so a case cannot make Viva read files outside of its folder.
            _clear(entry.name, folder)
            os.symlink(os.readlink(entry.path), entry.name, dir_fd=folder)
        elif entry.is_dir():
            _copy_below(Path(entry.path), [entry.name], folder)
        elif entry.is_file():
            _copy_file(Path(entry.path), folder)


def _copy_file(source: Path, folder: int) -> None:
    """Copy a file with its mode and times. An existing file of its name is replaced, not overwritten in place."""
    with _read_from_case():
        file = source.open("rb")
    with file:
        _clear(source.name, folder)
        found = os.fstat(file.fileno())
        with open(os.open(source.name, _NEW_FILE, 0o600, dir_fd=folder), "wb") as made:
            shutil.copyfileobj(file, made)
            made.flush()
            os.fchmod(made.fileno(), stat.S_IMODE(found.st_mode))
            os.utime(made.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))


def _clear(name: str, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


@contextlib.contextmanager
def _opened(path: str | Path, inside: int | None = None) -> Iterator[int]:
    """Open a folder that is not a link; below another one, make it if need be."""
    if inside is not None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o755, dir_fd=inside)
    descriptor = os.open(path, _FOLDER, dir_fd=inside)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
