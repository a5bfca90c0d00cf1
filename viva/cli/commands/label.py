"""The command `viva label JOURNAL`: a person labels scoring points, so that the judge can be calibrated."""

from __future__ import annotations

import getpass
from functools import lru_cache
from pathlib import Path

import click
from rich.console import Console

from viva.cases import Case
from viva.cli import completion
from viva.cli.labelling.keys import KeyReader
from viva.cli.labelling.sitting import Sitting
from viva.cli.parameter_types import OUTPUT_FILE, NumberRange
from viva.cli.process import fail, report_user_errors
from viva.errors import SetupError
from viva.exam.outcome import EXIT_DONE
from viva.journal.paths import newest_journal
from viva.journal.reader import StoredRun, read_runs, split_reference
from viva.journal.run_index import index_runs
from viva.judge.calibration.label_files import LabelWriter, read_labels
from viva.records.text import one_line, slug
from viva.records.wording import counted
from viva.reports.console.whys import quoted
from viva.statistics.calibration.points import case_of
from viva.statistics.calibration.sample import Candidate, candidates, sample


@click.command("label")
@click.argument("journal", required=False, shell_complete=completion.paths)
@click.option("--rater", metavar="NAME", help="Who labels. [default: your user name]")
@click.option("--out", type=OUTPUT_FILE, metavar="FILE", help="The label file. [default: labels-NAME.jsonl]")
@click.option(
    "--sample",
    "most",
    type=click.IntRange(1),
    metavar="N",
    help="Only the N points that are most worth a label: disagreeing votes, near the threshold, spread over the cases.",
)
@click.option(
    "--threshold", type=NumberRange(0, 1), default=1.0, show_default=True, help="Minimum score of a passing run."
)
@report_user_errors
def command(journal: str | None, rater: str | None, out: Path | None, most: int | None, threshold: float) -> None:
    """Label the scoring points of the runs in JOURNAL with single keys. [default: the newest under runs/]

    What the judge said is shown after each label. Each label is saved at once; the same command goes on where you
    stopped. JOURNAL is a folder, or FOLDER#RUN-ID for one run.
    """
    folder, run = split_reference(journal) if journal else (newest_journal(), None)
    name = (rater if rater is not None else _user()).strip()
    if not name:
        fail("viva label: --rater is empty; name who labels.")
    target = out or Path(f"labels-{slug(name, 40)}.jsonl")
    index = index_runs(folder)
    runs = None if run is None else (run,)
    chosen = sample(candidates(folder, index.records(index.damage, runs), threshold), most)
    if not chosen:
        raise SetupError(f"{one_line(str(journal or folder))} has no judged scoring points that could be labelled.")
    known = (
        {(each.run, each.criterion) for each in read_labels(target) if each.rater == name} if target.exists() else set()
    )
    points = [each for each in chosen if each.key not in known]

    @lru_cache(maxsize=4)
    def load(where: Path, which: str) -> tuple[StoredRun, Case | None]:
        stored = next(read_runs(where, which, known=index.of((which,))))
        return stored, case_of(stored)

    def of_point(point: Candidate) -> tuple[StoredRun, Case | None]:
        return load(point.folder, point.run)

    console = Console()
    with LabelWriter(target) as writer, KeyReader() as keys:
        sitting = Sitting(console, keys, writer, name, of_point)
        sitting.hold(points, len(chosen) - len(points), len(chosen))
    _tell_end(sitting, chosen, len(chosen) - len(points), target, folder)
    raise SystemExit(EXIT_DONE)


def _tell_end(sitting: Sitting, chosen: list[Candidate], before: int, target: Path, folder: Path) -> None:
    labels = sitting.given.total()
    by_label = ", ".join(f"{number} {label}" for label, number in sitting.given.items() if number)
    left = len(chosen) - before - labels
    words = f"{counted(labels, 'label')}{f' ({by_label})' if by_label else ''} by {one_line(sitting.rater, 60)}"
    words += f" in {one_line(str(target), 500)}"
    rest = f"{counted(left, 'point')} left" if left else "all points are labelled"
    click.echo(f"\n{words}; {rest}")
    if labels or before:
        click.echo(f"next: viva calibrate {quoted(str(target))} {quoted(str(folder))}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise SetupError("your user has no name on this machine: say who labels with --rater NAME.") from None
