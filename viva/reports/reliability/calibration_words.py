"""Says in one line how far each judge of a report can be trusted, for every report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from viva.judge.calibration.store import BUILTIN, Calibration, newest_of, read_calibrations, store_of
from viva.records.text import one_line
from viva.records.wording import counted
from viva.statistics.agreement.chance import chance_words
from viva.statistics.calibration.uses import JudgeUse

MOST_JUDGES = 6


def calibration_lines(judges: Sequence[JudgeUse], journals: Iterable[Path]) -> list[str]:
    """Return a line for each model that judged scoring points; none if only code judged.

    Args:
        judges: The models.
        journals: The folders of the journals, beside which the calibrations are.
    """
    if not judges:
        return []
    files = dict.fromkeys(store_of(journal) for journal in journals)
    stored = sorted((each for file in files for each in read_calibrations(file)), key=lambda each: each.at)
    lines = [_line(judge, stored) for judge in judges[:MOST_JUDGES]]
    more = len(judges) - MOST_JUDGES
    return [*lines, f"{counted(more, 'more judge')}"] if more > 0 else lines


def _line(judge: JudgeUse, stored: Sequence[Calibration]) -> str:
    name, prompts = f"judge {one_line(judge.model, 60)}", dict(judge.prompts)
    if judge.votes > 1:
        name += f" with {judge.votes} votes"
    found = newest_of(stored, judge.model, prompts, judge.votes)
    if found is not None:
        return f"{name}: {calibration_words(found)}"
    others = [each for each in stored if each.model == judge.model]
    if not others:
        return f"{name}: not calibrated"
    if all(each.votes != judge.votes for each in others):
        return f"{name}: not calibrated with {'one vote' if judge.votes == 1 else 'these votes'}"
    return f"{name}: not calibrated with these prompts"


def calibration_words(found: Calibration) -> str:
    """Return a calibration in words: what was labelled, and how far the judge agreed.

    `calibrated on 120 labels of 24 cases (labels of runs/my-suite), kappa .81 [.70, .90]`. Figures on one subject say
    little about another, so the words name the subject.
    """
    total = f"{found.items} of {counted(found.items + found.left_out, 'point')}"
    number = total if found.left_out else counted(found.items, "label")
    cases = f" of {counted(found.cases, 'case')}" if found.people else ""
    hard = f"{'all' if found.hard == found.items else found.hard} chosen as hard"
    on = f"calibrated on {number}{cases} ({_subject(found)}{f'; {hard}' if found.hard else ''})"
    chance = chance_words(found.kappa_interval, found.items, found.cases)
    warning = f": {chance}" if chance else ""
    if found.kappa is not None and found.kappa_interval is not None:
        return f"{on}, kappa {_with_ends(found.kappa, found.kappa_interval)}{warning}"
    if found.accuracy is not None and found.accuracy_interval is not None:
        return f"{on}, accuracy {_with_ends(found.accuracy, found.accuracy_interval)}{warning}"
    return on


def _subject(found: Calibration) -> str:
    """Return what was labelled in words. Earlier versions did not store which journals."""
    if found.people:
        return (
            f"labels of {one_line(found.journals, 80)}" if found.journals else f"labels in {one_line(found.source, 60)}"
        )
    return "the built-in set" if found.source == BUILTIN else f"the set {one_line(found.source, 60)}"


def _with_ends(value: float, interval: tuple[float, float]) -> str:
    return f"{short_figure(value)} [{', '.join(map(short_figure, interval))}]"


def short_figure(value: float) -> str:
    """Return a figure without its leading zero: `.81`, `-.05`, `1.00`."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:.2f}"
