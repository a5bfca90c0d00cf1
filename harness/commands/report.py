"""The command `viva report JOURNAL…`: reports on journals in a format for readers or for other programs."""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import click

from harness.commands import completion
from harness.commands.process import fail, report_user_errors
from harness.exam.journal_paths import newest_journal
from harness.reports.formats import ENDINGS, FORMATS, format_for, writer
from records.journal import JournalError
from records.text import printable

PAGE = "report.html"


@click.command("report")
@click.argument("journals", nargs=-1, metavar="[JOURNAL]...", shell_complete=completion.paths)
@click.option(
    "--format",
    "kind",
    metavar="NAME",
    help=f"{', '.join(FORMATS.builtin)}, one of an installed package, package.module:write, or file.py:write. "
    f"[default: console, or by the ending of --out: {', '.join(ENDINGS)}]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=f"The output file; - is standard output. [default: standard output; for html {PAGE} in the first journal]",
)
@click.option(
    "--threshold", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Minimum score of a passing run."
)
@click.option("--open", "open_", is_flag=True, help="Open the page in the browser (html).")
@report_user_errors
def command(journals: tuple[str, ...], kind: str | None, out: Path | None, threshold: float, open_: bool) -> None:
    """Report on all JOURNALs together: folders, or FOLDER#RUN-ID for one run. [default: the newest under runs/]"""
    from harness.reports.journals import joined

    if kind is None:
        kind = "html" if open_ and out is None else "console" if out in (None, Path("-")) else format_for(out)
    if open_ and (kind != "html" or out == Path("-")):
        fail("viva report: --open requires --format html and a file.")
    write = writer(kind)
    subject = joined(journals or [str(newest_journal())], threshold)
    subject.check()
    if kind == "html" and out is None:
        out = subject.locations[0][0] / PAGE
    if out is None or out == Path("-"):
        if kind == "console":
            write(subject, sys.stdout)
        else:
            with _stdout() as file:
                write(subject, file)
        return
    with _file(out) as file:
        write(subject, file)
    click.echo(printable(f"written: {out}"), err=True)
    if open_:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())


@contextlib.contextmanager
def _stdout() -> Iterator[TextIO]:
    """Open standard output as UTF-8 without line-end translation, whatever the locale: the formats prescribe both."""
    file = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    try:
        yield file
        file.flush()
    finally:
        file.detach()


@contextlib.contextmanager
def _file(out: Path) -> Iterator[TextIO]:
    """Open a file that appears under its name when it is complete.

    Raises:
        JournalError: the file cannot be written.
    """
    part = out.with_name(f".{out.name}.{os.getpid()}.{secrets.token_hex(8)}.part")
    made = False
    try:
        _sweep(out)
        # The name is random, so nobody can have planted a link under it, and links are not followed.
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        made = True
        with open(fd, "w", encoding="utf-8", newline="") as file:
            yield file
        part.replace(out)
    except OSError as error:
        raise JournalError(f"cannot write {out}: {error.strerror}. Choose another file with --out.") from error
    finally:
        if made:
            part.unlink(missing_ok=True)


def _sweep(out: Path) -> None:
    """Remove the files of reports that were killed; the name of each file contains the id of its process."""
    form = re.compile(rf"\.{re.escape(out.name)}\.(\d{{1,9}})(?:\.[0-9a-f]{{16}})?\.part")
    for entry in os.scandir(out.parent):
        if (match := form.fullmatch(entry.name)) and not _lives(int(match[1])):
            with contextlib.suppress(OSError):
                # A link is removed itself, not its target.
                os.unlink(entry.path)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
