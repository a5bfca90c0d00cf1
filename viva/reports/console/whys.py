"""Shows on a terminal why runs did not pass: distinct errors and misses, each with a run to replay, and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from viva.records.run_record import Outcome
from viva.records.text import one_line, printable
from viva.records.wording import counted
from viva.reports.number_words import percent
from viva.statistics.causes.cause import MOST_REASONS, Cause
from viva.statistics.causes.clusters import MOST_TEMPLATES
from viva.statistics.causes.names import MOST_NAME
from viva.statistics.error_groups import ErrorGroup
from viva.statistics.summary import Figures

MOST_ERROR_GROUPS = 5
MOST_CAUSES = 5
MOST_NAMED_AGENTS = 6
MOST_NAMED_POINTS = 3
SHOWN = 300
"""Maximum number of characters of a statement and of a reason."""

Locate = Callable[[ErrorGroup | Cause], Path]
"""Finds the folder of the journal with the run that a group names."""


def print_whole(console: Console, report: RenderableType) -> None:
    """Print a report with its commands whole: a terminal wraps them so that they can be copied, and a file has them."""
    console.print(report, crop=False)


def error_lines(figures: Figures, locate: Locate) -> Iterator[Text]:
    """Yield the distinct errors of runs, each with the command that shows one of the runs."""
    for group in figures.troubles[:MOST_ERROR_GROUPS]:
        yield Text()
        yield Text(
            f"{counted(group.runs, 'run')}, {group.outcome.value}: {group.words}", style="yellow", overflow="fold"
        )
        yield command_line(f"viva replay {quoted(f'{locate(group)}#{group.run}')}")
    if len(figures.troubles) > MOST_ERROR_GROUPS:
        yield Text(
            f"… {counted(len(figures.troubles) - MOST_ERROR_GROUPS, 'more kind')} of errors: viva report", style="dim"
        )


def miss_lines(figures: Figures, locate: Locate, labels: Mapping[str, str]) -> Iterator[RenderableType]:
    """Yield the causes of most runs, each with its commonest reason and the command that shows a run with it.

    Args:
        figures: The statistics.
        locate: Finds the journal of a run.
        labels: The short name of each agent.
    """
    if figures.misses:
        yield Text()
        yield Text("What was missed", style="bold")
    for group in figures.misses[:MOST_CAUSES]:
        line = Text(overflow="fold")
        line.append(
            f"{counted(group.runs, 'run')}, {group.label}: ", style="red" if group.label == "miss" else "yellow"
        )
        line.append(name_words(group), style="bold")
        line.append(points_words(group, SHOWN))
        line.append(f" ({where_words(group, labels)}; {id_words(group)})", style="dim")
        yield line
        if group.reason:
            reason = Text(f"{one_line(group.reason, SHOWN)}{reasons_words(group)}", overflow="fold")
            yield Padding(reason, (0, 0, 0, 2))
        yield command_line(f"viva replay {quoted(f'{locate(group)}#{group.run}')}")
    if figures.misses_all > MOST_CAUSES:
        yield Text(f"… {counted(figures.misses_all - MOST_CAUSES, 'more kind')} of misses", style="dim")
    if figures.misses_left_out:
        yield Text(left_out_words(figures), style="dim")


def next_lines(figures: Figures, journal: Path, again: str) -> Iterator[Text]:
    """Yield the commands that are useful now, the most useful first.

    Args:
        figures: The statistics.
        journal: The journal's folder.
        again: The command that made the journal and can repeat excluded runs (`viva suite`); empty if unknown.
    """
    folder = quoted(str(journal))
    commands = []
    excluded = sum(figures.suite.excluded.get(kind.value, 0) for kind in Outcome if not kind.counts)
    if excluded and again:
        commands.append((f"{again} --resume {folder} --retry-errors", f"repeat {counted(excluded, 'excluded run')}"))
    commands.append((f"viva report {folder} --format html", "see every run in a browser"))
    if len(figures.agents) == 2 and figures.suite.runs:
        commands.append((f"viva compare {folder}", "compare the two agents"))
    yield Text()
    yield Text("Next", style="bold")
    for command, purpose in commands:
        yield command_line(command, f"{purpose}: ")


def points_words(group: Cause, most: int) -> str:
    """Return the points that were missed for a cause: all if they fit, otherwise the first and the number of others.

    Args:
        group: The cause.
        most: Maximum number of characters.
    """
    if group.points == 1:
        return one_line(group.words, most)
    if group.points == 1 + len(group.also) and group.points <= MOST_NAMED_POINTS and len(group.statements) <= most:
        return one_line(group.statements, most)
    return f"{one_line(group.words, most)} and {counted(group.points - 1, 'more point')}"


def name_words(group: Cause) -> str:
    """Return the name that a model gave a cause, marked as the model's, to precede its words; empty without one."""
    if group.named is None:
        return ""
    return f"“{one_line(group.named.name, MOST_NAME)}” (named by {one_line(group.named.model, MOST_NAME)}): "


def id_words(group: Cause) -> str:
    """Return the id of a cause, and its share of the runs that missed something."""
    return f"{percent(group.share)} of the runs with a miss, id {group.id}"


def left_out_words(figures: Figures) -> str:
    """Return how many misses belong to no cause, and why."""
    misses = counted(figures.misses_left_out, "more miss", "more misses")
    return f"{misses} in no group: there are more than {MOST_TEMPLATES:,} wordings"


def where_words(group: Cause, labels: Mapping[str, str]) -> str:
    """Return the case or the number of cases of a miss, and how often each agent has it if there are several agents."""
    words = one_line(group.case, 60) if group.cases == 1 else counted(group.cases, "case")
    if len(labels) < 2:
        return words
    named = sorted(group.agents.items(), key=lambda item: -item[1])
    if len(named) == 1:
        return f"{words}; only {labels.get(named[0][0]) or one_line(named[0][0], 60)}"
    agents = [f"{labels.get(agent) or one_line(agent, 60)} {runs}" for agent, runs in named[:MOST_NAMED_AGENTS]]
    more = [f"{counted(len(named) - MOST_NAMED_AGENTS, 'more agent')}"] if len(named) > MOST_NAMED_AGENTS else []
    return f"{words}; {', '.join(agents + more)}"


def reasons_words(group: Cause) -> str:
    """Return how many runs have the commonest reason, and how many other reasons there are; empty if it is the only."""
    if group.reasons == 1:
        return ""
    least = "at least " if group.reasons >= MOST_REASONS else ""
    return f" ({group.reason_runs} of {group.runs}; {least}{counted(group.reasons - 1, 'other reason')})"


def command_line(command: str, purpose: str = "") -> Text:
    """Return a command that is not wrapped, so that it can be copied."""
    return Text(f"  {purpose}{command}", style="dim", no_wrap=True, overflow="ignore")


def quoted(argument: str) -> str:
    """Return an argument of a command as a shell takes it."""
    return printable(shlex.quote(argument))
