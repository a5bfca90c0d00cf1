"""CaseNames of cases: made from titles, safe as file names everywhere, and unique within an import."""

from __future__ import annotations

import unicodedata
from collections import Counter

MOST = 60
"""Maximum number of characters of a name, before a number that makes it unique."""
MOST_BYTES = 180
RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))})
"""CaseNames that Windows keeps for devices."""


class CaseNames:
    """Gives each title a name of its own, whatever the case of its letters."""

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()
        self._taken: set[str] = set()

    def of(self, title: str) -> str:
        """Return the name of a case with this title."""
        name = safe_name(title)
        while True:
            self._given[name.casefold()] += 1
            count = self._given[name.casefold()]
            found = name if count == 1 else f"{name}-{count}"
            if found.casefold() not in self._taken:
                self._taken.add(found.casefold())
                return found


def safe_name(title: str) -> str:
    """Return a title as a file name: letters, digits, `_` and `-`, which begins with neither a dot nor a dash."""
    plain = unicodedata.normalize("NFKC", title[: MOST * 8]).lower()
    words = "".join(character if character.isalnum() or character in "_." else " " for character in plain)
    name = "-".join(words.split()).strip("-._")[:MOST]
    name = name.encode("utf-8", "ignore")[:MOST_BYTES].decode("utf-8", "ignore").rstrip("-._")
    if not name or name.partition(".")[0] in RESERVED:
        return f"case-{name}" if name else "case"
    return name
