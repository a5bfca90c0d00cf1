"""The options of `viva suite` that add trials until a decision is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from viva.cli.options import stack
from viva.cli.parameter_types import NumberRange
from viva.cli.process import fail
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.statistics.adaptive.until import FORMS, MARGIN, Aim, Until, parse_until
from viva.statistics.summary import Figures
from viva.suites.adaptive.decisions import AdaptiveDecision, exit_code
from viva.suites.gates import counted_before

until_options = stack(
    click.option(
        "--until",
        metavar="DECISION",
        help=f"Add trials until a decision is made, instead of --trials: {FORMS}.",
    ),
    click.option(
        "--margin",
        type=NumberRange(0, 1, min_open=True),
        metavar="SCORE",
        help=f"With --until: a difference in score that does not matter. [default: {MARGIN}]",
    ),
)


def until_from(given: Mapping[str, Any]) -> Until | None:
    """Return the decision that was asked for with `until_options`; None if none was."""
    if given["until"] is not None:
        return parse_until(given["until"], given["margin"])
    if given["margin"] is not None:
        fail("viva suite: --margin requires --until compare or --until gate=SCORE.")
    return None


def refuse_other_gates(until: Until | None, gates: Mapping[str, object]) -> None:
    """Refuse options that decide about a suite whose number of trials depends on its results.

    Args:
        until: The decision that was asked for.
        gates: Values of the options, by flag.
    """
    given = [flag for flag, value in gates.items() if value]
    if until is not None and given:
        fail(
            f"viva suite: --until and {' and '.join(given)} exclude each other: the number of trials depends on "
            "results, so that only the decision itself is valid. --until gate=SCORE is a gate."
        )


def decided_exit(until: Until, decisions: Sequence[AdaptiveDecision], figures: Figures) -> int:
    """Return the exit code of an adaptive suite that has no other gate, and say why if its gate cannot pass."""
    code = exit_code(decisions)
    if code == EXIT_DONE and until.aim is Aim.GATE and (before_requeued := counted_before(figures)):
        click.echo("; ".join(before_requeued), err=True)
        return EXIT_NOT_SCORED
    return code
