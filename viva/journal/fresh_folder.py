"""`FreshFolder`: the folder of a new journal, which can be removed again as long as it holds nothing worth keeping."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection
from pathlib import Path

from viva.journal.kept_files import UNREAD
from viva.journal.writer import FILE, Damage, scan
from viva.records.transcript import StopReason

SAID = ("round", "transcript", "insight", "run")
"""The kinds of events with what was said or judged."""
JUDGED = ("insight", "run")
"""The kinds of events with what was judged."""
MADE = frozenset(
    {
        *(FILE, ".lock", ".pause", ".requeue", "request.json", UNREAD, "last-words.txt"),
        *("batches", "cases", "files", "images", "texts", "workspaces"),
    },
)
"""What Viva itself puts into a journal's folder, which may also be a folder of the user's own (`--out build`)."""


def holds_any(folder: Path, kinds: Collection[str] = SAID) -> bool:
    """Return whether a journal has an event of one of these kinds, or damaged lines that may be one.

    Conversations that were stopped before their first round do not count.
    """
    damage = Damage()
    return any(
        event.kind in kinds and not (event.kind == "transcript" and event.data.get("stop") == StopReason.CANCELLED)
        for event in scan(folder, damage)
    ) or bool(damage.words())


class FreshFolder:
    """Knows what a folder held before a journal was begun in it."""

    def __init__(self, folder: Path) -> None:
        """Args:
        folder: The folder, which need not exist yet.
        """
        self._folder = folder.absolute()
        self._made = [each for each in (self._folder, *self._folder.parents) if not each.exists()]
        self._before = frozenset(each.name for each in self._folder.iterdir()) if self._folder.is_dir() else frozenset()

    def holds(self, kinds: Collection[str] = SAID) -> bool:
        """Return whether the journal has an event of one of these kinds."""
        return (self._folder / FILE).is_file() and holds_any(self._folder, kinds)

    def remove(self) -> None:
        """Remove the journal and the folders that were made for it.

        What the folder held before is kept, and so is what others put there in the meantime.
        """
        with contextlib.suppress(OSError):
            for each in self._folder.iterdir():
                if each.name in self._before or each.name not in MADE:
                    continue
                if each.is_dir() and not each.is_symlink():
                    shutil.rmtree(each, ignore_errors=True)
                else:
                    each.unlink()
        for folder in self._made:
            with contextlib.suppress(OSError):  # somebody else uses it by now
                folder.rmdir()
