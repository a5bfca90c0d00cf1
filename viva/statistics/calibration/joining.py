"""Finds the labels that are about the conversations of a journal; a run id alone is ambiguous: it is the same in every
suite."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from viva.journal.lines import Damage
from viva.journal.reader import StoredRun, read_runs
from viva.judge.calibration.conversations import conversation_digest
from viva.judge.calibration.label_files import HumanLabel
from viva.records.text import storable
from viva.records.wording import counted
from viva.statistics.calibration.points import JudgedPoint, case_of, judged_points, scoring_insight, unjudged_points

_DAY = 24 * 3600.0
"""Clocks differ, and zones are mistaken; a time that is further ahead was not read from a clock."""
_USED, _OTHER, _REWORDED, _ELSEWHERE = range(4)


class LabelJoin:
    """Takes stored runs one after the other, and tells which labels are about each."""

    def __init__(self, labels: Iterable[HumanLabel]) -> None:
        """Begin with the labels that apply, as `read_labels` returns them."""
        self._runs: defaultdict[str, list[HumanLabel]] = defaultdict(list)
        for each in labels:
            self._runs[each.run].append(each)
        self._found: dict[int, int] = {}
        """What became of each label, by its identity: the best of all runs with its id."""
        self.by_time = 0
        """Labels that do not say of which conversation they are, and were joined by run and time."""

    @property
    def runs(self) -> frozenset[str]:
        """Return the ids of the runs that have labels."""
        return frozenset(self._runs)

    def labels_of(self, stored: StoredRun) -> list[HumanLabel]:
        """Return the labels about the conversation of a run, each with its digest; the last of each rater and point.

        Args:
            stored: The run, whose verdicts tell the words of its points.
        """
        labels = self._runs.get(stored.id, [])
        if not labels:
            return []
        digest, started = conversation_digest(stored.transcript), _started(stored)
        insight = scoring_insight(stored.insights)
        words = {each.criterion: each.statement for each in insight.verdicts} if insight is not None else {}
        joined: dict[tuple[str, str], HumanLabel] = {}
        # Labels that name the conversation come last, so that they replace others.
        for label in sorted(labels, key=lambda each: bool(each.conversation)):
            fate = _fate(label, digest, started, words.get(label.criterion, ""))
            known = self._found.get(id(label), _ELSEWHERE)
            self._found[id(label)] = min(fate, known)
            if fate == _USED:
                self.by_time += not label.conversation and known != _USED
                joined[label.rater, label.criterion] = replace(label, conversation=digest)
        return list(joined.values())

    def notes(self) -> Iterator[str]:
        """Yield in words which labels were not used, and which were joined by their time alone."""
        fates = [self._found.get(id(label), _ELSEWHERE) for labels in self._runs.values() for label in labels]
        if others := fates.count(_OTHER):
            verb = "is about another conversation" if others == 1 else "are about other conversations"
            yield f"{counted(others, 'label')} {verb} with the same run id: not used"
        if reworded := fates.count(_REWORDED):
            yield f"{counted(reworded, 'label')} of a point in other words: not used"
        if elsewhere := fates.count(_ELSEWHERE):
            yield f"{counted(elsewhere, 'label')} of runs that are not here: not used"
        if self.by_time:
            yield f"{counted(self.by_time, 'label')} without a digest of the conversation: joined by run id and time"


def read_labelled_points(
    join: LabelJoin, journals: Iterable[tuple[Path, str | None]], damage: Damage
) -> tuple[list[HumanLabel], list[JudgedPoint]]:
    """Return the labels about the conversations of journals, and what judges said about the points of these.

    Args:
        join: Of the labels.
        journals: The folder of each, and the id of the only run to read or None.
        damage: Counts the lines that had to be skipped.

    Raises:
        JournalError: there is no journal, or no such run in it.
    """
    labels: list[HumanLabel] = []
    points: list[JudgedPoint] = []
    for folder, run in journals:
        for stored in read_runs(folder, run, damage, wanted=join.runs.__contains__):
            if found := join.labels_of(stored):
                labels += found
                case = case_of(stored)
                points += judged_points(stored, case)
                points += unjudged_points(stored, {each.criterion: each.statement for each in found}, case)
    return labels, points


def _started(stored: StoredRun) -> float:
    """Return when the conversation began; judging it again does not change that."""
    return 0.0 if stored.record is None else stored.record.timing.started


def _fate(label: HumanLabel, digest: str, started: float, words: str) -> int:
    if label.conversation:
        same = label.conversation == digest
    else:
        at = given_at(label.at)
        same = at is None or at >= started
    if not same:
        return _OTHER
    said = storable(words).split()
    return _REWORDED if label.statement.strip() and said and label.statement.split() != said else _USED


def given_at(at: str) -> float | None:
    """Return when a label was given, in seconds since the epoch; None if its time cannot be read."""
    try:
        found = datetime.fromisoformat(at)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def is_sound_time(at: str) -> bool:
    """Return whether the time of a label can tell that it is not about an earlier conversation."""
    seconds = given_at(at)
    return seconds is not None and 0 < seconds < time.time() + _DAY


def with_conversations(labels: Iterable[HumanLabel]) -> list[HumanLabel]:
    """Return labels without a journal, so that those of one point can be compared.

    One that does not name its conversation is about the only one that others name for the same run.
    """
    given = list(labels)
    named: defaultdict[str, set[str]] = defaultdict(set)
    for each in given:
        if each.conversation:
            named[each.run].add(each.conversation)
    return [
        replace(each, conversation=next(iter(named[each.run])))
        if not each.conversation and len(named.get(each.run, ())) == 1
        else each
        for each in given
    ]
