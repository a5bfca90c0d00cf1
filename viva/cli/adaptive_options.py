"""The options of `viva suite` that add trials until a decision is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from viva.cli.options import stack
from viva.cli.parameter_types import NumberRange
from viva.cli.process import fail
from viva.statistics.adaptive.until import FORMS, MARGIN, Until, parse_until
from viva.suites.adaptive.gate import exclusive_words

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
        fail(f"viva suite: {exclusive_words('--until', given)}")
