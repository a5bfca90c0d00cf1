"""The gate on flips between two judgings: `--max-flips`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from viva.errors import SetupError
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.exam.stored_runs import read_run_states
from viva.journal.reader import read_records
from viva.records.text import printable
from viva.records.wording import counted
from viva.statistics.flips.drift import Drift
from viva.statistics.flips.points import Judgings, conversation_of

OPTION = "--max-flips"
CHANCE = "chance"
FORMS = f"a number of flips (12), a share (2% or 0.02), or {CHANCE}"


@dataclass(frozen=True, slots=True)
class MostFlips:
    """How many verdicts may flip."""

    count: int | None = None
    share: float | None = None
    """Both None: as many as noise explains."""
    text: str = ""
    """A share as the user wrote it."""

    def limit(self, points: int) -> int:
        """Return the maximum number of flips of some points."""
        if self.count is not None:
            return self.count
        return math.floor((self.share or 0.0) * points + 1e-9)

    def words(self, points: int) -> str:
        """Return the limit in words: `12`, or `2% (0 of 24)`."""
        limit = self.limit(points)
        return str(limit) if self.share is None else f"{self.text} ({limit} of {points})"


def parse_most_flips(text: str) -> MostFlips:
    """Read the value of `--max-flips`.

    Raises:
        SetupError: it is none of `FORMS`.
    """
    if text == CHANCE:
        return MostFlips()
    number, percent = (text[:-1], True) if text.endswith("%") else (text, False)
    try:
        if not percent and number.isdecimal():
            return MostFlips(count=int(number))
        share = float(number) / (100 if percent else 1)
    except ValueError:
        raise SetupError(f"{OPTION} {text!r} is not {FORMS}.") from None
    if not 0 <= share <= 1:
        raise SetupError(f"{OPTION} {text!r}: a share is between 0 and 1, or 0% and 100%; a number of flips is whole.")
    return MostFlips(share=share, text=text)


def refuse_other_conversations(before: Judgings, baseline: Path, journals: Sequence[tuple[Path, str | None]]) -> None:
    """Refuse a baseline that holds none of the conversations that are to be judged, before anything is paid for.

    Args:
        before: The verdicts of the baseline.
        baseline: The folder of its journal.
        journals: Those to judge, each with the id of its only run or None.

    Raises:
        SetupError: nothing could be compared.
    """
    for folder, only in journals:
        scored = set()
        for record in read_records(folder, quick=True):
            scored.add(record.id)
            if only in (None, record.id) and before.conversations.get(record.id) == conversation_of(record):
                return
        # What was never judged has no record, whose timing could tell it from another run of the same case.
        if any(run in before.conversations and run not in scored for run in read_run_states(folder, only)):
            return
    names = ", ".join(dict.fromkeys(_shown(folder) for folder, _ in journals))
    raise SetupError(
        f"{names} and {_shown(baseline)} share no conversation, so that no verdict can be compared: "
        "--baseline-judging takes an earlier judging of the same conversations, often the journal itself."
    )


def _shown(folder: Path) -> str:
    here = Path.cwd()
    return printable(str(folder.relative_to(here) if folder.is_relative_to(here) else folder))


def gate_on_flips(drift: Drift, most: MostFlips) -> tuple[int, str]:
    """Return the exit code, and the reason in words (empty for 0).

    A point that had a verdict and has none now may have flipped: if the gate would fail with all of these, the
    judgings cannot be compared.

    Args:
        drift: What flipped.
        most: How many may flip.
    """
    if not drift.points:
        return EXIT_NOT_SCORED, f"{OPTION}: no point has a verdict in both judgings"
    flips = len(drift.flips)
    if drift.others:
        words = f"{counted(drift.others, 'run')} of {drift.runs + drift.others} could not be compared"
        return EXIT_NOT_SCORED, f"{OPTION}: {words}, because the conversations of the two sides are not the same"
    if most.count is None and most.share is None:
        if drift.drifted:
            p = f"p = {drift.noise_p:.2g} of their number"
            if not drift.all_before:
                p += f", {drift.direction_p:.2g} of their direction"
            return EXIT_BELOW, f"{flips} of {counted(drift.points, 'verdict')} flipped, more than noise explains ({p})"
        if drift.lost:
            lost = f"{counted(drift.lost, 'point')} lost the verdict"
            return EXIT_NOT_SCORED, f"{OPTION}: {lost}, so more may have flipped than noise explains"
        return EXIT_DONE, ""
    limit, words = most.limit(drift.points), most.words(drift.points)
    if flips > limit:
        return EXIT_BELOW, f"{flips} of {counted(drift.points, 'verdict')} flipped, more than {words}"
    if flips + drift.lost > limit:
        lost = f"{counted(drift.lost, 'point')} lost the verdict"
        return EXIT_NOT_SCORED, f"{OPTION}: {flips} flipped, but {lost}, so that more than {words} may have"
    return EXIT_DONE, ""


def joined_gates(*results: tuple[int, str]) -> tuple[int, str]:
    """Return the exit code of several gates: that a limit was exceeded says more than that something is missing."""
    words = "; ".join(reason for _, reason in results if reason)
    codes = [code for code, _ in results]
    for code in (EXIT_BELOW, EXIT_NOT_SCORED):
        if code in codes:
            return code, words
    return EXIT_DONE, words
