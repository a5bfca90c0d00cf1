"""A file that sinks append lines to, shared with other processes; a pipe or a device will do as well."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from viva.errors import SetupError
from viva.journal.append_file import AppendFile
from viva.streams import descriptor_named


class LineFile:
    """Appends lines. After a line that a full disk or a killed process tore, the next one begins on a fresh line."""

    def __init__(self, path: str, sink: str) -> None:
        """Open the file, and create it and its folder if need be.

        Args:
            path: Where it lies; links are followed.
            sink: The sink's name in messages.

        Raises:
            SetupError: it cannot be written.
        """
        self._file: AppendFile | None = None
        self._descriptor = -1
        try:
            if (number := descriptor_named(path)) is not None:
                self.path, self._descriptor = Path(path), os.dup(number)
                return
            self.path = Path(path).resolve()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and not stat.S_ISREG(self.path.stat().st_mode):
                self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            else:
                self._file = AppendFile(self.path)
        except OSError as error:
            raise SetupError(f"the sink {sink} cannot write {path}: {error.strerror}.") from error

    def append(self, lines: bytes) -> None:
        """Append whole lines with one write.

        Raises:
            OSError: they were not all written; a part may stand there.
        """
        if self._file is not None:
            self._file.append(lines)
            return
        written = os.write(self._descriptor, lines)
        if written != len(lines):
            raise OSError(f"{written} of {len(lines)} bytes were written: is the disk full?")

    def first_line(self) -> str:
        """Read the first line of a plain file, without its end; empty if there is none.

        Raises:
            OSError: it cannot be read.
        """
        if self._file is None:
            return ""
        with open(self.path, encoding="utf-8", errors="replace", newline="") as file:
            return file.readline(1_000_000).rstrip("\r\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        else:
            os.close(self._descriptor)
