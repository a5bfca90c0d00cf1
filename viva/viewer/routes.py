"""Which question of the page gets which answer, and what the page may give: labels and comments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from viva.errors import SetupError
from viva.journal.errors import JournalError
from viva.viewer import answers
from viva.viewer.comments import Comment, add_comment, comment_view, read_comments
from viva.viewer.found import MOST_DEPTH
from viva.viewer.label_desk import LabelDesk
from viva.viewer.overview import Overviews
from viva.viewer.side_by_side import versus_view
from viva.viewer.views.asked import asked_view
from viva.viewer.views.filter_help import filter_help
from viva.viewer.views.grid import grid_view
from viva.viewer.views.histories import Histories, absent_words, runs_of_trend
from viva.viewer.views.searching import search_view
from viva.viewer.views.timings import MOST_ROUNDS, timings_view
from viva.viewer.views.workspace import file_view, files_view
from viva.viewer.watched import WatchedJournal

Query = Mapping[str, str]
_OF_SEVERAL = frozenset({"grid", "history", "trend"})
"""Questions about several journals, of which some may be missing."""
AT_START = 40
"""Number of runs in the page itself, more than most screens show; it asks for others when they are scrolled to."""


@dataclass(slots=True)
class Routes:
    """Answers for all journals of one viewer."""

    journals: Sequence[WatchedJournal]
    rater: str = ""
    """Who reads: the name in labels and comments."""
    desks: Sequence[LabelDesk] = ()
    """One for each journal; empty if nothing is labelled."""
    _overviews: Overviews = field(default_factory=Overviews)
    _histories: Histories = field(default_factory=Histories)

    def __post_init__(self) -> None:
        """Give journals in folders of one name as much of their paths as tells them apart."""
        for parts in range(2, MOST_DEPTH + 2):
            taken = Counter(name for _, name in {(each.folder, each.name) for each in self.journals})
            for each in self.journals:
                if taken[each.name] > 1:
                    each.name = "/".join(each.folder.parts[-parts:])

    def journal(self, number: int) -> WatchedJournal:
        """Return a journal by its position.

        Raises:
            NotFound: there is no such journal.
        """
        if number >= len(self.journals):
            raise answers.NotFound(f"there is no journal {number}")
        return self.journals[number]

    def states(self) -> list[dict[str, Any]]:
        """Return the state of every journal."""
        return [answers.journal_view(*each, labels=bool(self.desks)) for each in enumerate(self.journals)]

    def changes(self, seen: Sequence[int]) -> list[dict[str, Any]]:
        """Return the state of each journal that changed since the versions that were seen."""
        pairs = enumerate(zip(self.journals, seen, strict=True))
        changed = [(number, journal) for number, (journal, version) in pairs if journal.version != version]
        return [answers.journal_view(*each, labels=bool(self.desks)) for each in changed]

    def start(self) -> dict[str, object]:
        """Return what the page asks first, by the ends of addresses, with as many runs as a screen shows."""
        found: dict[str, object] = {"journals?": self.states()}
        if self.journals:
            with suppress(SetupError, JournalError):  # the page asks again, and shows why
                found["0/runs?first=0&most=120"] = answers.runs_view(self.journals[0], "", "", 0, AT_START)
        return found

    def answer(self, number: int, name: str, query: Query) -> object:
        """Answer a question about a journal.

        Args:
            number: The journal's position.
            name: The last part of the address.
            query: The values in the address.

        Raises:
            NotFound: there is nothing of that name.
            SetupError: the question is wrong, or a file cannot be read.
            ValueError: a value in the address is none.
        """
        if name in _OF_SEVERAL:
            return self._of_several(number, name, query)
        journal, run = self._present(number), query.get("id", "")
        first = _whole(query, "first", 0)
        match name:
            case "overview":
                return self._overviews.of(journal)
            case "runs":
                most = _whole(query, "most", answers.MOST_ROWS)
                return answers.runs_view(journal, query.get("where", ""), query.get("order", ""), first, most)
            case "run":
                return answers.run_view(journal, run, first, _whole(query, "most", answers.MOST_ROUNDS))
            case "position":
                return answers.position_of(journal, run, _whole(query, "number", 1))
            case "find":
                return answers.found_rounds(journal, run, query.get("words", ""))
            case "versus":
                other = self._present(_whole(query, "other", 0))
                return versus_view(journal, other, only_changed=query.get("all") != "1", first=first)
            case "comments":
                return [comment_view(each) for each in read_comments(journal.folder, run)]
            case "label":
                return self._next_point(number, query)
            case "search":
                return search_view(journal, query.get("where", ""), query.get("words", ""), first)
            case "fields":
                return filter_help()
        return self._of_run(journal, name, run, query)

    def _of_run(self, journal: WatchedJournal, name: str, run: str, query: Query) -> object:
        """Answer a question about what a run has besides its conversation."""
        if name in ("asked", "files", "file", "timings") and run not in journal.runs:
            raise answers.NotFound(f"there is no run {run!r:.200}")
        match name:
            case "asked":
                return asked_view(journal, run)
            case "files":
                return files_view(journal, run)
            case "file":
                return file_view(journal, run, query.get("path", ""))
            case "timings":
                return timings_view(journal, run, _whole(query, "first", 0), _whole(query, "most", MOST_ROUNDS))
        raise answers.NotFound(f"there is no {name!r}")

    def _of_several(self, number: int, name: str, query: Query) -> dict[str, Any]:
        """Answer a question about the journals that `with` names besides the journal itself; about all without it.

        Journals that are missing are left out; `absent` says which and why.
        """
        if name != "grid" and "with" not in query:
            numbers = set(range(len(self.journals)))
        else:
            others = query.get("with", "").split(",")
            numbers = {number, *(_whole({"with": each}, "with", number) for each in others)}
        journals, absent, last = {}, [], None
        for each in sorted(numbers):
            try:
                journals[each] = self._present(each)
            except JournalError as error:
                absent.append(absent_words(self.journals[each], error))
                last = error
        if last is not None and not journals:
            raise last
        if name == "grid":
            by = [each for each in query.get("by", "agent").split(",") if each]
            found = grid_view(journals, query.get("where", ""), by)
        elif name == "history":
            found = self._histories.of(journals)
        else:
            found = runs_of_trend(journals, query.get("case", ""), query.get("agent", ""))
        return found | {"absent": [*absent, *found.get("absent", ())]}

    def _present(self, number: int) -> WatchedJournal:
        """Return a journal by its position.

        Raises:
            NotFound: there is no such journal.
            JournalError: it was removed or replaced.
        """
        journal = self.journal(number)
        journal.require()
        return journal

    def take(self, number: int, name: str, given: Mapping[str, Any]) -> object:
        """Take what the page gives.

        Raises:
            NotFound: there is nothing of that name.
            SetupError: it cannot be written.
            ValueError: a value is missing or of another type.
        """
        journal = self._present(number)
        if name == "comment":
            run, text, place = _text(given, "run"), _text(given, "text"), given.get("round")
            if run not in journal.runs or type(place) not in (int, type(None)):
                raise ValueError("a comment requires a run of this journal, and the number of a round or none")
            return comment_view(add_comment(journal.folder, Comment(run, text, place, self.rater)))
        if name == "label":
            if not self.desks:
                raise SetupError("this viewer has no label file; start it with --labels FILE")
            label, seconds = given.get("label"), given.get("seconds")
            if (
                not isinstance(label, str | None)
                or isinstance(seconds, bool)
                or not isinstance(seconds, int | float | None)
            ):
                raise ValueError("a label is a text or null, and its seconds are a number")
            note = _text(given, "note") if "note" in given else ""
            return self.desks[number].give(_text(given, "run"), _text(given, "criterion"), label, seconds, note)
        raise answers.NotFound(f"there is no {name!r}")

    def _next_point(self, number: int, query: Query) -> object:
        if not self.desks:
            return {"point": None, "left": 0, "total": 0}
        after = (query["run"], query["criterion"]) if "run" in query and "criterion" in query else None
        return self.desks[number].state(after)


def _whole(query: Query, name: str, default: int) -> int:
    text = query.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError(f"{name} is not a whole number")
    return int(text)


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is missing, or is not a text")
    return value
