"""The gate on how far raters agree: `--min-kappa`."""

from __future__ import annotations

from collections.abc import Mapping

import click

from viva.cli.parameter_types import NumberRange
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.records.text import one_line
from viva.reports.console.agreement import estimate
from viva.statistics.agreement.kappa import RaterAgreement

min_kappa_option = click.option(
    "--min-kappa",
    type=NumberRange(-1, 1),
    metavar="KAPPA",
    help="Exit with 1 unless the low end of the 95 % interval of Cohen's kappa reaches KAPPA: for each model that "
    "judged the journals, or for each rater against --gold.",
)


def gate_on_kappa(agreements: Mapping[str, RaterAgreement], least: float | None) -> int:
    """Say whose kappa is below the gate, and return the exit code. A kappa that is not defined proves nothing.

    Args:
        agreements: The agreement of each rater with the truth, by name.
        least: What the low end of each interval must reach; None if there is no gate.
    """
    if least is not None and not agreements:
        click.echo("--min-kappa: nothing is compared with the labels, so the gate does not pass", err=True)
        return EXIT_NOT_SCORED
    below = {
        name: each
        for name, each in agreements.items()
        if least is not None and (each.kappa_interval is None or each.kappa_interval.low < least)
    }
    for name, each in below.items():
        shown = "not defined" if each.kappa is None else estimate(each.kappa, each.kappa_interval)
        click.echo(f"below --min-kappa {least:g}: kappa of {one_line(name, 60)} is {shown}", err=True)
    return EXIT_BELOW if below else EXIT_DONE
