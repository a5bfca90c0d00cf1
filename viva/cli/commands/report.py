"""The command `viva report JOURNAL…`: reports on journals in a format for readers or for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.cli import completion
from viva.cli.options import max_examiner_faults_option
from viva.cli.parameter_types import OUTPUT_FILE, NumberRange
from viva.cli.process import fail, report_user_errors
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.journal.paths import newest_journal
from viva.records.text import printable
from viva.reports.formats import ENDINGS, FORMATS, choose_format, writer
from viva.reports.output_file import is_standard_output, output_file

if TYPE_CHECKING:
    from viva.reports.journals import Journals

PAGE = "report.html"


@click.command("report")
@click.argument("journals", nargs=-1, metavar="[JOURNAL]...", shell_complete=completion.paths)
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
@click.option("--open", "open_", is_flag=True, help="Open the page in the browser (html).")
@max_examiner_faults_option
@report_user_errors
def command(
    journals: tuple[str, ...],
    kind: str | None,
    out: Path | None,
    threshold: float,
    open_: bool,
    max_examiner_faults: float | None,
) -> None:
    """Report on all JOURNALs together: folders, or FOLDER#RUN-ID for one run. [default: the newest under runs/]"""
    from viva.reports.journals import joined

    kind = "html" if open_ and kind is None and out is None else choose_format(out, kind)
    to_stdout = is_standard_output(out) and not (kind == "html" and out is None)
    if open_ and (kind != "html" or to_stdout):
        fail("viva report: --open requires --format html and a file.")
    write = writer(kind)
    subject = joined(journals or [str(newest_journal())], threshold)
    subject.check()
    if to_stdout and kind == "console":
        write(subject, sys.stdout)
        _tell_damage(subject, shown=True)
        _gate(subject, max_examiner_faults)
        return
    beside = kind == "html" and out is None
    target = subject.locations[0][0] / PAGE if beside else out
    try:
        # The journal may be a stranger's: a link under the default name was not put there by the user.
        with output_file(target, follow_links=not beside) as file:
            write(subject, file)
    except BrokenPipeError:  # `viva report --format csv | head`
        raise SystemExit(EXIT_DONE) from None
    if not to_stdout:
        assert target is not None
        click.echo(printable(f"written: {target}"), err=True)
    if open_ and target is not None:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())
    _tell_damage(subject, shown=kind == "console")
    _gate(subject, max_examiner_faults)


def _gate(subject: Journals, max_examiner_faults: float | None) -> None:
    """Exit with the code of the gate on the examiner, if there is one."""
    if max_examiner_faults is None:
        return
    from viva.suites.rate_gates import gate_on_examiner

    code, words = gate_on_examiner(subject.figures(), max_examiner_faults)
    if words:
        click.echo(words, err=True)
    raise SystemExit(code)


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
