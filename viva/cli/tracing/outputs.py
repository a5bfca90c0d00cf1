"""What `viva trace` does with a journal besides its report: CSV files, and annotations on a Phoenix server."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import click

from viva.errors import SetupError
from viva.records.text import printable
from viva.records.wording import counted
from viva.reports.trajectory_csv import write_evaluations

PHOENIX = "phoenix"


@dataclass(frozen=True, slots=True)
class Target:
    """A Phoenix server that verdicts are written to."""

    address: str
    """Address and project."""
    source: str | None
    """Only runs from this source are written there; None for all."""


def targets_of(to: Sequence[str], recordings: Sequence[str]) -> list[Target]:
    """Return the servers that `--to` names, after checking that they can be written to.

    Args:
        to: Each is `phoenix`, for the server that each source is read from, or `phoenix:ADDRESS#PROJECT`.
        recordings: The sources.

    Raises:
        SetupError: it means none, or the client is not installed.
    """
    found: list[Target] = []
    for each in to:
        kind, mark, address = each.partition(":")
        if kind != PHOENIX:
            raise SetupError(f"--to takes phoenix or phoenix:http://localhost:6006#project, not {each!r}.")
        if mark:
            found.append(Target(address, None))
            continue
        read = [source for source in dict.fromkeys(recordings) if source.startswith(f"{PHOENIX}:")]
        if not read:
            raise SetupError(
                "--to phoenix writes to the server that the traces are read from, and no source is one: "
                "name it, as in --to phoenix:http://localhost:6006#project."
            )
        found += [Target(_without_filters(source.removeprefix(f"{PHOENIX}:")), source) for source in read]
    if found:
        from viva.sinks.phoenix.server import PhoenixServer

        for target in found:
            PhoenixServer(target.address)
    return found


def write_outputs(journal: Path, targets: Sequence[Target], *, show: bool) -> bool:
    """Write the CSV files and the annotations, and report both. Return whether every annotation was found again.

    Raises:
        JournalError: a file cannot be written.
        SetupError: a server cannot be written to.
    """
    written = write_evaluations(journal)
    if written and show:
        click.echo(printable(f"written: {', '.join(map(str, written))}"), err=True)
    # Each is written, also after one of which something is missing.
    found = [_annotate(journal, target, show=show) for target in targets]
    return all(found)


def annotate_new(journal: Path, targets: Sequence[Target], runs: Container[str]) -> str:
    """Write the annotations of these runs alone; return what went wrong, in words."""
    from viva.sinks.phoenix.journals import annotate_journal
    from viva.sinks.phoenix.server import PhoenixError, PhoenixServer

    try:
        for target in targets:
            annotate_journal(journal, PhoenixServer(target.address), target.source, runs)
    except PhoenixError as error:
        return str(error)
    return ""


def _annotate(journal: Path, target: Target, *, show: bool) -> bool:
    from viva.sinks.phoenix.journals import annotate_journal
    from viva.sinks.phoenix.server import PhoenixError, PhoenixServer

    try:
        done = annotate_journal(journal, PhoenixServer(target.address), target.source)
    except PhoenixError as error:
        to = PHOENIX if target.source is not None else f"{PHOENIX}:{target.address}"
        again = f"viva trace --resume {quote(str(journal))} --to {quote(to)}"
        raise SetupError(f"{error}. The verdicts are in {journal}; to write them: {again}") from error
    total = done.spans + done.traces
    words = f"{counted(done.spans, 'span annotation')}, {counted(done.traces, 'trace annotation')}"
    if done.found < total:
        click.echo(f"{done.server}: wrote {words}, but only {done.found} were found when read back", err=True)
    elif show:
        click.echo(f"{done.server}: wrote {words}; all were found when read back", err=True)
    return done.found >= total


def _without_filters(source: str) -> str:
    before, hash_, project = source.partition("#")
    return before.partition("?")[0] + hash_ + project
