"""The command `viva run CASE`: runs one exam, as a suite of one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from viva.adapters.connectors.spec import FORMS
from viva.cases import find_case, load_case
from viva.cli import completion
from viva.cli.daily.watch import WatchedCommand, given_out, watch_and_exit, watch_option
from viva.cli.options import options_from, output_options, refuse_gate_without_agent, shared_options
from viva.cli.process import fail, report_user_errors, run_async, separate_stdout
from viva.cli.project.used_file import ProjectCommand, Used, nearest_project, taken_from_file, trust_option
from viva.cli.stopping import STOPPED
from viva.errors import SetupError
from viva.exam.examiners import with_chosen_names
from viva.exam.option_declaration import Part
from viva.journal.paths import new_journal_folder
from viva.journal.reader import read_records
from viva.records.codec import to_plain
from viva.records.redact import redacted, redacted_line
from viva.records.text import one_line
from viva.records.wording import score_line
from viva.reports.console.run import run_report
from viva.reports.console.whys import quoted
from viva.reports.progress.reporter import ConsoleDisplay
from viva.sinks import make_sinks
from viva.statistics.summary import summarize
from viva.suites.conduct import Surroundings
from viva.suites.gate_checks import PlannedGates
from viva.suites.gates import gate, parse_gates
from viva.suites.plan import planned_runs
from viva.suites.request import SuiteRequest
from viva.suites.suite import holds_single_runs, run_suite


class OneExam(ProjectCommand):
    """A command with defaults in the section `run` of `viva.yaml`, which names `viva suite` for its options."""

    def section(self, typed: Mapping[str, Any]) -> Used | None:
        """Return the section `run` of the nearest file. One of another user is not used, unless it is trusted.

        Raises:
            CaseError: the file is not sound.
        """
        trusted = typed.get("trust") is True
        try:
            project = nearest_project(trusted=trusted)
        except SetupError as error:
            click.echo(redacted(f"viva: not used: {error}"), err=True)
            return None
        return None if project is None or project.run is None else Used(project, project.run, "", trusted)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments as click does."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from viva.cli.commands import suite  # only after a mistake

            if any(error.option_name in each.opts for each in suite.command.params):
                ctx.fail(f"{error.option_name} is an option of viva suite, not of viva run, which runs one exam.")
            raise


def _one(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> str | None:
    """Return the only value of a parameter, and refuse several, which would otherwise be ignored but for the last."""
    if len(values) > 1 and not ctx.resilient_parsing:
        words = "case" if isinstance(param, click.Argument) else "agent"
        ctx.fail(f"viva run tests one {words}, and was given {len(values)}. To test several, use viva suite.")
    return values[0] if values else None


def _watched(context: click.Context) -> WatchedCommand:
    """Return what a command with these parameters watches."""
    case, agent = context.params["case"], context.params["agent"]
    agents = () if agent is None else (agent,)
    paths = (str(find_case(case)),)
    return WatchedCommand(paths, agents, lambda: [load_case(find_case(case))], filters=False, out=given_out(context))


@click.command("run", cls=OneExam)
@click.argument("case", nargs=-1, required=True, metavar="CASE", callback=_one, shell_complete=completion.cases)
@click.option(
    "--agent",
    metavar="SPEC",
    multiple=True,
    callback=_one,
    help=f"Agent to test: {FORMS}. [default: the bundled careful agent]",
)
@trust_option
@shared_options(Part.JUDGE, Part.EXAMINER, Part.AGENT, Part.SUITE)
@output_options
@watch_option
@report_user_errors
def command(
    case: str,
    agent: str | None,
    out: Path | None,
    sinks: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    fail_under: tuple[str, ...],
    watch: bool,
    **given: Any,
) -> None:
    """Test an agent with CASE (the name of a bundled case, or the path of a case folder), and report the verdicts."""
    gates = parse_gates(fail_under)
    agents = () if agent is None else (agent,)
    refuse_gate_without_agent("run", agents, {"--fail-under": fail_under})
    if watch:
        watch_and_exit(_watched)
    exam = load_case(find_case(case))
    options = with_chosen_names(options_from(given), several=False)
    request = SuiteRequest(
        command="run", paths=(exam.reference,), agents=agents, options=options, from_file=taken_from_file()
    )
    folder = new_journal_folder(out, exam.name)
    display = ConsoleDisplay(Console(stderr=True), show=not (as_json or quiet))
    resumed = holds_single_runs(folder, exam)
    # An agent may change the working directory.
    absolute = folder.absolute()
    around = Surroundings(display, make_sinks(sinks))
    try:
        with separate_stdout():
            run_async(
                run_suite(request, absolute, around, resumed=resumed, fresh=resumed, gates=PlannedGates(floors=gates))
            )
    except KeyboardInterrupt:
        again = f"to take the exam again there, repeat the command with --out {quoted(str(folder))}"
        fail(
            f"viva: stopped. The rounds so far are kept; to print them: viva replay {quoted(str(folder))}; {again}",
            STOPPED,
        )
    ((header, _),) = planned_runs(request, [exam])
    record = next(record for record in read_records(absolute) if record.id == header.id)
    if as_json:
        click.echo(json.dumps({"journal": str(folder), "run": to_plain(record, full=True)}))
    elif quiet:
        click.echo(f"{one_line(record.subject, 80)} {record.outcome.value} {score_line(record)}")
        if record.error:
            click.echo(f"viva: {redacted_line(record.error, 1000)}", err=True)
    else:
        Console().print(run_report(record, folder))
    code, words = gate(summarize([record]), gates)
    if words:
        click.echo(words, err=True)
    raise SystemExit(code)
