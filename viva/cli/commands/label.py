"""The command `viva label JOURNAL`: a person labels scoring points, so that the judge can be calibrated."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from viva.cases import Case
from viva.cli import completion
from viva.cli.daily.filter_options import chosen_runs, filter_options, filters_from
from viva.cli.labelling.keys import KeyReader
from viva.cli.labelling.raters import user_name
from viva.cli.labelling.reading import labels_of_text, read_label_text
from viva.cli.labelling.sitting import Sitting, reached
from viva.cli.parameter_types import OUTPUT_FILE, NumberRange
from viva.cli.process import fail, report_user_errors
from viva.cli.stopping import STOPPED
from viva.errors import SetupError
from viva.exam.outcome import EXIT_DONE
from viva.journal.paths import newest_journal
from viva.journal.reader import StoredRun, read_runs, split_reference
from viva.journal.run_index import RunIndex, index_runs
from viva.judge.calibration.label_files import NAMED, RANDOM, SAMPLE, HumanLabel, LabelWriter
from viva.records.text import one_line, printable, slug
from viva.records.wording import counted
from viva.reports.console.whys import quoted
from viva.statistics.calibration.joining import LabelJoin
from viva.statistics.calibration.points import case_of
from viva.statistics.calibration.sample import Candidate, candidates, sample


@click.command("label")
@click.argument("journal", required=False, shell_complete=completion.journals)
@filter_options("Only points of runs")
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
def command(
    journal: str | None, rater: str | None, out: Path | None, most: int | None, threshold: float, **given: Any
) -> None:
    """Label the scoring points of the runs in JOURNAL with single keys. [default: the newest under runs/]

    What the judge said is shown after each label. Each label is saved at once; the same command continues where you
    stopped. JOURNAL is a folder, or FOLDER#RUN-ID for one run.
    """
    folder, run = split_reference(journal) if journal else (newest_journal(), None)
    name = (rater if rater is not None else user_name()).strip()
    if not name:
        fail("viva label: --rater is empty; name who labels.")
    if out == Path("-"):
        fail("viva label: --out is a file to which each label is appended; it cannot be standard output.")
    if out is not None and out.exists() and not out.is_file():
        fail(f"viva label: --out {out} is not a regular file, to which labels can be appended.")
    target = out or Path(f"labels-{slug(name, 40)}.jsonl")
    index = index_runs(folder)
    if run is not None and run not in index.places:
        next(read_runs(folder, run), None)  # which names the runs that there are
    filters = filters_from(given, threshold)
    chosen_ids = chosen_runs(filters, [(folder, run)], threshold)
    runs = chosen_ids if run is None else (run,)
    found = list(candidates(folder, index.records(index.damage, runs), threshold))
    most = None if most is None or most >= len(found) else most
    chosen = sample(found, most)
    if not chosen:
        raise SetupError(f"{one_line(str(journal or folder))} has no judged scoring points that could be labelled.")
    # Runs that were chosen, say by their scores, are no random sample.
    way = NAMED if run is not None or filters else RANDOM if most is None else SAMPLE
    before = _labels_before(target, name, folder, index, run)
    points = [each for each in chosen if each.key not in before]

    @lru_cache(maxsize=4)
    def load(where: Path, which: str) -> tuple[StoredRun, Case | None]:
        stored = next(read_runs(where, which, known=index.of((which,))))
        return stored, case_of(stored)

    def of_point(point: Candidate) -> tuple[StoredRun, Case | None]:
        return load(point.folder, point.run)

    console = Console()
    stopped, is_new = False, not target.exists()
    with LabelWriter(target) as writer, KeyReader() as keys:
        sitting = Sitting(console, keys, writer, name, of_point, way)
        try:
            sitting.hold(
                points, len(chosen) - len(points), len(chosen), reached(chosen, before) if way == RANDOM else {}
            )
        except KeyboardInterrupt:
            stopped = True
    if is_new and not target.stat().st_size:
        target.unlink()  # it was created to see whether labels can be saved
    _tell_end(sitting, chosen, len(chosen) - len(points), target, folder)
    raise SystemExit(STOPPED if stopped else EXIT_DONE)


def _labels_before(
    target: Path, rater: str, folder: Path, index: RunIndex, run: str | None
) -> dict[tuple[str, str], HumanLabel]:
    """Return the rater's labels in the file that are about these conversations, by run and point."""
    if not target.exists():
        return {}
    every = labels_of_text(read_label_text(target), target)
    mine = [each for each in every if each.rater == rater and run in (None, each.run)]
    join = LabelJoin(mine)
    stored = read_runs(folder, run, known=None if run else index.of(join.runs), wanted=join.runs.__contains__)
    found = {(each.run, each.criterion): each for one in stored for each in join.labels_of(one)}
    if others := len(mine) - len(found):
        verb = "is" if others == 1 else "are"
        click.echo(
            printable(f"note: {counted(others, 'label')} in {target} {verb} about other conversations"), err=True
        )
    return found


def _tell_end(sitting: Sitting, chosen: list[Candidate], before: int, target: Path, folder: Path) -> None:
    labels = sitting.given.total()
    by_label = ", ".join(f"{number} {label}" for label, number in sitting.given.items() if number)
    left = len(chosen) - before - labels
    words = f"{counted(labels, 'label')}{f' ({by_label})' if by_label else ''} by {one_line(sitting.rater, 60)}"
    words += f" in {one_line(str(target), 500)}" if labels else ""
    rest = f"{counted(left, 'point')} left" if left else "all points are labelled"
    click.echo(f"\n{words}; {rest}")
    if labels or before:
        click.echo(f"next: viva calibrate {quoted(str(target))} {quoted(str(folder))}")
