"""Says in one line how far each judge of a report can be trusted, for every report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from viva.judge.calibration.store import Calibration, newest_of, read_calibrations, store_of
from viva.records.text import one_line
from viva.records.wording import counted
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
    name = f"judge {one_line(judge.model, 60)}"
    found = newest_of(stored, judge.model, dict(judge.prompts))
    if found is not None:
        return f"{name}: {calibration_words(found)}"
    others = any(each.model == judge.model for each in stored)
    return f"{name}: not calibrated{' with these prompts' if others else ''}"


def calibration_words(found: Calibration) -> str:
    """Return a calibration in words: `calibrated on 120 labels of 24 cases, kappa .81 [.70, .90]`."""
    of = counted(found.cases, "case") if found.people else f"the set {one_line(found.source, 60)}"
    on = f"calibrated on {counted(found.items, 'label')} of {of}"
    if found.kappa is not None and found.kappa_interval is not None:
        return f"{on}, kappa {_short(found.kappa)} [{', '.join(map(_short, found.kappa_interval))}]"
    if found.accuracy is not None and found.accuracy_interval is not None:
        return f"{on}, accuracy {_short(found.accuracy)} [{', '.join(map(_short, found.accuracy_interval))}]"
    return on


def _short(value: float) -> str:
    """Return a figure without its leading zero: `.81`, `-.05`, `1.00`."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:.2f}"
