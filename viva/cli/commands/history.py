"""The command `viva history JOURNAL…`: shows how scores changed over time and agent versions, regressions first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from viva.cli import completion
from viva.cli.process import report_user_errors
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.exam.run_history import history_of
from viva.records.run_record import RunRecord
from viva.records.text import one_line
from viva.reports.console.cause_trends import cause_trend_tables, cause_trends_plain
from viva.reports.console.trends import trends_plain, trends_report
from viva.statistics.causes.cause_trends import CauseTrendTally
from viva.statistics.causes.names import CauseNames
from viva.statistics.over_time.trends import Conversations, find_trends
from viva.suites.resuming.stored_request import selection_words


@click.command("history")
@click.argument("journals", nargs=-1, metavar="[JOURNAL]...", shell_complete=completion.journals)
@click.option("--task", "tasks", multiple=True, metavar="NAME", help="Only this case or task. Can be repeated.")
@click.option("--all", "everything", is_flag=True, help="Show every trend, including flat ones.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the report.")
@report_user_errors
def command(journals: tuple[str, ...], tasks: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Show the trends of all JOURNALs together: per task, agent, evaluator and dimension. [default: all under runs/]

    A JOURNAL is a folder, FOLDER#RUN-ID, a file that the sink `jsonl` wrote, or a history of your own
    (package.module:Thing, file.py:Thing). The newest agent version is compared with the one before it; without
    versions, the newest quarter of the runs with all before them. The causes of misses are followed from JOURNAL to
    JOURNAL. The exit code is 3 if no run has a score.
    """
    history = history_of(journals)
    conversations = Conversations()
    tally = CauseTrendTally(conversations)

    def watched() -> Iterator[RunRecord]:
        for where, record in history.entries(quick=True):
            if not tasks or record.subject in tasks:
                tally.add(record, where.removesuffix(f"#{record.id}"))
                yield record

    found = find_trends(watched(), conversations)
    notes = list(_parts(history.folders()))
    causes = tally.trends(CauseNames(folder for folder, _ in history.folders()))
    if as_json:
        plain = {**trends_plain(found), "causes": cause_trends_plain(causes)}
        plain |= {"notes": notes} if notes else {}
        click.echo(json.dumps({**plain, "torn_lines": history.damage.torn, "newer_lines": history.damage.unknown}))
    else:
        tables = cause_trend_tables(causes, everything=everything)
        Console().print(trends_report(found, everything=everything, further=tables))
        for note in notes:
            Console(stderr=True).print(Text(f"note: {note}", style="yellow"), soft_wrap=True)
        if skipped := history.damage.words():
            Console(stderr=True).print(Text(f"note: {skipped} skipped", style="yellow"))
    raise SystemExit(EXIT_DONE if found.trends else EXIT_NOT_SCORED)


def _parts(journals: Sequence[tuple[Path, str | None]]) -> Iterator[str]:
    """Yield how the runs of each journal were chosen, if they were: the choice may look like a trend."""
    for folder, run in journals:
        yield from (f"{one_line(str(folder), 300)}: {words}" for words in selection_words(folder, run))
