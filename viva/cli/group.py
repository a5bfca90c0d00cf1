"""The `viva` command as click sees it. Subcommands are imported when they are called, so that `viva --help` is fast."""

from __future__ import annotations

from typing import Any

import click

from viva.cli.lazy import imported
from viva.cli.stopping import STOPPED
from viva.version import viva_version

COMMANDS = {
    "init": ("viva.cli.init.command", "Write a first adapter, case, suite or CI workflow, and try it."),
    "run": ("viva.cli.commands.run", "Test one agent with one case."),
    "suite": ("viva.cli.commands.suite", "Test agents with many cases and several trials, concurrently."),
    "status": ("viva.cli.daily.status", "Show the progress of a suite, and what failed so far."),
    "pause": ("viva.cli.daily.pause", "Keep a suite from starting further runs."),
    "resume": ("viva.cli.daily.resume", "Let a paused suite continue."),
    "requeue": ("viva.cli.daily.requeue", "Requeue runs that ended with an error."),
    "replay": ("viva.cli.commands.replay", "Print stored conversations, or ask another agent the same questions."),
    "bisect": ("viva.cli.bisecting.command", "Find the round after which a failed conversation no longer succeeds."),
    "judge": ("viva.cli.commands.judge", "Score stored conversations again."),
    "trace": ("viva.cli.commands.trace", "Import recorded conversations, and judge them."),
    "report": ("viva.cli.commands.report", "Report on journals as tables, a page, or files for other programs."),
    "view": ("viva.cli.commands.view", "Show journals in the browser, live while a suite is in progress."),
    "compare": ("viva.cli.commands.compare", "Compare two suites or two agents, paired by case."),
    "history": ("viva.cli.commands.history", "Show how scores changed over time and agent versions."),
    "analyze": ("viva.cli.commands.analyze", "Have a model analyze journals, and recommend improvements."),
    "label": ("viva.cli.commands.label", "Label scoring points, to calibrate the judge."),
    "calibrate": ("viva.cli.commands.calibrate", "Show how far raters agree, and a judge with people."),
    "cases": ("viva.cli.commands.cases", "List the bundled cases, or check and lint case folders."),
    "import": ("viva.cli.commands.import_cases", "Make cases of other tools' cases, datasets and results."),
    "export": ("viva.cli.commands.export_cases", "Write cases and conversations for other tools."),
    "sandbox": ("viva.cli.commands.sandbox", "Build the sandbox's base image, or remove leftover containers."),
    "trust": ("viva.cli.project.trust_command", "Show what a viva.yaml would run, and trust it until it changes."),
    "mcp": ("viva.cli.assistants.command", "Serve tools to a coding assistant by MCP."),
    "docs": ("viva.cli.commands.docs", "Print or search the pages of documentation."),
    "doctor": ("viva.cli.commands.doctor", "Report what is missing on this machine, and how to install it."),
}


class LazyGroup(click.Group):
    """A group that imports a subcommand's module when the subcommand is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, in the order in which a new user needs them."""
        return list(COMMANDS)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a subcommand; a signal while its module is imported ends the process as one in the subcommand does."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click's exit code for it is 1, which a gate would take for a low score
            click.echo("viva: stopped.", err=True)
            ctx.exit(STOPPED)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one subcommand."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = imported(COMMANDS[cmd_name][0]).command
        if ctx.resilient_parsing:  # the shell asks how a line goes on
            from viva.cli.completion import complete_options

            return complete_options(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does, and suggest the nearest one for an unknown name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            # Imported only after a mistake.
            from difflib import get_close_matches

            from viva.records.text import one_line

            near = get_close_matches(args[0], COMMANDS, 1)
            meant = f" Did you mean {near[0]!r}?" if near else f" The commands are {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {one_line(args[0], 60)!r}.{meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands from the table above, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


def _version(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if not value or ctx.resilient_parsing:
        return
    click.echo(f"viva {viva_version()}")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def viva() -> None:
    """Test AI agents with an oral exam: an Examiner talks to the agent, a Judge scores what it said and did.

    Exit codes: 0 done, 1 below --fail-under, dropped by more than --max-drop, or above --max-examiner-faults,
    2 usage error (case, option, key), 3 some runs could not be scored, 130 stopped (Ctrl-C or SIGTERM).
    """
