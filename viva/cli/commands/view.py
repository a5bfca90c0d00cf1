"""The command `viva view JOURNAL…|FOLDER`: the live viewer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.cli import completion
from viva.cli.labelling.raters import user_name
from viva.cli.parameter_types import OUTPUT_FILE, NumberRange
from viva.cli.process import fail, report_user_errors
from viva.journal.paths import RUNS
from viva.records.redact import redacted
from viva.records.text import counted, printable

if TYPE_CHECKING:
    from viva.viewer.watched import WatchedJournal


@click.command("view")
@click.argument("paths", nargs=-1, metavar="[JOURNAL|FOLDER]...", shell_complete=completion.journals)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on. [default: a free one]")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on. With another one than the default, everybody who can reach this machine and knows the "
    "token in the address can read the journals; the connection is not encrypted.",
)
@click.option(
    "--threshold", type=NumberRange(0, 1), default=1.0, show_default=True, help="Minimum score of a passing run."
)
@click.option("--rater", metavar="NAME", help="Who labels and comments. [default: your user name]")
@click.option(
    "--labels",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Label scoring points there, as `viva label` does, into this file.",
)
@click.option(
    "--export",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write the page with these journals as static files, for a browser without Viva, and end. An earlier export "
    "there is replaced.",
)
@click.option("--no-open", is_flag=True, help="Print the address, and open no browser.")
@report_user_errors
def command(
    paths: tuple[str, ...],
    port: int,
    host: str,
    threshold: float,
    rater: str | None,
    labels: Path | None,
    export: Path | None,
    no_open: bool,
) -> None:
    """Show journals in the browser. Suites in progress are shown live.

    Journals are found below each FOLDER. [default: runs/]
    """
    from viva.viewer.found import find_journals
    from viva.viewer.server import LOCAL, Viewer
    from viva.viewer.watched import WatchedJournal

    reader = (rater if rater is not None else user_name()).strip()
    if not reader:
        fail("viva view: --rater is empty; name who labels and comments.")
    folders = find_journals([Path(path) for path in paths] or [RUNS])
    journals = [WatchedJournal(folder, threshold) for folder in folders]
    if export is not None:
        _export(journals, export, serves=bool(port or labels or host != LOCAL))
        return
    try:
        server = Viewer(journals, host, port, rater=reader, labels=labels)
    except OSError as error:
        fail(f"viva view: cannot listen on {printable(host)}:{port}: {error.strerror}. Choose another --port.")
    with server:
        server.follower.start()
        click.echo(f"{server.address}")
        if host != LOCAL:
            click.echo("Everybody who knows this address can read these journals, also from other machines.", err=True)
        click.echo("Ctrl-C ends the viewer.", err=True)
        if not no_open:
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.2)
        finally:
            server.follower.stop()


def _export(journals: Sequence[WatchedJournal], folder: Path, *, serves: bool) -> None:
    from viva.journal.errors import JournalError
    from viva.viewer.export.exporting import write_export

    if serves:
        fail("viva view: --export starts no server; leave out --port, --host and --labels.")
    readable: list[WatchedJournal] = []
    for journal in journals:
        try:
            journal.follow()
        except JournalError as error:
            if journal is journals[-1] and not readable:
                raise
            click.echo(f"note: left out: {redacted(str(error))}", err=True)
        else:
            readable.append(journal)
    made = write_export(readable, folder)
    told = f"{counted(made.runs, 'run')} and {counted(made.rounds, 'round')} written"
    click.echo(f"{printable(str(folder / 'index.html'))}: {told}")
    if made.left_out:
        click.echo(f"note: {counted(made.left_out, 'file')} of agents left out because of the size", err=True)
