"""Hands out scoring points to be labelled, blind to what the judge said, and writes the labels of `viva label`."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.journal.run_index import read_records
from viva.judge.calibration.conversations import conversation_digest
from viva.judge.calibration.label_files import LABELS, MOST_TEXT, RANDOM, HumanLabel, LabelWriter, read_labels
from viva.records.text import one_line, printable
from viva.statistics.calibration.sample import Candidate, candidates, sample
from viva.viewer.watched import WatchedJournal


@dataclass(slots=True)
class LabelDesk:
    """The labels that one person gives to the points of one journal, in an order that no verdict decides."""

    journal: WatchedJournal
    rater: str
    target: Path
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _digests: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The version of a run, and what tells its conversation."""

    def state(self, after: tuple[str, str] | None = None) -> dict[str, Any]:
        """Return the next point without a label, and how many there are.

        Args:
            after: Run and criterion of a point that was skipped; the next one after it is wanted.

        Raises:
            SetupError: the label file cannot be read.
            JournalError: the journal cannot be read.
        """
        points, done = self._points(), self._done()
        left = [each for each in points if each.key not in done]
        place = next((number + 1 for number, each in enumerate(left) if each.key == after), 0)
        point = left[place % len(left)] if left else None
        shown = None
        if point is not None:
            shown = {
                "run": point.run,
                "criterion": point.verdict.criterion,
                "statement": printable(point.verdict.statement or point.verdict.criterion, 2000),
                "weight": f"{point.verdict.weight:g}",
            }
        return {
            "point": shown,
            "left": len(left),
            "total": len(points),
            "rater": one_line(self.rater, 60),
            "file": one_line(str(self.target), 500),
        }

    def give(self, run: str, criterion: str, label: str | None, seconds: float | None, note: str) -> dict[str, Any]:
        """Write one label, and return what the judge said, which the reader may see now.

        Args:
            run: The run's id.
            criterion: The id of the point.
            label: `hit`, `miss` or `unsure`; None takes the last one back.
            seconds: How long it took.
            note: The reader's words; may be empty.

        Raises:
            SetupError: there is no such point, or the label cannot be written.
        """
        if label is not None and label not in LABELS:
            raise SetupError(f"{one_line(label, 40)!r} is not a label; the labels are {', '.join(LABELS)}")
        if len(note) > MOST_TEXT:
            raise SetupError(f"the note is longer than {MOST_TEXT:,} characters, the maximum")
        if seconds is not None and not 0 <= seconds < math.inf:
            raise SetupError("the seconds of a label are a number from 0")
        point = next((each for each in self._points() if each.key == (run, criterion)), None)
        stored = self.journal.conversation(run, 0, 1 << 30)
        if point is None or stored is None:
            raise SetupError(f"there is no scoring point {one_line(criterion, 80)!r} of {one_line(run, 80)!r}")
        verdict = point.verdict
        given = HumanLabel(
            self.rater,
            run,
            criterion,
            label,
            case=point.case,
            statement=verdict.statement,
            note=note,
            at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            seconds=seconds,
            conversation=conversation_digest(stored.transcript),
            chosen=RANDOM,
        )
        with self._turn, LabelWriter(self.target) as writer:
            writer.append(given)
        return {
            "by": one_line(verdict.by, 80),
            "label": one_line(verdict.label, 30),
            "reason": printable(verdict.reason, 4000),
            "agrees": verdict.label == label,
        }

    def _points(self) -> list[Candidate]:
        records = read_records(self.journal.folder, quick=True)
        return sample(candidates(self.journal.folder, records, self.journal.threshold), None)

    def _done(self) -> set[tuple[str, str]]:
        if not self.target.exists():
            return set()
        mine = [each for each in read_labels(self.target) if each.rater == self.rater]
        # Ids of runs are the same in every suite, so a label counts only for the conversation that was read.
        return {(each.run, each.criterion) for each in mine if each.conversation in ("", self._digest(each.run))}

    def _digest(self, run: str) -> str:
        known = self._digests.get(run)
        places = self.journal.places.runs.get(run)
        if places is None:
            return "none"
        if known is None or known[0] != places.changed:
            stored = self.journal.conversation(run, 0, 1 << 30)
            assert stored is not None
            known = self._digests[run] = places.changed, conversation_digest(stored.transcript)
        return known[1]
