"""The options by which `viva trace` chooses among recordings, and adds what these do not hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from viva.cases import load_rubric
from viva.cli.parameter_types import NumberRange
from viva.plugins.kinds import split
from viva.recordings.given_tools import load_tools
from viva.recordings.moments import read_moment
from viva.recordings.table import READERS
from viva.records.sink import Sink
from viva.sinks import make_sinks

Command = TypeVar("Command", bound=Callable[..., Any])


def import_options(command: Command) -> Command:
    """Add `--sample`, `--since`, `--tools`, `--mapping` and `--rubric` to a command; `chosen_imports` reads them."""
    tools = click.option(
        "--tools",
        multiple=True,
        metavar="FILE",
        help="Definitions of the agent's tools: a YAML file, or Python functions (tools.py, tools.py:NAME). "
        "Can be repeated.",
    )
    since = click.option(
        "--since",
        metavar="TIME",
        help="Import recordings that began at TIME or later: 2026-11-22, 2026-11-22T10:00, 24h, 7d.",
    )
    sample = click.option(
        "--sample",
        type=NumberRange(0, 1),
        default=1.0,
        show_default=True,
        metavar="RATE",
        help="Share of the recordings that are imported and judged.",
    )
    mapping = click.option(
        "--mapping",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="File that maps Viva's field names to those of another agent's log.",
    )
    rubric = click.option(
        "--rubric",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Scoring points by which the recordings are judged, for all or by subject (viva docs recordings).",
    )
    return sample(since(tools(mapping(rubric(command)))))


def chosen_imports(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a `RecordingsRequest` that these options set.

    Raises:
        SetupError: a time or a file cannot be read.
        CaseError: the rubric is not sound.
    """
    since = given["since"]
    return {
        "sample": given["sample"],
        "since": None if since is None else read_moment(since).timestamp(),
        "mapping": given["mapping"],
        "rubric": None if given["rubric"] is None else load_rubric(given["rubric"]),
        "tools": tuple(tool for source in given["tools"] for tool in load_tools(source)),
    }


def import_sinks(recordings: Sequence[str], specs: Sequence[str]) -> list[tuple[str, Sink]]:
    """Create the sinks, and for desktop sessions the one that writes `evaluation.log` into their folders.

    Args:
        recordings: SPECs of the sources.
        specs: SPECs of the sinks that the user named.

    Raises:
        SetupError: a sink cannot be created.
    """
    made = make_sinks(specs)
    if any(split(READERS, spec)[0] == "ufo" for spec in recordings):
        # Brings the evaluator of sessions along.
        from viva.sinks.evaluation_log import folder_logs

        made += folder_logs(recordings, specs)
    return made
