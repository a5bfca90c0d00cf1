"""The folder of files beside a page: the parts of a large page, and pictures in full size.

`report.html` has `report_files/`, as browsers name it when they save a page. Parts have the name of their writing, so
that a page that is being written, or whose writer was killed, never shares a part with the page that is there.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from viva.journal.images import kind_of
from viva.journal.kept_files import is_kept_name, name_for, open_folder, write_once
from viva.processes import process_is_alive
from viva.regular_files import open_plain

_PART = re.compile(r"(part-(\d{1,9})-[0-9a-f]{8})-\d{1,6}\.js")
_WRITING = re.compile(rb'<meta name="viva-parts" content="(part-\d{1,9}-[0-9a-f]{8})">')
_HEAD_BYTES = 4096
"""Bytes at the beginning of a page that hold the name of its writing."""
_in_progress: set[str] = set()
"""The writings of this process whose pages may not be in place yet."""


@dataclass(slots=True)
class PageFiles:
    """Writes the files of one page."""

    page: Path
    """The path of the page, which need not exist yet."""
    writing: str = ""
    """What the names of this writing's parts begin with; empty as long as there are none."""
    _inside: dict[Path, bool] = field(default_factory=dict)
    """Whether the page lies in a journal's folder, by journal."""

    @property
    def folder(self) -> str:
        """The name of the folder, beside the page."""
        return f"{self.page.stem}_files"

    def write_part(self, number: int, content: bytes) -> str:
        """Write a part, and return its address relative to the page.

        Raises:
            OSError: it cannot be written, or a link is where the folder should be.
        """
        if not self.writing:
            self.writing = f"part-{os.getpid()}-{secrets.token_hex(4)}"
            _in_progress.add(self.writing)
        name = f"{self.writing}-{number}.js"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            open_folder(self.page.parent, [self.folder], make=True) as inside,
            open(os.open(name, flags, 0o644, dir_fd=inside), "wb") as file,
        ):
            file.write(content)
        return quote(f"{self.folder}/{name}")

    def picture(self, journal: Path, name: str, content: bytes) -> str | None:
        """Return the address of a picture in full size, relative to the page; None if it is no raster image.

        A page in a journal's folder refers to the journal's own file. For any other page the picture is copied beside
        it, once, so that the page and its folder can be moved and uploaded without the journal.

        Raises:
            OSError: the copy cannot be written.
        """
        kind = kind_of(content)
        if kind is None:
            return None
        if is_kept_name(name) and self._lies_in(journal):
            return quote(os.path.relpath(os.path.realpath(journal / name), os.path.realpath(self.page.parent)))
        _, _, file = (name if is_kept_name(name) else name_for("images", content, kind)).partition("/")
        copy = f"{self.folder}/{file}"
        write_once(self.page.parent, copy, content)
        return quote(copy)

    def _lies_in(self, journal: Path) -> bool:
        if journal not in self._inside:
            here, there = (Path(os.path.realpath(each)) for each in (self.page.parent, journal))
            self._inside[journal] = here.is_relative_to(there)
        return self._inside[journal]


def sweep(page: Path) -> None:
    """Remove the parts that earlier writings left and that the page does not use; those of writers at work stay."""
    try:
        with open_plain(page) as file:
            found = _WRITING.search(file.read(_HEAD_BYTES))
    except OSError:
        found = None
    used = found[1].decode() if found else ""
    _in_progress.discard(used)
    files = PageFiles(page)
    with contextlib.suppress(OSError), open_folder(page.parent, [files.folder]) as inside:
        for name in os.listdir(inside):
            if (part := _PART.fullmatch(name)) and part[1] != used and not _is_at_work(part[1], int(part[2])):
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=inside)
    with contextlib.suppress(OSError):
        (page.parent / files.folder).rmdir()  # only if it is empty


def _is_at_work(writing: str, process: int) -> bool:
    return writing in _in_progress if process == os.getpid() else process_is_alive(process)
