"""The command `viva compare A [B]`: compares two suites, or two agents of one suite, case by case."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import click
from rich.console import Console
from rich.text import Text

from viva.cli import completion
from viva.cli.parameter_types import NumberRange
from viva.cli.process import report_user_errors
from viva.errors import SetupError
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.journal.reader import read_records, split_reference
from viva.journal.writer import Damage, JournalError
from viva.records.text import one_line, printable
from viva.reports.console.changed_causes import change_plain
from viva.reports.console.comparison import comparison_plain, comparison_report
from viva.reports.console.whys import print_whole
from viva.statistics.causes.changes import CauseChange, CauseChanges
from viva.statistics.causes.names import CauseNames
from viva.statistics.comparison import PairedComparison, compare, part_notes
from viva.statistics.comparison_inputs import Runs, choose_agents
from viva.statistics.findings import findings
from viva.suites.resuming.stored_request import selection_words


@click.command("compare")
@click.argument("first", metavar="A", shell_complete=completion.journals)
@click.argument("second", metavar="[B]", required=False, shell_complete=completion.journals)
@click.option(
    "--agents",
    nargs=2,
    metavar="X Y",
    help="Compare agent X of A with agent Y of B (or of A, without B). Part of a SPEC is enough.",
)
@click.option(
    "--threshold", type=NumberRange(0, 1), default=1.0, show_default=True, help="Minimum score of a passing run."
)
@click.option(
    "--evaluator", metavar="NAME", help="Compare this evaluator's scores. [default: those of each run's primary one]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the report.")
@click.option("--quiet", is_flag=True, help="Print the conclusions only.")
@report_user_errors
def command(
    first: str,
    second: str | None,
    agents: tuple[str, str] | None,
    threshold: float,
    evaluator: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare journal B with journal A, or two agents of A, on the cases that both have.

    Without --agents, this compares the two agents of one journal, the only agent of each journal, or every agent of
    both journals with itself. The exit code is 3 if there is nothing to compare.
    """
    damage = Damage()
    folders = (split_reference(each)[0] for each in (first, second) if each is not None)
    causes = CauseChanges(CauseNames(folders))
    one = runs_of(first, damage, evaluator, causes)
    two = one if second is None else runs_of(second, damage, evaluator, causes, 1)
    pairs = choose_agents(one, two, agents)
    results = [(pair, compare(one, two, pair, threshold)) for pair in pairs]
    changes = {pair: causes.between((0, pair[0]), (0 if second is None else 1, pair[1])) for pair in pairs}
    if as_json:
        click.echo(json.dumps(_plain(one, two, results, changes, damage)))
    else:
        _report(results, changes, damage, quiet=quiet)
        for words in part_notes(one, two) if quiet else ():
            click.echo(printable(f"note: {words}"), err=True)
    raise SystemExit(EXIT_DONE if all(found is not None for _, found in results) else EXIT_NOT_SCORED)


def runs_of(
    reference: str, damage: Damage, evaluator: str | None, causes: CauseChanges | None = None, journal: int = 0
) -> Runs:
    """Read the finished runs of `FOLDER` or `FOLDER#RUN-ID`.

    Args:
        reference: The journal.
        damage: Counts the lines that cannot be read.
        evaluator: Whose scores are compared; None for each run's primary evaluator.
        causes: Collects what the runs missed.
        journal: The number of the journal there.

    Raises:
        JournalError: there is no journal, or no such finished run in it.
        SetupError: no run of it names the evaluator.
    """
    folder, run = split_reference(reference)
    read = read_records(folder, damage, quick=True)
    records = (record for record in read if run is None or record.id == run)
    watched = records if causes is None else causes.watched(records, journal)
    found = Runs(folder, watched, evaluator, selection_words(folder, run))
    if not found.agents:
        what = f"no finished run {run!r}" if run else "no finished run"
        raise JournalError(f"{folder} holds {what}: there is nothing to compare.")
    if evaluator is not None and evaluator not in found.evaluators:
        names = ", ".join(one_line(name, 80) for name in list(found.evaluators)[:12]) or "none"
        raise SetupError(f"no run in {folder} was judged by an evaluator {evaluator!r}. Available: {names}.")
    return found


def _plain(
    one: Runs,
    two: Runs,
    results: list[tuple[tuple[str, str], PairedComparison | None]],
    changes: Mapping[tuple[str, str], Sequence[CauseChange]],
    damage: Damage,
) -> dict[str, object]:
    return {
        "a": str(one.journal),
        "b": str(two.journal),
        "comparisons": [
            {**comparison_plain(found), "causes": [change_plain(each) for each in changes[pair]]}
            for pair, found in results
            if found is not None
        ],
        "nothing_in_common": [list(pair) for pair, found in results if found is None],
        "torn_lines": damage.torn,
        "newer_lines": damage.unknown,
    }


def _report(
    results: list[tuple[tuple[str, str], PairedComparison | None]],
    changes: Mapping[tuple[str, str], Sequence[CauseChange]],
    damage: Damage,
    *,
    quiet: bool,
) -> None:
    console = Console()
    for number, (pair, found) in enumerate(results):
        if number and not quiet:
            console.print()
        if found is None:
            names = " and ".join(one_line(agent, 100) for agent in dict.fromkeys(pair))
            click.echo(f"{names}: no case has a counted run on both sides.")
        elif quiet:
            for line in findings(found):
                click.echo(printable(line))
        else:
            print_whole(console, comparison_report(found, changes[pair]))
    if skipped := damage.words():
        Console(stderr=True).print(Text(f"note: {skipped} skipped", style="yellow"))
