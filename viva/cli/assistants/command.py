"""The command `viva mcp`: an MCP server on standard input and output, for coding assistants."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from viva.cli.process import fail, report_user_errors, run_async

EXTRA = "viva mcp requires the package 'mcp': pip install 'vivavoce[mcp]'"


@click.command("mcp")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The folder in which the tools work. [default: the working folder]",
)
@report_user_errors
def command(folder: Path | None) -> None:
    """Serve tools to a coding assistant by MCP, over standard input and output.

    The tools list and check cases, run suites of viva.yaml, and read journals, all below one folder. They permit
    nothing that the user has not permitted by `viva trust`. See `viva docs coding-assistants`.
    """
    if folder is not None:
        os.chdir(folder)
    try:
        from viva.cli.assistants.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        fail(f"viva: {EXTRA}")
    if sys.stdin.isatty():
        click.echo("viva mcp: waiting for an assistant on standard input; see `viva docs coding-assistants`.", err=True)
    run_async(make_server().run_stdio_async())
