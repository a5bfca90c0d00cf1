"""How each command of `viva init` ends, and the option that all of them have."""

from __future__ import annotations

import click

from viva.cli.process import fail
from viva.exam.outcome import EXIT_NOT_SCORED

force_option = click.option("--force", is_flag=True, help="Overwrite existing files.")


def ended(worked: bool, *steps: str) -> None:
    """Print the next steps; end with an exit code of its own if the trial failed."""
    click.echo("\nNext" if worked else "\nIt was written, but the trial failed: see above. Next")
    for step in steps:
        click.echo(f"  {step}")
    if not worked:
        fail("viva: the trial failed.", EXIT_NOT_SCORED)
