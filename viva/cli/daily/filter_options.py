"""The options that filter runs: `--where`, `--failed-in` and `--changed-since`, for every command that has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from viva.cli import completion
from viva.errors import SetupError
from viva.records.text import counted, one_line

if TYPE_CHECKING:
    from viva.filters.selection import RunFilter

P = ParamSpec("P")
T = TypeVar("T")
NAMES = ("where", "failed_in", "changed_since")


def filter_options(what: str, *, since: str = "JOURNAL") -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator with the options; `filters_from` reads them.

    Args:
        what: What they choose: `Only runs`.
        since: What `--changed-since` takes.
    """
    or_commit = ", or that differ from a commit" if since != "JOURNAL" else ""
    options = (
        click.option(
            "--where",
            metavar="EXPRESSION",
            shell_complete=completion.filters,
            help=f'{what} for which this is true, such as "agent~gpt and score<1 and tag=smoke" (viva docs daily).',
        ),
        click.option(
            "--failed-in",
            metavar="JOURNAL",
            shell_complete=completion.journals,
            help=f"{what} of cases that failed there, with the same agent if it was examined there.",
        ),
        click.option(
            "--changed-since",
            metavar=since,
            shell_complete=completion.journals,
            help=f"{what} whose case or agent has changed since{or_commit}.",
        ),
    )

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def filters_from(given: Mapping[str, Any], threshold: float = 1.0) -> RunFilter:
    """Return the filters over runs that were conducted.

    Args:
        given: The parameters of the command.
        threshold: The score of a passing run.

    Raises:
        SetupError: an expression is not valid.
        JournalError: a journal does not exist.
    """
    from viva.filters.selection import RunFilter

    where, failed_in, changed_since = (given.get(name) for name in NAMES)
    if where is None and failed_in is None and changed_since is None:
        return RunFilter()
    from viva.filters.earlier import read_failures, read_state
    from viva.filters.parsing import parse_filter

    return RunFilter(
        None if where is None else parse_filter(where),
        where or "",
        None if failed_in is None else read_failures(failed_in, threshold),
        None if changed_since is None else read_state(changed_since),
    )


def chosen_runs(
    filters: RunFilter, references: Sequence[tuple[Path, str | None]], threshold: float = 1.0
) -> tuple[str, ...] | None:
    """Return the ids of the runs of some journals that the filters keep; None without filters.

    Raises:
        SetupError: they keep none, or name a column that no row has.
        JournalError: a journal does not exist.
    """
    if not filters:
        return None
    from viva.filters.selection import choose_runs, refuse_unknown
    from viva.journal.run_index import index_runs

    found = [choose_runs(filters, index_runs(folder), threshold, run) for folder, run in references]
    refuse_unknown(filters, found)
    among = sum(each.among for each in found)
    names = tuple(dict.fromkeys(name for each in found for name in sorted(each.runs)))
    if not names:
        raise SetupError(f"no run matches {filters.words}; {counted(among, 'run')} searched.")
    return names


def refuse_gate_by_results(filters: RunFilter, folders: Sequence[Path], gated: Mapping[str, object]) -> None:
    """Check that no gate is over runs that were chosen by their own results: its answer would be chosen with them.

    Args:
        filters: The filters.
        folders: The journals whose runs are gated.
        gated: The values of the options that are gates, by flag.

    Raises:
        SetupError: a gate is.
    """
    flags = [flag for flag, value in gated.items() if value or value == 0.0]
    if not flags:
        return
    from viva.suites.resuming.stored_request import was_chosen_by_results

    by = [f"{name} in --where" for name in filters.by_results]
    if filters.failed is not None and filters.failed.is_one_of(folders):
        by.append("--failed-in with the same journal")
    by += [f"{one_line(str(folder), 200)} holds only such runs" for folder in folders if was_chosen_by_results(folder)]
    if by:
        raise SetupError(
            f"{' and '.join(flags)} cannot be over runs that were chosen by their own results "
            f"({', '.join(by)}). Gate all of them, or choose by what was known before: agent, case, tag, metadata, row."
        )
