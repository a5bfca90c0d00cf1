"""Reads what is appended to journals under view, and wakes those who wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from viva.journal.errors import JournalError
from viva.viewer.places import ReplacedJournal
from viva.viewer.watched import WatchedJournal

SECONDS = 0.04
"""Pause between two looks at the size of a journal that changed lately."""
QUIET_SECONDS = 1.0
"""The same for a journal that has not changed for `LATELY`."""
LATELY = 30.0


class Follower:
    """Follows journals on a thread of its own. Waiting costs two system calls for each look at a journal."""

    def __init__(self, journals: Sequence[WatchedJournal]) -> None:
        self.journals = journals
        self._changed = threading.Condition()
        self._count = 0
        self._stopped = threading.Event()
        self._sizes: list[tuple[int, int]] = [(-1, -1)] * len(journals)
        self._looked = [0.0] * len(journals)
        self._moved = [0.0] * len(journals)
        self._thread = threading.Thread(target=self._run, name="viewer-follower", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Stop following, and wake those who wait."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()

    def wait(self, count: int, seconds: float) -> int:
        """Wait until something changed since a count; return the present count, which may be the same.

        Args:
            count: What an earlier call returned; 0 at first.
            seconds: Maximum time to wait.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._count != count or self._stopped.is_set(), seconds)
            return self._count

    @property
    def stopped(self) -> bool:
        """Return whether `stop` was called."""
        return self._stopped.is_set()

    def look(self, place: int) -> bool:
        """Look at one journal; return whether it changed. Of a large one, a part is read."""
        journal = self.journals[place]
        try:
            found = journal.places.found()
        except JournalError as error:
            self._sizes[place] = (-1, -1)  # it is read again if it comes back
            return journal.lose(str(error))
        size = (found.st_size, found.st_ino)
        if (size == self._sizes[place] and not journal.is_behind) or journal.problem:
            return False
        self._sizes[place] = size
        try:
            changed = journal.follow(whole=False)
            return journal.lose("") or changed
        except ReplacedJournal as error:
            return journal.lose(str(error))
        except JournalError as error:
            journal.give_up(str(error))
        except Exception as error:  # a journal that breaks Viva must not end the following of the others
            journal.give_up(f"Viva itself failed: {type(error).__name__}: {error}")
        return True

    def _run(self) -> None:
        while not self._stopped.wait(0 if any(each.is_behind for each in self.journals) else SECONDS):
            now, any_changed = time.monotonic(), False
            for place in range(len(self.journals)):
                lately = now - self._moved[place] < LATELY
                if not lately and now - self._looked[place] < QUIET_SECONDS:
                    continue
                self._looked[place] = now
                if self.look(place):
                    self._moved[place], any_changed = now, True
            if any_changed:
                with self._changed:
                    self._count += 1
                    self._changed.notify_all()
