"""Keeps scaled pictures between reports, in the user's cache folder, by the picture's content and the size asked for.

Scaling takes a third of a second for a screenshot, and pages are written again and again. A file appears complete under
its name; a file that is damaged is made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from viva.journal.kept_files import open_folder
from viva.journal.scaled_pictures import scale_picture
from viva.regular_files import open_plain

MOST_KEPT = 256 * 1024 * 1024
"""Maximum size of the cache in bytes."""
STEPS_PER_DOUBLING = 4
"""How finely sizes are told apart, so that a picture is found although the page shares its room among more of them."""
_FOLDERS = ("viva", "scaled-pictures")
_FORM = re.compile(r"[0-9a-f]{64}-\d{1,9}-1\.jpeg")
"""The names of kept pictures: content, size, and the version of the method."""
_LEFT = re.compile(r"\.[0-9a-f]{16}\.part")
_LEFT_SECONDS = 3600.0


@dataclass(slots=True)
class ScaledPictures:
    """Scales pictures, and keeps the results if the user has a folder for it."""

    folder: Path | None = None
    """The folder above `viva/`; None for `XDG_CACHE_HOME`, which is `~/.cache` if it is not set."""
    _written: int = 0

    def scale(self, content: bytes, limit: int, digest: str | None = None) -> bytes | None:
        """Return a JPEG of at most `limit` bytes, as `scale_picture` makes it for a size up to a fifth below the limit.

        Args:
            content: A PNG, JPEG, GIF or WebP file, which may be untrusted.
            limit: Maximum size in bytes.
            digest: The SHA-256 of the content in hexadecimal digits, where it is known.
        """
        limit = _step(limit)
        name = f"{digest or hashlib.sha256(content).hexdigest()}-{limit}-1.jpeg"
        kept = self._kept(name, limit)
        if kept is not None:
            return kept
        made = scale_picture(content, limit)
        if made is not None:
            self._keep(name, made)
        return made

    def trim(self) -> None:
        """Remove what was not used for longest if something was added and the cache is too large."""
        if not self._written:
            return
        self._written = 0
        with contextlib.suppress(OSError), self._open() as inside:
            found = []
            for name in os.listdir(inside):
                with contextlib.suppress(OSError):  # another process removes it as well
                    facts = os.stat(name, dir_fd=inside, follow_symlinks=False)
                    found.append((facts.st_mtime, facts.st_size, name))
            newest = max((time for time, _, _ in found), default=0.0)
            left = sum(size for _, size, _ in found)
            for time, size, name in sorted(found):
                abandoned = _LEFT.fullmatch(name) and newest - time > _LEFT_SECONDS
                if abandoned or (left > MOST_KEPT and _FORM.fullmatch(name)):
                    with contextlib.suppress(OSError):
                        os.unlink(name, dir_fd=inside)
                    left -= size

    def _open(self, *, make: bool = False) -> contextlib.AbstractContextManager[int]:
        given = os.environ.get("XDG_CACHE_HOME", "")
        home = Path(given) if os.path.isabs(given) else Path("~/.cache").expanduser()
        return open_folder(self.folder or home, _FOLDERS, make=make)

    def _kept(self, name: str, limit: int) -> bytes | None:
        with contextlib.suppress(OSError, RuntimeError), self._open() as inside, open_plain(name, inside) as file:
            content = file.read(limit + 1)
            if len(content) <= limit and content.startswith(b"\xff\xd8\xff") and content.endswith(b"\xff\xd9"):
                os.utime(file.fileno())
                return content
        return None

    def _keep(self, name: str, content: bytes) -> None:
        part = f".{secrets.token_hex(8)}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        # Without a folder, or space in it, the next report scales the picture again.
        with contextlib.suppress(OSError, RuntimeError), self._open(make=True) as inside:
            try:
                with open(os.open(part, flags, 0o600, dir_fd=inside), "wb") as file:
                    file.write(content)
                os.replace(part, name, src_dir_fd=inside, dst_dir_fd=inside)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(part, dir_fd=inside)
                raise
            self._written += 1


def _step(limit: int) -> int:
    """Return the largest size of the scale that is not above a limit."""
    step = 1000.0
    while step * 2 ** (1 / STEPS_PER_DOUBLING) <= limit:
        step *= 2 ** (1 / STEPS_PER_DOUBLING)
    return min(limit, round(step))
