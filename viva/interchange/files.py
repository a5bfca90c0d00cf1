"""Reads the files of a source: within limits, without running anything, and never outside the source's folder."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.interchange.ledger import Ledger
from viva.interchange.parsing import parse, whole_text
from viva.interchange.source import Source
from viva.regular_files import MIB, in_words, open_given, open_plain

MOST_FILES = 10_000
SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".csv")
MOST_BYTES = 64 * MIB
"""Maximum size of one file of a source."""


class SourceFile:
    """What the user named, a file or a folder, and the files beside it that it refers to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ledger = Ledger()
        self.folder = path if path.is_dir() else path.parent
        self._trees: dict[str, Source] = {}
        self._core_yaml = False

    @property
    def suffix(self) -> str:
        """Return the ending of the file's name in small letters: `.yaml`."""
        return self.path.suffix.lower()

    def raw(self) -> bytes:
        """Return the bytes of the file that the user named.

        Raises:
            SetupError: it cannot be read, or is too large.
        """
        try:
            with open_given(self.path) as file:
                content = file.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise SetupError(f"{self.path} cannot be read: {why}.") from error
        return _within_limits(content, str(self.path))

    def as_core_yaml(self) -> None:
        """Read YAML as tools in JavaScript do (`yes` and `12:30` are texts) from now on, and begin the account anew."""
        self._core_yaml = True
        self._trees.clear()
        self.ledger = Ledger()

    def tree(self) -> Source:
        """Return the parsed file that the user named: YAML, JSON, JSON Lines (a list) or CSV (a list of rows).

        Raises:
            SetupError: it cannot be parsed; the message says where and why.
        """
        if "" not in self._trees:
            self._trees[""] = Source.root(self._parsed(self.raw(), self.suffix, str(self.path)), self.ledger)
        return self._trees[""]

    def tree_of(self, name: str) -> Source:
        """Return another file of the source's folder, parsed.

        Raises:
            SetupError: it lies outside, or cannot be read or parsed.
        """
        if name not in self._trees:
            content = self._parsed(self.bytes_of(name), os.path.splitext(name)[1].lower(), name)
            self._trees[name] = Source.root(content, self.ledger, name)
        return self._trees[name]

    def tree_of_text(self, name: str) -> Source:
        """Return the text of another file of the source's folder as a tree with one leaf.

        Raises:
            SetupError: it lies outside, cannot be read, or is not UTF-8.
        """
        if name not in self._trees:
            self._trees[name] = Source.root(whole_text(self.text_of(name)), self.ledger, name)
        return self._trees[name]

    def names_matching(self, pattern: str) -> list[str]:
        """Return the names of the files in the source's folder that match a pattern such as `tests/*.yaml`, sorted.

        The name of a folder stands for all files of data in it. What lies outside the folder is left out.
        """
        if os.path.isabs(pattern) or ".." in Path(pattern).parts or "\0" in pattern:
            return []
        found: list[Path] = []
        if (self.folder / pattern).is_dir():
            found = list(islice((self.folder / pattern).iterdir(), MOST_FILES))
            found = [each for each in found if each.suffix.lower() in SUFFIXES]
        elif any(mark in pattern for mark in "*?["):
            found = list(islice(self.folder.glob(pattern), MOST_FILES))
        elif (self.folder / pattern).is_file():
            found = [self.folder / pattern]
        return sorted(each.relative_to(self.folder).as_posix() for each in found if each.is_file())

    def text_of(self, name: str) -> str:
        """Return the text of another file of the source's folder.

        Raises:
            SetupError: it lies outside, cannot be read, or is not UTF-8.
        """
        try:
            return self.bytes_of(name).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SetupError(f"{name} is not UTF-8 text.") from error

    def bytes_of(self, name: str) -> bytes:
        """Return the content of another file of the source's folder.

        Raises:
            SetupError: it lies outside the folder, is not a regular file, cannot be read, or is too large.
        """
        home = os.path.realpath(self.folder)
        try:
            real = os.path.realpath(os.path.join(home, name))
        except ValueError as error:
            raise SetupError(f"{name!r} is not a possible file name.") from error
        if os.path.isabs(name) or not real.startswith(home.rstrip(os.sep) + os.sep):
            raise SetupError(f"{name!r} lies outside the folder of the source, {self.folder}, and was not read.")
        try:
            with open_plain(real) as file:
                return _within_limits(file.read(MOST_BYTES + 1), name)
        except OSError as error:
            raise SetupError(f"{name!r} cannot be read: {error.strerror}.") from error

    def _parsed(self, content: bytes, suffix: str, name: str) -> Any:
        return parse(content, suffix, name, core_yaml=self._core_yaml)


def _within_limits(content: bytes, name: str) -> bytes:
    if len(content) > MOST_BYTES:
        raise SetupError(f"{name} is larger than {in_words(MOST_BYTES)}, the maximum for an import; split it.")
    return content
