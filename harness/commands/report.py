"""`viva report JOURNAL…`: shows what journals hold, in the form that somebody or some program wants to read."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from harness.commands.process import fail, report_user_errors
from harness.exam.journal_paths import newest_journal
from records.journal import JournalError

if TYPE_CHECKING:
    from harness.reports.journals import Journals

FORMATS = {
    "console": "harness.reports.console",
    "csv": "harness.reports.csv_table",
    "json": "harness.reports.json_document",
    "junit": "harness.reports.junit",
    "markdown": "harness.reports.markdown",
    "html": "harness.reports.page",
}
ENDINGS = {".csv": "csv", ".json": "json", ".xml": "junit", ".md": "markdown", ".html": "html"}
PAGE = "report.html"


@click.command("report")
@click.argument("journals", nargs=-1, metavar="[JOURNAL]...")
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(FORMATS)),
    help="[default: console, or what the ending of --out says]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=f"Where to write; - is standard output. [default: standard output; for html {PAGE} in the first journal]",
)
@click.option(
    "--threshold", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Score from which a run passes."
)
@click.option("--open", "open_", is_flag=True, help="Open the page in the browser (html).")
@report_user_errors
def command(journals: tuple[str, ...], kind: str | None, out: Path | None, threshold: float, open_: bool) -> None:
    """Report on each JOURNAL, joined: a folder, or FOLDER#RUN-ID for one run. [default: the newest under runs/]"""
    from harness.reports.journals import joined

    if kind is None:
        kind = ENDINGS.get(out.suffix.lower(), "console") if out is not None else "html" if open_ else "console"
    if open_ and (kind != "html" or out == Path("-")):
        fail("viva report: --open goes with --format html and a file.")
    subject = joined(journals or [str(newest_journal())], threshold)
    subject.check()
    if kind == "html" and out is None:
        out = subject.places[0][0] / PAGE
    write = _writer(kind)
    if out is None or out == Path("-"):
        if kind == "console":
            write(subject, sys.stdout)
        else:
            with _stdout() as file:
                write(subject, file)
        return
    with _file(out) as file:
        write(subject, file)
    click.echo(f"written: {out}", err=True)
    if open_:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())


def _writer(kind: str) -> Callable[[Journals, TextIO], None]:
    writer: Callable[[Journals, TextIO], None] = importlib.import_module(FORMATS[kind]).write
    return writer


@contextmanager
def _stdout() -> Iterator[TextIO]:
    """Standard output as UTF-8 without translated line ends, whatever the locale: the formats prescribe both."""
    file = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    try:
        yield file
        file.flush()
    finally:
        file.detach()


@contextmanager
def _file(out: Path) -> Iterator[TextIO]:
    """A file that appears when it is whole.

    Raises:
        JournalError: it cannot be written.
    """
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        part.replace(out)
    except OSError as error:
        raise JournalError(f"cannot write {out}: {error.strerror}. Choose another file with --out.") from error
    finally:
        part.unlink(missing_ok=True)
