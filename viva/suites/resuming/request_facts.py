"""The few facts about a command that a journal under watch shows. Its request may name every case of a large suite and
take a second to read, so it is read again only if its file changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from viva.errors import SetupError
from viva.regular_files import Stamp, stamp_of
from viva.suites.request import Request
from viva.suites.resuming.stored_request import FILE, OLDER_FILES, load_request


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """Holds what is shown of a request."""

    command: str
    planned: int
    """The number of runs when the command started; 0 in older journals."""
    part: str = ""
    """That only a part of a suite is run; empty for the whole."""

    @classmethod
    def of(cls, request: Request) -> RequestFacts:
        """Return those of a request."""
        return cls(request.command, request.planned, str(getattr(request, "part_words", "")))


class RequestReader:
    """Reads the facts of one journal's request whenever its file has changed."""

    def __init__(self, folder: Path) -> None:
        """Args:
        folder: The journal's folder.
        """
        self._folder = folder
        self._stamps: tuple[Stamp, ...] | None = None
        self._facts: RequestFacts | None = None
        self._error: SetupError | None = None

    def read(self) -> RequestFacts | None:
        """Return the facts; None if the folder holds no request.

        Raises:
            SetupError: the request cannot be read.
        """
        stamps = tuple(stamp_of(self._folder / name) for name in (FILE, *OLDER_FILES))
        if stamps != self._stamps:
            self._facts = self._error = None
            try:
                request = load_request(self._folder)
                self._facts = None if request is None else RequestFacts.of(request)
            except SetupError as error:
                self._error = error
            self._stamps = stamps  # those from before it was read: what was replaced meanwhile is read again
        if self._error is not None:
            raise self._error
        return self._facts
