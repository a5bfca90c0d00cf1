"""Options for labels by people, and for gates on scores that are corrected by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

from viva.cli.options import call_option, stack
from viva.errors import SetupError

if TYPE_CHECKING:
    from viva.statistics.corrected.elsewhere import MeasuredJudge
    from viva.statistics.corrected.truths import Truths
    from viva.statistics.summary import Figures
    from viva.suites.gates import Gates

P = ParamSpec("P")
T = TypeVar("T")


def label_options(function: Callable[P, T]) -> Callable[P, T]:
    """Add `--labels` and `--corrected`."""
    return stack(
        call_option(
            "--labels",
            "label_files",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Labels by people on points of these runs: also report scores corrected for the judge's error. Can be "
            "repeated.",
        ),
        call_option(
            "--corrected",
            is_flag=True,
            help="With --labels and --fail-under SCORE: compare the low end of the corrected score's interval.",
        ),
    )(function)


def measured_from(paths: Sequence[Path], labelled: str | None, *, gated: bool) -> MeasuredJudge | None:
    """Return the accuracy of a judge on the runs of a journal that people labelled; None without a label file.

    Args:
        paths: The label files.
        labelled: The journal.
        gated: Whether a gate will compare the corrected score.

    Raises:
        SetupError: one of both is missing, a label file cannot be read, or the gate could not be applied.
        JournalError: there is no journal.
    """
    if bool(paths) != (labelled is not None):
        raise SetupError(
            "--labels and --labelled require each other here: labels are about the conversations of an earlier "
            "journal, which --labelled names."
        )
    truths = truths_from(paths)
    if truths is None or labelled is None:
        return None
    from viva.journal.reader import read_records, split_reference
    from viva.statistics.corrected.elsewhere import measure_judge

    folder, run = split_reference(labelled)
    records = (record for record in read_records(folder, quick=True) if run in (None, record.id))
    found = measure_judge(records, truths, labelled)
    if gated and found.refused:
        raise SetupError(f"--corrected: {found.refused}.")
    return found


def truths_from(paths: Sequence[Path]) -> Truths | None:
    """Return what people say in label files; None without a file.

    Raises:
        SetupError: a file cannot be read, or a line is not a label.
    """
    if not paths:
        return None
    from viva.judge.calibration.label_files import read_labels
    from viva.statistics.corrected.truths import truths_of

    return truths_of(label for path in paths for label in read_labels(path))


def check_corrected(floors: Gates, paths: Sequence[Path], *, corrected: bool) -> None:
    """Check that a gate on corrected scores has labels and a score.

    Raises:
        SetupError: it does not.
    """
    if corrected and (not paths or floors.primary is None):
        raise SetupError("--corrected requires --labels FILE and --fail-under SCORE.")


def gate_with_labels(
    figures: Figures,
    floors: Gates,
    max_examiner_faults: float | None,
    *,
    corrected: bool,
    baseline: Figures | None = None,
    drops: Gates | None = None,
) -> tuple[int, str]:
    """Return the exit code of the gates, and the reason in words (empty for 0).

    Args:
        figures: The statistics, with corrected scores if there are labels.
        floors: Of `--fail-under`.
        max_examiner_faults: Of `--max-examiner-faults`.
        corrected: Whether the floor of the run score is for corrected scores.
        baseline: The statistics of an earlier suite.
        drops: Of `--max-drop`.
    """
    from viva.suites.gates import gate
    from viva.suites.judging_gates.corrected import gate_on_corrected
    from viva.suites.judging_gates.flips import joined_gates

    if not corrected or floors.primary is None:
        return gate(figures, floors, baseline, drops, max_examiner_faults)
    others = gate(figures, replace(floors, primary=None), baseline, drops, max_examiner_faults)
    return joined_gates(gate_on_corrected(figures, floors.primary), others)
