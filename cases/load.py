"""Reads a case folder into a Case, and reports everything that is wrong with it at once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from cases.case import Case
from cases.errors import CaseError, Mistake
from cases.fields import Reader
from cases.yaml_lines import read_yaml


def load_case(path: Path) -> Case:
    """Load a case.

    Args:
        path: The case's folder, or the YAML file in it.

    Raises:
        CaseError: with every mistake that was found, each with its line.
    """
    file = _case_file(path)
    data, lines, raw = read_yaml(file)
    if not isinstance(data, dict):
        raise CaseError(file, [Mistake("is not a mapping of fields; see docs/write-a-case.md", 1)])
    reader = Reader(data, lines, file.parent)
    fields = reader.read()
    if reader.mistakes:
        mistakes: list[Mistake] = sorted(reader.mistakes, key=_line)
        raise CaseError(file, mistakes)
    digest = hash_case(raw, file.parent, fields["data_files"])
    return Case(name=file.parent.resolve().name, file=file, hash=digest, **fields)


def hash_case(raw: bytes, folder: Path, data_files: tuple[str, ...]) -> str:
    """SHA-256 in hex over the YAML file and the data files, in the order of their names."""
    total = hashlib.sha256(raw)
    for name in sorted(data_files):
        for file in sorted(data_tree(folder / name)):
            total.update(b"\0" + file.relative_to(folder).as_posix().encode() + b"\0")
            with file.open("rb") as stream:
                total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def data_tree(path: Path) -> Iterator[Path]:
    """The regular files at or below `path`; links inside a folder are not followed."""
    if path.is_file():
        yield path
        return
    for parent, _, names in os.walk(path):
        for name in names:
            file = Path(parent) / name
            if file.is_file() and not file.is_symlink():
                yield file


def _case_file(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        raise CaseError(path, ["there is no such case folder or file"])
    found = sorted(file for file in path.iterdir() if file.suffix in (".yaml", ".yml") and file.is_file())
    if not found:
        raise CaseError(path, ["holds no YAML file; a case is a folder with exactly one"])
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise CaseError(path, [f"holds {len(found)} YAML files ({names}); a case is a folder with exactly one"])
    return found[0]


def _line(mistake: Mistake) -> int:
    return mistake.line or 0
