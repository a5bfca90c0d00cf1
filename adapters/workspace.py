"""Makes the folder of each run in which the agent works, and copies the case's data files into it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from adapters.errors import WorkspaceError
from cases import Case


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
        raise WorkspaceError(f"cannot make the workspace {path}: {error.strerror}. Choose another --out.") from error
    return path


def copy_data_files(case: Case, workspace: Path) -> None:
    """Copy the case's data files into the workspace as TaskWeaver does: a file by its name, a folder by its path.

    Raises:
        WorkspaceError: a file cannot be copied.
    """
    for name in case.data_files:
        source = case.folder / name
        try:
            if source.is_dir():
                # Links are copied as links, so a case cannot make Viva read files outside of its folder.
                shutil.copytree(source, workspace / name, symlinks=True, dirs_exist_ok=True)
            else:
                workspace.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, workspace / source.name)
        except OSError as error:
            raise WorkspaceError(f"cannot copy the data file {source} to {workspace}: {error}") from error
