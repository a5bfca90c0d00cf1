"""Stores cases in a journal, each as it was when its exam was run, under its hash and with its data files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from viva.cases import Case
from viva.cases.data_files import data_tree
from viva.errors import SetupError
from viva.journal.kept_files import case_name, is_kept_name, name_for, read_kept, read_sound, write_once
from viva.journal.writer import JournalWriter
from viva.records.codec import decode, encode, loads

NOWHERE = Path("/dev/null/data-files-of-a-stored-case")
"""The data folder of a stored case until `unpack_data_files` sets one. No folder of this name can exist."""
FILES = "kept_files"
"""Key of a stored case: for each data file, its `path` in the case's folder, the `name` of the stored file, and whether
it is executable."""
FOLDERS = "kept_folders"
"""Key of a stored case: the data files that are folders."""
MOST_BYTES = 64 * 1024 * 1024
"""Maximum total size of a case's data files in a journal."""
MOST_COLUMNS = 100
"""Maximum number of columns of a row that are kept."""
MOST_OF_A_COLUMN = 2_000
"""Maximum number of characters of a value in a row that are kept."""
MOST_FILES = 2_000
"""Maximum number of a case's data files in a journal."""


def stored_case(folder: Path, name: str, digest: str) -> Case:
    """Return the case of a stored run as it was when the run was made; it may have changed on disk since.

    Args:
        folder: The run's journal.
        name: The name of the case. Cases with the same content share one file, so the file does not decide it.
        digest: Its hash, from the run's setting.

    Raises:
        SetupError: the journal does not hold the case.
    """
    try:
        file = case_name(digest)
    except ValueError:
        raise SetupError(f"a run in {folder} has an invalid case hash: {digest[:80]!r}") from None
    case = decode_case(_kept_case(folder, file, name), folder / file, name)
    if case.hash != digest:
        raise SetupError(f"{folder / file} contains a different case than its name says.")
    return replace(case, name=name or case.name, data_folder=NOWHERE)


def _kept_case(folder: Path, file: str, name: str) -> dict[str, Any]:
    content = read_kept(folder, file)
    if content is None:
        raise SetupError(f"the case {name!r} cannot be read: there is no regular file {folder / file}")
    try:
        data = loads(content)
    except (ValueError, RecursionError) as error:
        raise SetupError(f"the case {name!r} cannot be read from {folder / file}: {error}") from error
    if not isinstance(data, dict):
        raise SetupError(f"the case {name!r} cannot be read from {folder / file}: it is not a JSON object")
    return data


def decode_case(data: dict[str, Any], file: Path, name: str) -> Case:
    """Build a case from the content of a journal's file.

    Raises:
        SetupError: the content is not a case.
    """
    try:
        return decode(Case, data)
    except (ValueError, RecursionError) as error:
        raise SetupError(f"the case {name!r} cannot be read from {file}: {error}") from error


def keep_case(case: Case, journal: JournalWriter, stored_in: Path | None = None) -> None:
    """Store a case in a journal under its hash, with its data files unless they are too large.

    Args:
        case: A case that was loaded from a file or read from another journal.
        journal: The journal that is written.
        stored_in: The journal from which a stored case was read; its data files can only come from there.

    Raises:
        JournalError: the journal cannot be written.
    """
    if journal.holds(name := case_name(case.hash)):
        return
    plain = loads(encode(replace(case, data_folder=None)))
    plain["columns"] = _bounded(case.columns)
    if case.data_folder != NOWHERE:
        plain.update(_keep_data_files(case, journal))
    elif stored_in is not None:
        kept = _kept_case(stored_in, name, case.name)
        for _, file, _ in _listed(kept):
            if (content := read_sound(stored_in, file)) is not None:
                journal.keep(file, content)
        plain.update({key: kept[key] for key in (FILES, FOLDERS) if key in kept})
    journal.keep(name, json.dumps(plain).encode())


def _bounded(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a row as plain data, of which long ones are cut: what the case uses is in its texts."""
    found: dict[str, Any] = {}
    for name, value in islice(columns.items(), MOST_COLUMNS):
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        whole = len(text) <= MOST_OF_A_COLUMN
        # A date of YAML becomes the text that it is in JSON.
        kept = text if isinstance(value, str) else json.loads(text) if whole else text
        found[name[:MOST_OF_A_COLUMN]] = kept if whole else f"{text[:MOST_OF_A_COLUMN]}…"
    return found


def _keep_data_files(case: Case, journal: JournalWriter) -> dict[str, Any]:
    """Store the data files of a case on this machine, or none of them if they are too many or too large."""
    found = [file for name in case.own_files for file in islice(data_tree(case.folder / name), MOST_FILES + 1)]
    if not case.own_files or len(found) > MOST_FILES or sum(map(os.path.getsize, found)) > MOST_BYTES:
        return {}
    files = []
    for file in found:
        content = file.read_bytes()
        journal.keep(name := name_for("files", content, "bin"), content)
        path = file.relative_to(case.folder).as_posix()
        files.append({"path": path, "name": name, "executable": os.access(file, os.X_OK)})
    return {FILES: files, FOLDERS: _folders(case)}


def _folders(case: Case) -> list[str]:
    return [os.path.normpath(name) for name in case.own_files if (case.folder / name).is_dir()]


def unpack_data_files(case: Case, stored_in: Path, parent: Path) -> Case:
    """Write the data files of a stored case into a folder, and return the case with that folder for a new exam.

    Args:
        case: A case from `stored_case`.
        stored_in: The journal that it was read from.
        parent: An empty folder, in which a folder is made for this case.

    Raises:
        SetupError: the journal does not hold all data files, or they cannot be written.
    """
    folder = parent / case.hash
    kept = _kept_case(stored_in, case_name(case.hash), case.name)
    try:
        _unpack(kept, stored_in, folder)
    except OSError as error:
        raise SetupError(f"the data files of the case {case.name!r} cannot be unpacked: {error}") from error
    wanted = [os.path.normpath(name) for name in case.own_files]
    missing = [name for name in wanted if not _stays_inside(name) or not (folder / name).exists()]
    missing += [path for path, _, _ in _listed(kept) if not (folder / path).exists()]
    if missing:
        raise SetupError(
            f"the data files of the case {case.name!r} are not in {stored_in} ({', '.join(dict.fromkeys(missing))}): "
            "name the folder that contains the case: --cases FOLDER"
        )
    return replace(case, data_folder=folder)


def kept_data_files(case: Case, stored_in: Path) -> dict[str, bytes]:
    """Return the data files of a stored case, by their path in an agent's workspace; empty unless all are there.

    Args:
        case: A case from `stored_case`.
        stored_in: The folder of a journal that holds it.

    Raises:
        SetupError: the journal does not hold the case.
    """
    kept = _kept_case(stored_in, case_name(case.hash), case.name)
    told = kept.get(FOLDERS)
    folders = [f"{name}/" for name in told if isinstance(name, str)] if isinstance(told, list) else []
    found: dict[str, bytes] = {}
    given = tuple(os.path.normpath(name) for name in case.data_files)
    for path, file, _ in _listed(kept):
        if not any(path == name or path.startswith(f"{name}/") for name in given):
            continue  # of an MCP server of the case
        content = read_sound(stored_in, file)
        if content is None:
            return {}
        below = any(path.startswith(folder) for folder in folders)
        found[path if below else path.rpartition("/")[2]] = content
    return found


def _unpack(kept: dict[str, Any], stored_in: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for path, file, executable in _listed(kept):
        content = read_sound(stored_in, file)
        if content is not None:
            write_once(folder, path, content)
            os.chmod(folder / path, 0o755 if executable else 0o644)
    folders = kept.get(FOLDERS)
    for path in folders if isinstance(folders, list) else ():
        if isinstance(path, str) and _stays_inside(path):
            (folder / path).mkdir(parents=True, exist_ok=True)


def _listed(kept: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield the path and the stored name of each data file, and whether it is executable; skip invalid entries."""
    files = kept.get(FILES)
    for each in files if isinstance(files, list) else ():
        path, name = (each.get("path"), each.get("name")) if isinstance(each, dict) else (None, None)
        if isinstance(path, str) and isinstance(name, str) and _stays_inside(path) and is_kept_name(name):
            yield path, name, each.get("executable") is True


def _stays_inside(path: str) -> bool:
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/"))
