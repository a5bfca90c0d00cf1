"""What tests do to journals by hand: change what a line says, lose lines, have them written by another version."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from viva.journal.line_checksum import seal
from viva.journal.writer import FILE


def resealed(content: bytes) -> bytes:
    """The same lines, each with the checksum of what it says now."""
    return b"".join(seal(unsealed(line)[:-1]) for line in content.split(b"\n") if line)


def unsealed(line: bytes) -> bytes:
    """The line as older versions wrote it: without a checksum."""
    head, mark, _ = line.rpartition(b',"crc":"')
    return head + b"}" if mark else line


def edit(folder: Path, change: Callable[[bytes], bytes | None], *, seals: bool = True) -> None:
    """Change a journal line by line; None drops the line. A line that changed gets its right checksum, or keeps its."""
    lines = []
    for line in (folder / FILE).read_bytes().splitlines(keepends=True):
        new = change(line)
        if new is not None:
            lines.append(resealed(new) if seals and new != line else new)
    (folder / FILE).write_bytes(b"".join(lines))
