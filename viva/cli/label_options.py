"""Options for labels by people, and for gates on scores that are corrected by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

from viva.cli.options import call_option, stack
from viva.errors import SetupError
from viva.records.text import one_line

if TYPE_CHECKING:
    from viva.judge.calibration.label_files import HumanLabel
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
        SetupError: one of the two is missing, a label file cannot be read, or the gate could not be applied.
        JournalError: there is no journal.
    """
    if bool(paths) != (labelled is not None):
        raise SetupError(
            "--labels and --labelled require each other here: labels are about the conversations of an earlier "
            "journal, which --labelled names."
        )
    labels = labels_from(paths, gated=gated)
    if labels is None or labelled is None:
        return None
    from viva.journal.reader import read_records, split_reference
    from viva.statistics.corrected.elsewhere import measure_judge

    folder, run = split_reference(labelled)
    truths = truths_in(labels, folder, run)
    records = (record for record in read_records(folder, quick=True) if run in (None, record.id))
    found = measure_judge(records, truths, labelled)
    if gated and found.refused:
        raise SetupError(f"--corrected: {found.refused}.")
    return found


def labels_from(paths: Sequence[Path], *, gated: bool) -> list[HumanLabel] | None:
    """Return what people say in label files; None without a file.

    Args:
        paths: The files.
        gated: Whether a gate will compare a score that is corrected by them.

    Raises:
        SetupError: a file cannot be read, a line is not a label, or a gate could not rely on one.
    """
    if not paths:
        return None
    from viva.cli.labelling.reading import read_files

    labels = read_files(paths)
    if gated:
        _check_joinable(labels)
    return labels


def _check_joinable(labels: Sequence[HumanLabel]) -> None:
    """Refuse labels that may be about any conversation with the id of their run."""
    from viva.records.wording import counted
    from viva.statistics.calibration.joining import is_sound_time

    loose = [each for each in labels if not each.conversation and not is_sound_time(each.at)]
    if loose:
        run = one_line(loose[0].run, 60)
        raise SetupError(
            "--corrected: the ids of runs are the same in every suite, and nothing tells which conversation "
            f"{counted(len(loose), 'label')} (the first of the run {run}) may be about: 'conversation' is missing, and "
            "so is a credible time 'at'. Label with viva label, or add the time."
        )


def truths_in(labels: Sequence[HumanLabel], folder: Path, run: str | None = None) -> Truths:
    """Return what people say about the points of a journal's runs.

    Args:
        labels: The labels of all files.
        folder: The journal's folder.
        run: The id of the only run to read; None for all.

    Raises:
        JournalError: there is no journal.
    """
    from viva.journal.reader import read_runs
    from viva.statistics.corrected.truths import truths_about

    return truths_about(labels, lambda names: read_runs(folder, run, wanted=names.__contains__))


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
    others = gate(figures, floors, baseline, drops, max_examiner_faults, corrected=True)
    return joined_gates(gate_on_corrected(figures, floors.primary), others)
