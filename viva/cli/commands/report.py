"""The command `viva report JOURNAL…`: reports on journals in a format for readers or for other programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.cli import completion
from viva.cli.daily.filter_options import filter_options, filters_from, refuse_gate_by_results
from viva.cli.label_options import check_corrected, gate_with_labels, label_options, labels_from
from viva.cli.options import max_examiner_faults_option
from viva.cli.parameter_types import OUTPUT_FILE, NumberRange
from viva.cli.process import fail, report_user_errors
from viva.exam.outcome import EXIT_NOT_SCORED
from viva.journal.paths import newest_journal
from viva.records.text import one_line, printable
from viva.reports.formats import ENDINGS, FORMATS, choose_format, writer
from viva.reports.output_file import is_standard_output, output_file
from viva.streams import reader_left

if TYPE_CHECKING:
    from viva.reports.journals import Journals
    from viva.suites.gates import Gates

PAGE = "report.html"


@click.command("report")
@click.argument("journals", nargs=-1, metavar="[JOURNAL]...", shell_complete=completion.journals)
@filter_options("Only runs")
@click.option(
    "--format",
    "kind",
    metavar="NAME",
    help=f"Format of the report: {', '.join(FORMATS.builtin)}, one of an installed package, "
    "package.module:write, or file.py:write. "
    f"[default: console, or by the file extension of --out: {', '.join(ENDINGS)}]",
)
@click.option(
    "--out",
    type=OUTPUT_FILE,
    metavar="FILE",
    help=f"The output file; - is standard output. [default: standard output; for html {PAGE} in the first journal]",
)
@click.option(
    "--threshold", type=NumberRange(0, 1), default=1.0, show_default=True, help="Minimum score of a passing run."
)
@click.option(
    "--by",
    multiple=True,
    metavar="row.COLUMN|metadata.KEY",
    help="Also figures for each value of this column of families, or of this entry of the cases' metadata. Can be "
    "repeated.",
)
@click.option("--open", "open_", is_flag=True, help="Open the page in the browser (html).")
@max_examiner_faults_option
@label_options
@click.option(
    "--fail-under",
    multiple=True,
    metavar="[EVALUATOR=]SCORE",
    help="Exit with 1 if the low bound of an agent's mean score is below this. Can be repeated.",
)
@report_user_errors
def command(
    journals: tuple[str, ...],
    kind: str | None,
    out: Path | None,
    threshold: float,
    by: tuple[str, ...],
    open_: bool,
    max_examiner_faults: float | None,
    label_files: tuple[Path, ...],
    corrected: bool,
    fail_under: tuple[str, ...],
    **given: Any,
) -> None:
    """Report on all JOURNALs together: folders, or FOLDER#RUN-ID for one run. [default: the newest under runs/]"""
    from viva.reports.journals import joined
    from viva.suites.gates import parse_gates

    kind = "html" if open_ and kind is None and out is None else choose_format(out, kind)
    to_stdout = is_standard_output(out) and not (kind == "html" and out is None)
    if open_ and (kind != "html" or to_stdout):
        fail("viva report: --open requires --format html and a file.")
    write = writer(kind)
    floors = parse_gates(fail_under)
    check_corrected(floors, label_files, corrected=corrected)
    labels = labels_from(label_files, gated=corrected)
    filters = filters_from(given, threshold)
    subject = joined(journals or [str(newest_journal())], threshold, labels, filters, by=by)
    subject.check()
    folders = [folder for folder, _ in subject.locations]
    gates = {"--fail-under": fail_under, "--max-examiner-faults": max_examiner_faults}
    refuse_gate_by_results(filters, folders, gates)
    subject = replace(subject, notes=(*subject.named_alone(), *_parts(folders)))
    if to_stdout and kind == "console":
        write(subject, sys.stdout)
        _tell_damage(subject, shown=True)
        _gate(subject, floors, max_examiner_faults, corrected=corrected)
        return
    beside = kind == "html" and out is None
    target = subject.locations[0][0] / PAGE if beside else out
    try:
        # The journal may be a stranger's: a link under the default name was not put there by the user.
        with output_file(target, follow_links=not beside) as file:
            write(subject, file)
    except BrokenPipeError:  # `viva report --format csv | head`: the rest is not written, and the gate decides
        if not reader_left():
            raise
    if kind == "html" and not to_stdout and target is not None:
        from viva.reports.page.page_files import sweep

        sweep(Path(os.path.realpath(target)))
    if not to_stdout:
        assert target is not None
        click.echo(printable(f"written: {target}"), err=True)
    if open_ and target is not None:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())
    if kind != "console":
        _tell_caveats(subject)
    _tell_damage(subject, shown=kind == "console")
    _gate(subject, floors, max_examiner_faults, corrected=corrected)


def _parts(folders: Sequence[Path]) -> Iterator[str]:
    """Yield a line for each journal that holds only a part of a suite, which would otherwise look like the whole."""
    from viva.suites.adaptive.words import lines_about
    from viva.suites.resuming.stored_request import part_words

    several = len(folders) > 1
    for folder in dict.fromkeys(folders):
        if words := part_words(folder):
            yield f"{one_line(str(folder), 300)}: {words}" if several else words
        for line in lines_about(folder):
            yield f"{one_line(str(folder), 300)}: {line}" if several else line


def _tell_caveats(subject: Journals) -> None:
    """Say what the report leaves out, also where the format has no place for it."""
    for words in subject.caveats():
        click.echo(f"note: {words}", err=True)


def _gate(subject: Journals, floors: Gates, max_examiner_faults: float | None, *, corrected: bool) -> None:
    """Exit with the code of the gates, if there are any."""
    if max_examiner_faults is None and not floors.are_set:
        return
    if floors.are_set:
        code, words = gate_with_labels(subject.figures(), floors, max_examiner_faults, corrected=corrected)
    else:
        from viva.suites.rate_gates import gate_on_examiner

        code, words = gate_on_examiner(subject.figures(), max_examiner_faults)
    if missing := "; ".join(_missing(subject)):
        from viva.suites.judging_gates.flips import joined_gates

        code, words = joined_gates((code, words), (EXIT_NOT_SCORED, f"some runs could not be completed: {missing}"))
    if words:
        click.echo(words, err=True)
    raise SystemExit(code)


def _missing(subject: Journals) -> Iterator[str]:
    """Yield what of the work on each journal is missing, as far as the report is about it."""
    from viva.suites.resuming.work_left import work_left

    several = len({folder for folder, _ in subject.locations}) > 1
    for (_, run), (folder, index, kept) in zip(subject.locations, subject.indexes(), strict=True):
        if left := ", ".join(work_left(folder, index, kept, named=run is not None)):
            yield f"{one_line(str(folder), 300)}: {left}" if several else left


def _tell_damage(subject: Journals, *, shown: bool) -> None:
    """Report which parts of the journals could not be read: most formats have no place for it.

    Args:
        subject: The journals.
        shown: Whether the report itself has said that some lines were skipped.
    """
    lost = subject.unreadable()
    for folder, words in lost.items():
        click.echo(printable(f"viva: no line of the journal {folder} can be read: {words}"), err=True)
    if lost:
        raise SystemExit(EXIT_NOT_SCORED)
    if not shown and (skipped := subject.damage.words("unreadable line")):
        click.echo(f"note: {skipped} of the journal skipped", err=True)
