"""The values of a named suite for programs that stay in their folder: pytest, and functions of `viva`."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viva.cli.project.used_file import ask_for_trust, nearest_project
from viva.errors import SetupError
from viva.project.finding import NAME
from viva.project.loaded_code import loaded_code
from viva.project.moved_paths import moved
from viva.project.reading import Project
from viva.suites.request import FromFile


@dataclass(frozen=True, slots=True)
class NamedValues:
    """What is taken from a suite of the nearest `viva.yaml`."""

    values: dict[str, Any]
    """By the name of the parameter of `viva suite`; paths are relative to the working folder."""
    keys: dict[str, str]
    """The key of each value."""
    origin: FromFile


def named_values(name: str, how: str, *, trusted: bool, given: Collection[str] = ()) -> NamedValues:
    """Return the values of a suite, without those that the caller replaces.

    Args:
        name: The suite's name.
        how: How the caller trusts the file for one call, for messages.
        trusted: Whether the caller does.
        given: Parameters of `viva suite` that the caller gives other values.

    Raises:
        CaseError: the file is not sound.
        SetupError: there is no such file or suite, or it is not trusted.
    """
    project = nearest_project(trusted=trusted, how=how)
    if project is None:
        raise SetupError(f"there is no {NAME} in {os.getcwd()}, or above it, that could have the suite {name!r:.80}.")
    section = project.suite(name)
    taken = {parameter: value for parameter, value in section.values.items() if parameter not in given}
    _check_trust(project, taken, {**taken, **dict.fromkeys(given, True)}, how, trusted=trusted)
    here = Path(os.path.realpath(os.getcwd()))
    keys = {parameter: section.keys[parameter].name for parameter in taken}
    file = project.file
    origin = FromFile(suite=name, file=str(file.path), digest=file.digest, keys=tuple(sorted(keys.values())))
    return NamedValues(moved(taken, file.folder, here), keys, origin)


def _check_trust(project: Project, taken: dict[str, Any], all_: dict[str, Any], how: str, *, trusted: bool) -> None:
    if not trusted and any(loaded_code(taken, project.file.folder, all_)):
        ask_for_trust(project, how)
