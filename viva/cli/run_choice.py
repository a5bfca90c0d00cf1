"""The options that choose runs of a journal by case, agent, trial and outcome."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import click

from viva.cli.parameter_types import NumberRange
from viva.errors import SetupError
from viva.journal.reader import StoredRun
from viva.records.run_record import Outcome
from viva.records.text import one_line
from viva.records.wording import counted
from viva.statistics.scores import run_passes

P = ParamSpec("P")
T = TypeVar("T")

UNFINISHED = "unfinished"
"""Chooses runs that have no outcome yet."""
MOST_NAMES = 8
"""Names of cases and agents that a message lists."""


@dataclass(slots=True, kw_only=True)
class RunChoice:
    """Which runs are wanted; each field is the option of that name, and empty if it was not given."""

    names: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    trials: tuple[int, ...] = ()
    outcomes: tuple[str, ...] = ()
    failed: bool = False
    threshold: float = 1.0
    only: frozenset[str] | None = None
    """The ids of the runs that filters chose; None for all."""
    seen: int = 0
    """Number of runs that were searched."""
    in_scope: int = 0
    """Number of those of the wanted case, agent and trial, with any outcome."""
    chosen: int = 0
    _cases: dict[str, None] = field(default_factory=dict)
    _agents: dict[str, None] = field(default_factory=dict)

    @property
    def is_given(self) -> bool:
        """Return whether the user chose any runs."""
        options = (self.names, self.agents, self.trials, self.outcomes, self.failed)
        return self.only is not None or any(options)

    def wants(self, run: str) -> bool:
        """Return whether a run may be wanted, by its id alone."""
        return self.only is None or run in self.only

    def among(self, runs: Iterable[StoredRun]) -> Iterator[StoredRun]:
        """Yield the wanted runs."""
        for run in runs:
            if not self.wants(run.id):
                continue
            self.seen += 1
            if self._of_scope(run):
                self.in_scope += 1
                if self._of_outcome(run):
                    self.chosen += 1
                    yield run

    def explain_none(self) -> str:
        """Return the message that no run was chosen, because none has the outcome.

        Raises:
            SetupError: no run is of the wanted case, agent and trial.
        """
        if not self.in_scope:
            raise SetupError(
                f"no run matches --case, --agent and --trial; there are {counted(self.seen, 'run')} of the cases "
                f"{_listed(self._cases)} with the agents {_listed(self._agents)}."
            )
        what = "failed" if self.failed else "has this outcome"
        return f"no run {what}; {counted(self.in_scope, 'run')} searched"

    def _of_scope(self, run: StoredRun) -> bool:
        record, setting = run.record, run.setting
        case = (record.subject if record else "") or setting.case
        agent = (record.agent if record else "") or setting.agent
        trial = (record.trial if record else setting.trial) or 1
        for names, name in ((self._cases, case), (self._agents, agent)):
            if len(names) <= MOST_NAMES:
                names[name] = None
        return (
            (not self.names or any(name == case or fnmatch.fnmatchcase(case, name) for name in self.names))
            and (not self.agents or any(part in agent for part in self.agents))
            and (not self.trials or trial in self.trials)
        )

    def _of_outcome(self, run: StoredRun) -> bool:
        outcome = UNFINISHED if run.outcome is None else run.outcome.value
        if self.outcomes and outcome not in self.outcomes:
            return False
        return not self.failed or (
            run.record is not None and run.record.outcome.counts and not run_passes(run.record, self.threshold)
        )


def run_choice_options(function: Callable[P, T]) -> Callable[P, T]:
    """Add the options that `run_choice` reads."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def run_choice(given: dict[str, Any]) -> RunChoice:
    """Remove the options of `run_choice_options` from a command's parameters, and return them."""
    names = ("names", "agents", "trials", "outcomes", "failed", "threshold")
    return RunChoice(**{name: given.pop(name) for name in names})


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--failed", is_flag=True, help="Only runs that failed, not those that were excluded or are unfinished."
    ),
    click.option(
        "--threshold",
        type=NumberRange(0, 1),
        default=1.0,
        show_default=True,
        help="With --failed: minimum score of a passing run.",
    ),
    click.option(
        "--case",
        "--name",
        "names",
        multiple=True,
        metavar="PATTERN",
        help="Only runs whose case or task matches (shell pattern). Can be repeated.",
    ),
    click.option(
        "--agent",
        "agents",
        multiple=True,
        metavar="SPEC",
        help="Only runs of this agent; part of a SPEC is enough. Can be repeated.",
    ),
    click.option(
        "--trial",
        "trials",
        multiple=True,
        type=click.IntRange(1),
        metavar="N",
        help="Only the runs of this trial. Can be repeated.",
    ),
    click.option(
        "--outcome",
        "outcomes",
        multiple=True,
        type=click.Choice([*(outcome.value for outcome in Outcome), UNFINISHED]),
        help="Only runs with this outcome. Can be repeated.",
    ),
)


def _listed(names: Iterable[str]) -> str:
    shown = [one_line(name, 60) or "(none)" for name in names]
    return ", ".join(shown[:MOST_NAMES]) + (", …" if len(shown) > MOST_NAMES else "")
