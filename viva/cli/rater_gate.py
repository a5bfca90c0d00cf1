"""The gate on how far raters agree: `--min-kappa`."""

from __future__ import annotations

from collections.abc import Mapping

import click

from viva.cli.parameter_types import NumberRange
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.records.text import one_line
from viva.records.wording import counted, decimals_beyond, limit_words
from viva.reports.console.agreement import estimate
from viva.statistics.agreement.kappa import RaterAgreement

min_kappa_option = click.option(
    "--min-kappa",
    type=NumberRange(-1, 1),
    metavar="KAPPA",
    help="Exit with 1 unless the low end of the 95 % interval of Cohen's kappa reaches KAPPA: for each model that "
    "judged the journals, or for each rater against --gold. Exit with 3 if a labelled point got no verdict.",
)


def gate_on_kappa(
    agreements: Mapping[str, RaterAgreement], least: float | None, unjudged: Mapping[str, int] | None = None
) -> int:
    """Say whose kappa is below the gate, or rests on a part of the labels, and return the exit code.

    A kappa that is not defined proves nothing. Nor does one of the points that a judge found easy: a gate does not pass
    if a labelled point has no verdict.

    Args:
        agreements: The agreement of each rater with the truth, by name.
        least: What the low end of each interval must reach; None if there is no gate.
        unjudged: How many labelled points have no verdict of a rater, by name.
    """
    if least is None:
        return EXIT_DONE
    if not agreements:
        click.echo("--min-kappa: nothing is compared with the labels, so the gate does not pass", err=True)
        return EXIT_NOT_SCORED
    below = {
        name: each
        for name, each in agreements.items()
        if each.kappa_interval is None or each.kappa_interval.low < least
    }
    for name, each in below.items():
        shown = "not defined"
        if each.kappa is not None and each.kappa_interval is not None:
            decimals = decimals_beyond(each.kappa_interval.low, least, 3)
            shown = estimate(each.kappa, each.kappa_interval, decimals)
        click.echo(f"below --min-kappa {limit_words(least)}: kappa of {one_line(name, 60)} is {shown}", err=True)
    left = {name: number for name, number in (unjudged or {}).items() if number}
    for name, number in left.items():
        points = counted(number, "labelled point")
        click.echo(
            f"--min-kappa: {one_line(name, 60)} gave no verdict on {points}, so the gate does not pass", err=True
        )
    return EXIT_BELOW if below else EXIT_NOT_SCORED if left else EXIT_DONE
