"""The types of parameters that click does not have: numbers without `nan`, durations, and files to write."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from viva.exam.durations import seconds_in
from viva.records.text import one_line


class NumberRange(click.FloatRange):
    """A number in a range; `nan` is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; anything else is a usage error."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{one_line(str(value), 60)!r} is not a number.", param, ctx)
        return number


class Seconds(click.FloatRange):
    """A duration in seconds, or with units: `90`, `90s`, `5m`, `1h30m`."""

    name = "seconds"

    def __init__(self, *, or_zero: bool = False) -> None:
        super().__init__(0, min_open=not or_zero)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds; anything else is a usage error."""
        try:
            seconds = seconds_in(str(value))
        except ValueError:
            seconds = -1.0
        if seconds < 0 or (seconds == 0 and self.min_open):
            least = "a duration above 0" if self.min_open else "a duration"
            self.fail(f"{one_line(str(value), 60)!r} is not {least}; write seconds (90), or 90s, 5m or 1h.", param, ctx)
        return seconds


SECONDS = Seconds()
OUTPUT_FILE = click.Path(path_type=Path, dir_okay=False, readable=False)
"""A file to write with `viva.reports.output_file`; it need not be readable."""
