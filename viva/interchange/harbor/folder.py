"""The files of a task, each of which is accounted for."""

from __future__ import annotations

import os
from collections.abc import Iterator

from viva.interchange.files import SourceFile
from viva.interchange.source import Source

MOST_FILES = 2_000
BYTES = "bytes that are not text"


class TaskFolder:
    """A folder with a task."""

    def __init__(self, source: SourceFile, name: str) -> None:
        self.source = source
        self.name = name
        self.seen: set[str] = set()
        """The files that a reader has accounted for."""
        self._files: dict[str, Source] = {}

    def place(self, name: str) -> str:
        """Return where a file is below the source."""
        return os.path.normpath(os.path.join(self.name, name))

    def has(self, name: str) -> bool:
        """Return whether the task has a file."""
        return os.path.isfile(self.source.path / self.place(name))

    def below(self, folder: str) -> list[str]:
        """Return the files of a folder of the task, by their paths in the task."""
        start = os.path.join(self.source.path, self.place(folder))
        found = []
        for parent, folders, names in os.walk(start):
            folders.sort()
            found += [
                os.path.relpath(os.path.join(parent, name), self.source.path / self.name) for name in sorted(names)
            ]
            if len(found) > MOST_FILES:
                break
        return found[:MOST_FILES]

    def raw(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            SetupError: it is a link that leaves the source, or cannot be read.
        """
        return self.source.bytes_of(self.place(name))

    def file(self, name: str) -> Source:
        """Return a file as a value of the source: its text, or that it is none.

        Raises:
            SetupError: it cannot be read.
        """
        self.seen.add(name)
        if name not in self._files:
            try:
                text = self.raw(name).decode()
            except UnicodeDecodeError:
                text = BYTES
            self._files[name] = Source.root(text, self.source.ledger, self.place(name))
        return self._files[name]

    def left(self) -> Iterator[str]:
        """Yield the files that no reader has accounted for."""
        yield from (name for name in self.below("") if name not in self.seen)
