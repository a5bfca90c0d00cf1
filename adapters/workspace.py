"""The folder an agent works in: made fresh for each run, with the case's data files in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from adapters.errors import SetupError
from cases import Case


def new_folder(path: Path) -> Path:
    """Make the run's own workspace; what an earlier attempt left there is moved aside, not mixed in.

    Raises:
        SetupError: the folder cannot be made.
    """
    try:
        try:
            path.mkdir()
        except FileNotFoundError:
            path.mkdir(parents=True)
        except FileExistsError:
            number = 1
            while (aside := path.with_name(f"{path.name}.{number}")).exists():
                number += 1
            path.rename(aside)
            path.mkdir()
    except OSError as error:
        raise SetupError(f"cannot make the workspace {path}: {error.strerror}. Choose another --out.") from error
    return path


def copy_data_files(case: Case, workspace: Path) -> None:
    """Put the case's data files where the agent finds them, as TaskWeaver does: a file by its name, a folder by path.

    Raises:
        SetupError: a file cannot be copied.
    """
    for name in case.data_files:
        source = case.folder / name
        try:
            if source.is_dir():
                # Links are copied as links: a case cannot make Viva read what lies outside its folder.
                shutil.copytree(source, workspace / name, symlinks=True, dirs_exist_ok=True)
            else:
                workspace.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, workspace / source.name)
        except OSError as error:
            raise SetupError(f"cannot copy the data file {source} to {workspace}: {error}") from error
