"""Shows the judge's exchange of a run: what its model was asked, what it answered, and about which verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from viva.exam.judging.exchanges import NotReadable, exchanges_of
from viva.journal.kept_files import is_kept_name
from viva.journal.reader import StoredRun
from viva.records.exchange.exchanges import Exchange, PictureName, RequestMessage
from viva.records.text import one_line, printable
from viva.reports.exchanges import exchanges_behind
from viva.viewer.places import NOWHERE
from viva.viewer.watched import WatchedJournal

MOST_CHARACTERS = 2_000_000
"""Maximum number of characters of one answer to the page."""
MOST_TEXT = 200_000
"""Maximum number of characters of one message."""
ALL_ROUNDS = 1 << 30


def asked_view(journal: WatchedJournal, run: str) -> dict[str, Any]:
    """Return what judges' models were asked about a run and what they answered, in order.

    A message that a request shares with an earlier one is given once; later requests name the place of the first one.
    Each request names the verdict that it led to by its position among all verdicts of the run, if it led to one.
    """
    stored = _with_exchange(journal, run)
    if stored is None:
        return {"requests": [], "note": "", "more": 0}
    try:
        read = exchanges_of(stored)
    except NotReadable as error:
        return {"requests": [], "note": f"It cannot be read: {printable(str(error), 1000)}", "more": 0}
    insights = stored.insights if stored.record is None else stored.record.insights
    verdict_of: dict[int, int] = {}
    for number, behind in enumerate(exchanges_behind(read.exchanges, insights, stored.id)):
        verdict_of.update((id(each), number) for each in behind)
    writer = _Writer()
    requests = [writer.request(each, verdict_of.get(id(each)), stored.id) for each in read.exchanges]
    shown = [each for each in requests if each is not None]
    note = f"Of what the judge was asked, {read.note()}." if read.note() else ""
    return {"requests": shown, "note": note, "more": len(requests) - len(shown)}


def _with_exchange(journal: WatchedJournal, run: str) -> StoredRun | None:
    listed = journal.runs.get(run)
    if listed is None or listed.places.asked == NOWHERE:
        return None
    # Requests hold the conversation by reference, so all of it is needed.
    stored = journal.conversation(run, 0, ALL_ROUNDS)
    if stored is None:
        return None
    (line,) = journal.places.read([listed.places.asked])
    return replace(stored, asked=line)


class _Writer:
    """Prepares requests until the answer is as long as it may be."""

    def __init__(self) -> None:
        self._left = MOST_CHARACTERS
        self._places: dict[RequestMessage, list[int]] = {}
        self._count = 0

    def request(self, each: Exchange, verdict: int | None, run: str) -> dict[str, Any] | None:
        """Return one request with its answer; None if there is no room for it."""
        if self._left <= 0:
            return None
        shown = {
            "evaluator": one_line(each.evaluator, 80),
            "about": one_line(each.criterion, 200),
            "subject": "" if each.subject in ("", run) else one_line(each.subject, 120),
            "judge": one_line(each.judge, 80),
            "vote": each.vote,
            "digest": each.digest,
            "verdict": verdict,
            "messages": self._messages(each.messages),
            "answer": self._text(each.answer),
            "error": self._text(each.error),
        }
        self._count += 1
        return shown

    def _messages(self, messages: Sequence[RequestMessage]) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = []
        for place, message in enumerate(messages):
            known = self._places.setdefault(message, [self._count, place])
            head: dict[str, Any] = {"role": one_line(message.role, 40)}
            if known != [self._count, place]:
                shown.append(head | {"same": known})
            else:
                shown.append(head | {"parts": [self._part(part) for part in message.parts]})
        return shown

    def _part(self, part: str | PictureName) -> dict[str, str]:
        if not isinstance(part, PictureName):
            return {"text": self._text(part)}
        is_kept = is_kept_name(part.name) and part.name.startswith("images/")
        return {"picture": part.name} if is_kept else {"text": f"[picture {one_line(part.name, 120)}]"}

    def _text(self, text: str) -> str:
        shown = printable(text, min(MOST_TEXT, max(0, self._left))) if text else ""
        self._left -= len(shown)
        return shown
