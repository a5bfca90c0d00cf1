"""Reads the sections of a `viva.yaml`, and reports everything that is wrong with it at once, as with a case."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from viva.adapters.connectors.file_secrets import literal_secrets
from viva.cases.errors import CaseError, Mistake
from viva.cases.plain_fields import PlainReader, nearest
from viva.cases.text import describe
from viva.cases.yaml.lines import LineNumbers, parse_yaml
from viva.errors import SetupError
from viva.project.finding import NAME, FoundFile
from viva.project.keys import Key, Keys, Takes

SECTIONS = ("suites", "defaults", "run")
MOST_MISTAKES = 50
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
_VARIABLE = re.compile(r"(?!(?:cmd|cmd\+plain|acp):).*\$\{[A-Za-z_]\w*\}", re.DOTALL)
"""A reference to an environment variable, except in a command, whose program may understand it."""


@dataclass(frozen=True, slots=True)
class Section:
    """The values of a suite, or of `run`."""

    values: Mapping[str, Any]
    """As the command receives them, by the name of its parameter."""
    keys: Mapping[str, Key]
    """The key of each value, by the name of the parameter."""


@dataclass(frozen=True, slots=True)
class Project:
    """A `viva.yaml` that was read and checked."""

    file: FoundFile
    suites: Mapping[str, Section] = field(default_factory=dict)
    run: Section | None = None
    """What `viva run` takes unless an option says otherwise."""

    def suite(self, name: str) -> Section:
        """Return a suite.

        Raises:
            SetupError: there is none of this name; the message offers the nearest one.
        """
        if name not in self.suites:
            raise SetupError(f"{self.file.path} has no suite {name!r:.80}; {nearest(name, self.suites)}")
        return self.suites[name]

    def sections(self) -> Sequence[Section]:
        """Return all sections."""
        return (*self.suites.values(), *(() if self.run is None else (self.run,)))


def is_name(text: str) -> bool:
    """Return whether text may be the name of a suite: letters, digits, underscores and hyphens."""
    return _NAME.fullmatch(text) is not None


def read_project(found: FoundFile, suite_keys: Keys, run_keys: Keys) -> Project:
    """Read a file that was found.

    Args:
        found: The file.
        suite_keys: The keys of a suite, and of `defaults`.
        run_keys: The keys of `run`.

    Raises:
        CaseError: it is not sound. The error holds every mistake, with its line.
    """
    data, lines = parse_yaml(found.raw, found.path, NAME)
    if not isinstance(data, dict):
        raise CaseError(found.path, [Mistake("is not a mapping; see `viva docs viva-yaml`", 1)])
    reader = _SectionReader(data, lines)
    reader.check_keys(data, SECTIONS)
    defaults = reader.section(suite_keys, "defaults")
    suites = {}
    for name in reader.mapping("suites") or {}:
        if not isinstance(name, str) or not is_name(name):
            words = "must consist of letters, digits, _ and -; text such as yes or 1 requires quotes"
            reader.add_mistake(f"the name of a suite {words}, not {describe(name)}", "suites", str(name))
            continue
        own = reader.section(suite_keys, "suites", name)
        suites[name] = _merged(defaults, own)
        if "paths" not in suites[name].values:
            reader.add_mistake(f"the suite {name!r} names no cases: `cases: FOLDER`", "suites", name)
    run = reader.section(run_keys, "run")
    if reader.mistakes:
        found_mistakes = sorted(reader.mistakes, key=lambda mistake: mistake.line or 0)
        raise CaseError(found.path, found_mistakes[:MOST_MISTAKES])
    return Project(found, suites, run if run.values else None)


def _merged(defaults: Section, own: Section) -> Section:
    """Return a suite with the defaults that it does not replace; an empty value cancels a default."""
    keys = {**defaults.keys, **own.keys}
    values = {name: value for name, value in {**defaults.values, **own.values}.items() if value is not None}
    return Section(values, {name: keys[name] for name in values})


class _SectionReader(PlainReader):
    """Reads the sections of one file."""

    def __init__(self, data: dict[Any, Any], lines: LineNumbers) -> None:
        super().__init__(data, lines)
        for key, line in lines.duplicates:
            self.mistakes.append(Mistake(f"{key!r} is a duplicate key; YAML would silently drop the first value", line))
        for secret in literal_secrets(data, lines):
            words = "holds what looks like a key or a password; keep it in an environment variable"
            self.mistakes.append(Mistake(f"{words}, which an agent file can name (key_env)", secret.line))

    def section(self, known: Keys, *path: str) -> Section:
        """Read a mapping of keys; a missing one has no values."""
        mapping: Any = self.data
        for name in path:
            mapping = mapping.get(name)
        if mapping is None:
            return Section({}, {})
        if not isinstance(mapping, dict):
            self.add_mistake(f"{path[-1]} must be a mapping, not {describe(mapping)}", *path)
            return Section({}, {})
        self.check_keys(mapping, known, *path)
        values, keys = {}, {}
        for name, value in mapping.items():
            if name in known:
                key = known[name]
                values[key.parameter] = None if value is None else self._value(key, value, *path, name)
                keys[key.parameter] = key
        return Section(values, keys)

    def _value(self, key: Key, value: object, *path: str) -> Any:
        if not key.several:
            return self._one(key, value, *path)
        if not isinstance(value, list):
            return tuple(self._entries(key, value, *path))
        if not value:
            self.add_mistake(f"{key.name} is an empty list; leave it out", *path)
        return tuple(entry for index, item in enumerate(value) for entry in self._entries(key, item, *path, index))

    def _entries(self, key: Key, value: object, *path: str | int) -> list[Any]:
        """Return what one entry of a list stands for: a mapping stands for `NAME=VALUE`, as often as it has names."""
        if key.takes is not Takes.ENTRY or not isinstance(value, dict):
            return [self._one(key, value, *path)]
        found = []
        for name, each in value.items():
            if not isinstance(name, str) or not name or "=" in name:
                self.add_mistake(f"{key.name} holds the name {describe(name)}; each must be text", *path, str(name))
            elif isinstance(each, dict | list):
                self.add_mistake(f"{key.name} must be text or a number, not {describe(each)}", *path, name)
            else:
                found.append(f"{name}={self._one(key, each, *path, name)}")
        return found

    def _one(self, key: Key, value: object, *path: str | int) -> Any:
        if not _fits(key.takes, value):
            quotes = "; put it in quotes" if key.takes is Takes.TEXT and isinstance(value, int | float) else ""
            words = f"{key.takes.value}, or a list of these" if key.several else key.takes.value
            self.add_mistake(f"{key.name} must be {words}, not {describe(value)}{quotes}", *path)
            return None
        if isinstance(value, str) and (fault := _fault(value)) is not None:
            self.add_mistake(f"{key.name} {fault}", *path)
            return None
        try:
            return key.convert(str(value) if key.takes is Takes.ENTRY else value)
        except ValueError as error:
            self.add_mistake(f"{key.name}: {error}", *path)
            return None


def _fits(takes: Takes, value: object) -> bool:
    if isinstance(value, bool):
        return takes is Takes.FLAG
    match takes:
        case Takes.FLAG:
            return False
        case Takes.WHOLE:
            return isinstance(value, int)
        case Takes.NUMBER:
            return isinstance(value, int | float)
        case Takes.SECONDS | Takes.ENTRY:
            return isinstance(value, int | float | str)
        case Takes.TEXT:
            return isinstance(value, str)


def _fault(text: str) -> str | None:
    """Return what is wrong with any text."""
    if not text.strip():
        return "is empty"
    if "\0" in text or len(os.fsencode(text)) > 4096:
        return "holds a null character, or more than 4,096 bytes"
    if _VARIABLE.match(text):
        return "names an environment variable, which is not replaced here; only agent files do that"
    return None
