"""Options that limit what a command spends."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from viva.cli.options import call_option, stack
from viva.cli.parameter_types import NumberRange

P = ParamSpec("P")
T = TypeVar("T")


def spending_options(run: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return the options `--max-cost` and `--max-tokens`.

    Args:
        run: What is not started once a limit is reached: "run" or "fork".
    """
    cost = call_option(
        "--max-cost",
        type=NumberRange(0, min_open=True),
        metavar="DOLLARS",
        help=f"Start no further {run} once this much has been spent.",
    )
    tokens = call_option(
        "--max-tokens",
        type=click.IntRange(1),
        metavar="TOKENS",
        help=f"Start no further {run} once this many tokens have been used.",
    )
    return stack(cost, tokens)
