"""Writes the viewer's page and everything that its server would answer about some journals into a folder."""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations
from pathlib import Path
from typing import Any

from viva.filters.fields import FilterContext
from viva.filters.stored_cases import StoredCases
from viva.records.text import one_line
from viva.viewer.answers import row_view
from viva.viewer.downloads import open_left_file
from viva.viewer.export.folder import export_folder
from viva.viewer.export.parts import PartWriter, Place, columns
from viva.viewer.export.values import field_table, values_of
from viva.viewer.page_files import SCRIPT, START, STYLES, html, joined
from viva.viewer.pictures import picture
from viva.viewer.routes import Routes
from viva.viewer.views.grid import FACETS
from viva.viewer.views.histories import runs_of_trends
from viva.viewer.watched import ListedRun, WatchedJournal
from viva.viewer.wire import to_json

CHUNK = 50
"""Number of rounds that are stored together, as the page asks for them."""
ROWS = 2_000
"""Number of runs whose rows are stored together."""
MOST_FILE = 20_000_000
"""Maximum size in bytes of a file of an agent that is exported."""
MOST_FILES = 200_000_000
"""Maximum size in bytes of all of them."""
MOST_COMPARED = 8
"""Maximum number of journals that are compared in all pairs; of more, each is compared with the two next to it."""
_OF_JOURNALS = ("overview", "fields")
"""Questions about a journal that take no values."""
MOST_TIMED = 20_000
"""Maximum number of rounds of an export that has the times of rounds, which take as long as the rest together."""
TIMED = 100
"""Number of rounds of which the page asks for the times at once."""
_API = "stored.js"
"""The module that answers the page's questions from the parts."""


@dataclass(slots=True)
class Export:
    """What an export holds, and what it had to leave out."""

    runs: int = 0
    rounds: int = 0
    left_out: int = 0
    """Number of agents' files that were too large."""


def write_export(journals: Sequence[WatchedJournal], folder: Path) -> Export:
    """Write journals, which were read before, as static files.

    Args:
        journals: The journals.
        folder: The folder of the export; an earlier export there is replaced.

    Raises:
        SetupError: the folder holds something else, or cannot be written.
        JournalError: a journal cannot be read.
    """
    with export_folder(folder, [each.folder for each in journals]) as target:
        for name in ("page", "data"):
            (target / name).mkdir()
        writer = _ExportWriter(Routes(journals), target)
        writer.write()
        _write_page(target)
    return writer.export


@dataclass(slots=True)
class _ExportWriter:
    routes: Routes
    folder: Path
    export: Export = field(default_factory=Export)
    _room: int = MOST_FILES
    _is_timed: bool = False
    _answers: dict[str, Place] = field(default_factory=dict)

    def write(self) -> None:
        facts = PartWriter(self.folder / "data", "facts")
        counts = [sum(map(each.places.runs.rounds_at, range(each.listed))) for each in self.routes.journals]
        self._is_timed = sum(counts) <= MOST_TIMED
        states = []
        for number, state in enumerate(self.routes.states()):
            states.append(self._state(state) | {"rows": self._journal(number)})
            for name in _OF_JOURNALS:
                self._answers[f"{number}/{name}?"] = facts.add(self.routes.answer(number, name, {}))
        self._compared(facts)
        self._history(facts)
        journals = facts.add(states)
        answers = facts.add(self._answers)
        fields = facts.add(field_table())
        facts.close()
        start = {"journals": journals, "answers": answers, "fields": fields, "chunk": CHUNK}
        (self.folder / "data" / "start.js").write_text(f"vivaStart({to_json(start)});\n")

    def _state(self, state: dict[str, Any]) -> dict[str, Any]:
        made = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        words = f"in progress when it was exported, {made}" if state["live"] else f"exported {made}"
        return state | {"live": False, "labels": False, "note": f"{words}; read-only"}

    def _journal(self, number: int) -> list[dict[str, Any]]:
        """Write the runs of a journal; return where the rows and the filters' values of each `ROWS` of them are."""
        journal = self.routes.journal(number)
        talk, lists = (PartWriter(self.folder / "data", f"{name}{number}") for name in ("talk", "list"))
        whole = PartWriter(self.folder / "data", f"verdicts{number}")
        context = FilterContext(journal.threshold, StoredCases(journal.folder))
        listed = iter(journal.runs.values())
        found = []
        while some := list(islice(listed, ROWS)):
            rows, plain, judged = [], [], []
            for each in some:
                self.export.runs += 1
                record = each.whole_record
                facets = [one_line(facet(record), 200) for facet in FACETS.values()]
                rows.append(row_view(each) | {"at": self._run(number, each, talk), "facets": facets})
                plain.append(values_of(record, context, verdicts=False))
                judged.append(values_of(record, context, verdicts=True))
            found.append(
                {
                    "rows": lists.add(columns(rows)),
                    "facts": lists.add(columns(plain)),
                    "verdicts": whole.add(columns(judged)),
                    "count": len(some),
                }
            )
        for part in (talk, lists, whole):
            part.close()
        return found

    def _run(self, number: int, listed: ListedRun, talk: PartWriter) -> Place:
        """Write a run and its rounds; return where it is."""
        run, count = listed.places.run, len(listed.places.rounds)
        self.export.rounds += count
        chunks = [talk.add(self._rounds(number, run, first)) for first in range(CHUNK, count, CHUNK)]
        head = self._view(number, run, 0)
        self._keep_pictures(number, head["images"])
        head["chunks"] = chunks
        head["numbers"] = _ranges(listed.places.numbers)
        head["stored"] = dict(self._files(number, run, [row[0] for row in head["files"] if row[1]], talk))
        head["answers"] = dict(self._answers_of(number, run, head, talk))
        return talk.add(head)

    def _answers_of(self, number: int, run: str, head: dict[str, Any], talk: PartWriter) -> Iterator[tuple[str, Place]]:
        """Yield what the page may ask about a run besides its conversation, and where the answer is."""

        def stored(name: str, query: dict[str, str]) -> tuple[str, Place]:
            words = "&".join(f"{key}={value}" for key, value in sorted(query.items()))
            return f"{name}?{words}", talk.add(self.routes.answer(number, name, {"id": run, **query}))

        yield stored("comments", {})
        if head["asked"]:
            yield stored("asked", {})
        if head["files"]:
            yield stored("files", {})
            found = self.routes.answer(number, "files", {"id": run})
            assert isinstance(found, dict)
            for file in found["files"]:
                if file["path"] is not None and not file["link"]:
                    yield stored("file", {"path": file["path"]})
        if self._is_timed:
            for first in range(0, max(1, head["count"]), TIMED):
                yield stored("timings", {"most": str(TIMED)} | ({"first": str(first)} if first else {}))

    def _rounds(self, number: int, run: str, first: int) -> dict[str, Any]:
        view = self._view(number, run, first)
        self._keep_pictures(number, view["images"])
        return {"rounds": view["rounds"], "images": view["images"]}

    def _view(self, number: int, run: str, first: int) -> dict[str, Any]:
        found = self.routes.answer(number, "run", {"id": run, "first": str(first), "most": str(CHUNK)})
        assert isinstance(found, dict)
        return found

    def _keep_pictures(self, number: int, names: list[str]) -> None:
        """Copy the pictures of a run; the names become addresses relative to the page."""
        journal = self.routes.journal(number)
        for place, name in enumerate(names):
            if name.startswith("data:"):
                continue
            target = self.folder / name  # `images/` and the hash of the content
            if not target.exists():
                found = picture(journal.folder, name)
                if found is None:
                    names[place] = "data:,"
                    continue
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(found[1])

    def _files(self, number: int, run: str, paths: list[str], talk: PartWriter) -> list[tuple[str, Place | None]]:
        journal = self.routes.journal(number)
        found: list[tuple[str, Place | None]] = []
        for path in paths:
            try:
                with open_left_file(journal, run, path) as (file, size):
                    if size > min(MOST_FILE, self._room):
                        self.export.left_out += 1
                        found.append((path, None))
                        continue
                    content = file.read(size)
            except FileNotFoundError:
                continue
            self._room -= len(content)
            # As text in a script of ours, no server and no browser takes it for a page or a program.
            found.append((path, talk.add_text(base64.b64encode(content).decode())))
        return found

    def _history(self, facts: PartWriter) -> None:
        """Write the trends of all journals together, and the runs of each."""
        if not self.routes.journals:
            return
        found = self.routes.answer(0, "history", {})
        assert isinstance(found, dict)
        self._answers["history?"] = facts.add(found)
        shown = dict.fromkeys((each["case"], each["agent"]) for each in found["trends"])
        for (case, agent), runs in runs_of_trends(dict(enumerate(self.routes.journals)), shown).items():
            key = "&".join(f"{name}={value}" for name, value in (("agent", agent), ("case", case)) if value)
            self._answers[f"trend?{key}"] = facts.add(runs | {"absent": []})

    def _compared(self, facts: PartWriter) -> None:
        numbers = range(len(self.routes.journals))
        for one, two in permutations(numbers, 2):
            if len(numbers) <= MOST_COMPARED or abs(one - two) == 1:
                for every in ("", "1"):
                    query = {"other": str(two)} | ({"all": every} if every else {})
                    words = "&".join(f"{name}={query[name]}" for name in sorted(query))
                    self._answers[f"{one}/versus?{words}"] = facts.add(self.routes.answer(one, "versus", query))


def _ranges(numbers: Sequence[int]) -> list[list[int]]:
    """Return ascending numbers as ranges: the first number of each, and how many there are."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][0] + found[-1][1]:
            found[-1][1] += 1
        else:
            found.append([number, 1])
    return found


def _write_page(folder: Path) -> None:
    nonce = secrets.token_urlsafe(18)
    # 'self' is not the same in all browsers for a page that was opened as a file, so what may run is named by a nonce.
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' file: data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = html().replace(START + "\n", "")
    for old, new in (
        (
            '<meta charset="utf-8">',
            f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">',
        ),
        ("<script ", f'<script nonce="{nonce}" '),
        ('<link rel="stylesheet"', f'<link nonce="{nonce}" rel="stylesheet"'),
    ):
        if old not in page:
            raise AssertionError(f"the page has no {old}")
        page = page.replace(old, new)
    (folder / "index.html").write_text(page, encoding="utf-8")
    for name in (SCRIPT, STYLES):
        (folder / "page" / name).write_text(joined(name, api=_API), encoding="utf-8")
