"""`--watch`: conducts a suite, and then again what a saved file touches, each time in a process and a new journal."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

from viva.cases import Case, CaseError
from viva.cli.options import call_option
from viva.cli.process import fail, run_async
from viva.cli.project.used_file import file_in_use, read_again, typed_in
from viva.cli.stopping import STOPPED
from viva.errors import SetupError
from viva.filters.expression import And, Expression, written
from viva.filters.parsing import MOST_CHARACTERS, parse_filter
from viva.records.redact import redacted
from viva.records.text import counted
from viva.regular_files import Stamp, stamp_of
from viva.suites.chosen.watched import WatchedSuite, places_of, watched

FLAG = "--watch"
POLL_SECONDS = 0.3
SETTLE_SECONDS = 0.15
"""Until a look must find nothing more changed: editors write a file in several steps, some under another name."""
SHARE = 20
"""At most one part in so many of the time is spent on looking."""
END_SECONDS = 40.0
"""Maximum time from a stop to the end of the suite that is under way."""

watch_option = call_option(
    FLAG,
    "watch",
    is_flag=True,
    help="Repeat the runs that a saved file affects (case, data, agent), each time in a new journal, until Ctrl-C.",
)


@dataclass(frozen=True, slots=True)
class WatchedCommand:
    """What is watched, and how it is run."""

    paths: Sequence[str]
    specs: Sequence[str]
    load: Callable[[], Sequence[Case]]
    """Loads the cases."""
    filters: bool
    """Whether the command has `--where`, so that only some of its runs can be conducted."""
    where: str | None = None
    """The user's own filter."""
    out: Path | None = None


def given_out(context: click.Context) -> Path | None:
    """Return the folder that `--out` or `viva.yaml` names; None if each journal has a name of its own."""
    chosen = context.get_parameter_source("out") is not click.core.ParameterSource.DEFAULT
    out: Path | None = context.params["out"]
    return out if chosen else None


def watch_and_exit(watched_by: Callable[[click.Context], WatchedCommand]) -> NoReturn:
    """Run the command of this process again and again, without `--watch`, until it is stopped.

    Args:
        watched_by: Returns what is watched, from the parameters of the command. It is called again after a change of
            `viva.yaml`.

    Raises:
        SystemExit: always, at the end.
    """
    context = click.get_current_context()
    try:
        run_async(_follow(context, watched_by, [each for each in sys.argv[1:] if each != FLAG]))
    except KeyboardInterrupt:
        fail("viva: no longer watching.", STOPPED)
    raise SystemExit(STOPPED)


async def _follow(
    context: click.Context, watched_by: Callable[[click.Context], WatchedCommand], words: list[str]
) -> None:
    home = typed_in()  # where a suite of `viva.yaml` was typed, which is not where it works
    watch, settings = watched_by(context), file_in_use(context)
    number, before, seen = 0, None, dict[str, Stamp]()
    known = None if settings is None else stamp_of(settings)
    while True:
        if settings is not None and seen.get(settings, known) != known:
            known = seen[settings]
            if (again := read_again(context)) is None:
                _say(f"waiting for {settings} to be saved again")
                seen = await _changed(seen)
                continue
            if _means_other(again, context):
                context, watch, before = again, watched_by(again), None
        now = _read(watch)
        places = {*map(str, places_of(watch.paths, watch.specs)), *(now.places if now else ()), *seen}
        places |= set() if settings is None else {settings}
        # What was seen before the cases were read counts: a file may have been saved meanwhile.
        seen = {place: seen[place] if place in seen else stamp_of(place) for place in places}
        touched = None if now is None or before is None else now.touched_since(before)
        if now is not None and (before is None or touched is not None):
            number, before = number + 1, now
            await _run([*words, *narrowed(watch, touched), *_numbered(watch.out, number)], home)
            _say(
                f"watching {counted(len(now.cases), 'case')} and {counted(len(now.agents), 'agent')}; Ctrl-C ends this"
            )
        seen = await _changed(seen)


def _read(watch: WatchedCommand) -> WatchedSuite | None:
    """Return the suite as it is now; None, after a message, if a case cannot be loaded: it may be half-written."""
    try:
        return watched(watch.paths, watch.specs, watch.load)
    except (SetupError, CaseError) as error:
        _say(f"{error}\nwaiting for it to be saved again")
        return None


async def _changed(seen: dict[str, Stamp]) -> dict[str, Stamp]:
    """Return how the files are, as soon as one is not as it was, and nothing more changes."""
    now, pause = seen, 0.0
    while now == seen:
        await asyncio.sleep(pause)
        began = time.monotonic()
        now = {place: stamp_of(place) for place in seen}
        pause = max(POLL_SECONDS, SHARE * (time.monotonic() - began))
    while True:
        await asyncio.sleep(SETTLE_SECONDS)
        again = {place: stamp_of(place) for place in seen}
        if again == now:
            return now
        now = again


def narrowed(watch: WatchedCommand, touched: Expression | None) -> list[str]:
    """Return the option that limits a command to the runs that were touched; none if it conducts all of them."""
    if touched is None or not watch.filters:
        return []
    both = written(touched if watch.where is None else And((parse_filter(watch.where), touched)))
    # So many rows are about all of the suite, and more than an expression may name.
    return ["--where", both] if len(both) <= MOST_CHARACTERS else []


def _numbered(out: Path | None, number: int) -> list[str]:
    """Return where the journal is: the folder that was given, and the same with a number for those that follow."""
    return [] if out is None or number == 1 else ["--out", f"{out}-{number}"]


def _means_other(now: click.Context, before: click.Context) -> bool:
    """Return whether another reading of `viva.yaml` gives the command another meaning."""
    return any(now.params[name] != before.params[name] for name in now.params if name != "out") or (
        given_out(now) != given_out(before)
    )


async def _run(words: Sequence[str], folder: Path | None) -> None:
    # Without -P, Python would import modules of the folder in the place of others.
    process = await asyncio.create_subprocess_exec(sys.executable, "-P", "-m", "viva", *words, cwd=folder)
    try:
        await process.wait()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        raise


def _say(words: str) -> None:
    click.echo(redacted(f"viva: {words}"), err=True)
