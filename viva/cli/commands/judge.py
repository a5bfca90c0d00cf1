"""The command `viva judge JOURNAL…`: scores stored conversations again, with the same judge or another."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from viva.cases import find_case, load_case, load_rubric
from viva.cli import completion
from viva.cli.daily.filter_options import chosen_runs, filter_options, filters_from, refuse_gate_by_results
from viva.cli.engine_options import engine_from, engine_options
from viva.cli.label_options import check_corrected, gate_with_labels, label_options, labels_from, truths_in
from viva.cli.options import (
    call_option,
    concurrency_option,
    how_to_resume,
    max_examiner_faults_option,
    options_from,
    output_options,
    resume_command,
    resume_options,
    resumed_request,
    shared_options,
    tell_left_out,
)
from viva.cli.process import fail, report_user_errors, run_async
from viva.cli.stopping import STOPPED
from viva.errors import SharedSetupError
from viva.exam.option_declaration import Part
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.filters.selection import NO_FILTER, RunFilter
from viva.journal.paths import derived_name, new_journal_folder, newest_journal, refuse_journal
from viva.journal.reader import read_records, split_reference
from viva.journal.writer import JournalError
from viva.records.codec import to_plain
from viva.records.run_record import RunRecord
from viva.records.text import one_line, printable
from viva.records.wording import counted, is_unscored, score_line
from viva.reports.console.run import run_report
from viva.reports.console.suite import suite_report
from viva.reports.console.whys import print_whole
from viva.reports.progress.reporter import ConsoleDisplay
from viva.reports.reliability.drift_words import drift_lines
from viva.reports.trajectory_csv import write_evaluations
from viva.sinks import make_sinks
from viva.statistics.flips.drift import drift_between
from viva.statistics.flips.points import Judgings
from viva.statistics.summary import Figures, summarize
from viva.suites.chosen.journal_parts import noting_parts
from viva.suites.conduct import Surroundings
from viva.suites.gate_checks import PlannedGates
from viva.suites.gates import parse_gates
from viva.suites.judging import Judging, judge_journals
from viva.suites.judging_gates.flips import (
    FORMS,
    gate_on_flips,
    joined_gates,
    parse_most_flips,
    refuse_other_conversations,
)
from viva.suites.request import JournalsRequest, journals_request
from viva.suites.resuming.left_out import LeftOut

MOST_NAMED = 20
"""Maximum number of runs that are named because they are not judged; a journal may hold hundreds of thousands."""


@click.command("judge")
@click.argument("journals", nargs=-1, metavar="[JOURNAL]...", shell_complete=completion.journals)
@filter_options("Only runs")
@click.option(
    "--case",
    "other",
    metavar="CASE",
    help="Use this case instead of the stored one of the same name. Recordings are judged by its points: those whose "
    "subject is its name or, if there is none, all.",
)
@click.option(
    "--rubric",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Scoring points by which recordings are judged, for all or by subject (viva docs recordings).",
)
@click.option(
    "--workspaces",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    metavar="FOLDER",
    help="Folder outside the journal in which agents' files may be read. Can be repeated.",
)
@concurrency_option
@engine_options
@shared_options(Part.JUDGE)
@resume_options("a judge run")
@output_options
@max_examiner_faults_option
@call_option(
    "--baseline-judging",
    metavar="JOURNAL",
    help="Report which verdicts flipped since an earlier judging of the same conversations; JOURNAL itself holds one.",
)
@call_option(
    "--max-flips",
    metavar="NUMBER|SHARE",
    help=f"With --baseline-judging: exit with 1 if more verdicts flipped; {FORMS}, which allows what noise explains.",
)
@label_options
@report_user_errors
def command(
    journals: tuple[str, ...],
    other: str | None,
    rubric: Path | None,
    resume: Path | None,
    retry_errors: bool,
    out: Path | None,
    sinks: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    fail_under: tuple[str, ...],
    max_examiner_faults: float | None,
    baseline_judging: str | None,
    max_flips: str | None,
    label_files: tuple[Path, ...],
    corrected: bool,
    **given: Any,
) -> None:
    """Score the conversations in each JOURNAL again (default: the newest under runs/), and write a new journal."""
    if retry_errors and resume is None:
        fail("viva judge: --retry-errors requires --resume.")
    if max_flips is not None and baseline_judging is None:
        fail("viva judge: --max-flips requires --baseline-judging.")
    gates, most = parse_gates(fail_under), None if max_flips is None else parse_most_flips(max_flips)
    check_corrected(gates, label_files, corrected=corrected)
    labels = labels_from(label_files, gated=corrected)
    # Before anything is judged, so that a missing journal is reported now.
    before = None if baseline_judging is None else _judging_of(baseline_judging)
    gated = {"--fail-under": fail_under, "--max-examiner-faults": max_examiner_faults, "--max-flips": max_flips}
    if resume is not None:
        refuse_gate_by_results(NO_FILTER, [resume], gated)
        folder, request = resumed_request(resume, JournalsRequest, "judge", given)
        request = replace(request, incomplete=noting_parts(request).incomplete)  # may have been completed since
    else:
        folder, request = _new(journals, other, rubric, out, given)
        request = noting_parts(_only(request, filters_from(given), gated))
    if before is not None and baseline_judging is not None:
        refuse_other_conversations(before, split_reference(baseline_judging)[0], request.journals)
    display = ConsoleDisplay(Console(stderr=True), show=not (as_json or quiet))
    if request.part_words:
        click.echo(printable(f"note: {request.part_words}"), err=True)
    around = Surroundings(display, make_sinks(sinks), engine=engine_from(given))
    planned = PlannedGates(floors=gates)
    work = judge_journals(request, folder, around, resumed=resume is not None, retry_errors=retry_errors, gates=planned)
    try:
        judging = run_async(work)
    except SharedSetupError as error:
        fail(f"viva: {error}{how_to_resume('judge', folder)}")
    except KeyboardInterrupt:
        fail(f"viva: stopped. Finished runs are kept; to resume: {resume_command('judge', folder)}", STOPPED)
    _tell_left_out(judging.left_out, as_json=as_json)
    for words in () if resume is not None else judging.papers.notes():
        Console(stderr=True).print(Text(f"note: {words}", style="yellow"))
    if skipped := judging.damage.words():
        Console(stderr=True).print(Text(f"note: {skipped} skipped", style="yellow"))
    records = sorted(read_records(folder), key=_order(judging))
    truths = None if labels is None else truths_in(labels, folder)
    figures = summarize(records, truths=truths)
    drift = None if before is None else drift_between(before, Judgings(records))
    if as_json:
        runs = [to_plain(record, full=True) for record in records]
        told: dict[str, Any] = {}
        if drift is not None:
            told["drift"] = {**to_plain(drift, full=True), "drifted": drift.drifted}
        if truths is not None:
            told["corrected"] = [to_plain(each, full=True) for each in figures.corrected]
        click.echo(json.dumps({"journal": str(folder), "runs": runs, **told}))
    else:
        _report(records, figures, request, folder, quiet=quiet)
        for line in () if drift is None else drift_lines(drift):
            click.echo(printable(line))
    if drift is not None and (kept := sum(record.cached_answers for record in records)):
        words = f"{counted(kept, 'answer')} of --cache stood for questions to the judge: drift in these cannot be seen"
        click.echo(f"note: {words}. Judge without --cache to look for it.", err=True)
    written = write_evaluations(folder)
    if written and not (as_json or quiet):
        click.echo(printable(f"written: {', '.join(map(str, written))}"), err=True)
    code, words = gate_with_labels(figures, gates, max_examiner_faults, corrected=corrected)
    if drift is not None and most is not None:
        code, words = joined_gates((code, words), gate_on_flips(drift, most))
    if request.incomplete and (gates.are_set or max_examiner_faults is not None or most is not None):
        # This judging may be complete, but a gate on its runs must not pass over those that the journals lack.
        code, words = joined_gates((code, words), (EXIT_NOT_SCORED, f"some runs are missing: {request.incomplete}"))
    if words and not as_json:
        click.echo(words, err=True)
    tell_left_out(judging.end, resume_command("judge", folder))
    raise SystemExit(EXIT_NOT_SCORED if judging.end.left_out_in_all and code == EXIT_DONE else code)


def _only(request: JournalsRequest, filters: RunFilter, gated: Mapping[str, object]) -> JournalsRequest:
    """Return the request to judge only the runs that filters keep.

    Raises:
        SetupError: they keep none, or a gate would be over runs that were chosen by their own results.
    """
    folders = [journal for journal, _ in request.journals]
    refuse_gate_by_results(filters, folders, gated)
    only = chosen_runs(filters, request.journals)
    return replace(request, only=only, only_by=filters.words, only_by_results=filters.is_by_results(folders))


def _judging_of(reference: str) -> Judgings:
    """Read the verdicts of `FOLDER` or `FOLDER#RUN-ID`.

    Raises:
        JournalError: there is no journal, or no run of it was judged.
    """
    folder, run = split_reference(reference)
    found = Judgings(record for record in read_records(folder, quick=True) if run in (None, record.id))
    if not found.points:
        raise JournalError(f"--baseline-judging: {folder} holds no verdict to compare with.")
    return found


def _tell_left_out(left_out: LeftOut, *, as_json: bool) -> None:
    """Name the runs that are not judged; of many, the first and their number."""
    for run in left_out.not_ended[:MOST_NAMED]:
        click.echo(f"{one_line(run)}: the conversation did not end, so it is not judged", err=as_json)
    if (more := len(left_out.not_ended) - MOST_NAMED) > 0:
        click.echo(f"{counted(more, 'further conversation')} did not end, so they are not judged", err=as_json)
    for run, gap in itertools.islice(left_out.gaps.items(), MOST_NAMED):
        click.echo(f"{one_line(run)}: {gap}, so the conversation is not judged", err=as_json)
    if (more := len(left_out.gaps) - MOST_NAMED) > 0:
        click.echo(f"{counted(more, 'further conversation')} with missing rounds not judged", err=as_json)


def _new(
    journals: tuple[str, ...], other: str | None, rubric: Path | None, out: Path | None, given: dict[str, Any]
) -> tuple[Path, JournalsRequest]:
    references = [split_reference(journal) for journal in journals] or [(newest_journal(), None)]
    case = load_case(find_case(other)) if other is not None else None
    if case is not None and rubric is not None:
        fail("viva judge: --case and --rubric cannot be combined: both say which points recordings are judged by.")
    points = None if rubric is None else load_rubric(rubric)
    folder = new_journal_folder(out, derived_name(references[0][0], "judged"))
    refuse_journal(folder)
    return folder, journals_request("judge", references, options_from(given), case, points)


def _order(judging: Judging) -> Any:
    """Return a sort key: the order of the journals that were read, not the order in which judging ended."""
    order = {run: number for number, run in enumerate(judging.order)}
    return lambda record: order.get(record.id, len(order))


def _report(records: list[RunRecord], figures: Figures, request: JournalsRequest, folder: Path, *, quiet: bool) -> None:
    console = Console()
    scores = {record.id: record.score for record in records}
    # Only for changed scores: the old records of a large journal are not kept. A first score is not a change.
    before = {
        old.id: "it had no score" if old.score is None else f"the score was {score_line(old)}"
        for journal, only in request.journals
        for old in read_records(journal)
        if only in (None, old.id) and old.score != scores.get(old.id, old.score) and not is_unscored(old)
    }
    for record in records:
        if len(records) == 1 and not quiet:
            console.print(run_report(record, folder))
        elif quiet or record.id in before:
            click.echo(f"{one_line(record.id)} {record.outcome.value} {score_line(record)}")
        if record.id in before:
            click.echo(f"{one_line(record.id)}: {before[record.id]}")
    if len(records) > 1 and not quiet:
        print_whole(console, suite_report(figures, folder, again="viva judge"))
