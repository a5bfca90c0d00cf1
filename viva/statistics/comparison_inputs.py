"""Reads the runs of a journal for a comparison, and decides which agents are compared with which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from viva.errors import SetupError
from viva.records.run_record import RunRecord
from viva.records.wording import sandbox_words
from viva.statistics.cells import Cell, gather_cells, natural, trial_of
from viva.statistics.evaluators import MOST_EVALUATORS
from viva.statistics.flips.by_trial import CaseLabels, Labels, labels_of, statements_of
from viva.statistics.flips.points import judging_of
from viva.statistics.scores import evaluator_names


class Runs:
    """Holds the runs of one journal by case and agent, and the settings with which they were made."""

    def __init__(
        self, journal: Path, records: Iterable[RunRecord], evaluator: str | None = None, parts: Sequence[str] = ()
    ) -> None:
        """Read all records once; a few numbers of each are kept.

        Args:
            journal: Where they come from.
            records: The newest attempt of each run.
            evaluator: Whose scores are compared; None for each run's primary evaluator.
            parts: How the runs were chosen, in words; nothing if they are all of a suite.
        """
        self.journal = journal
        self.parts = parts
        self.evaluator = evaluator
        self.settings: dict[str, dict[str, set[str]]] = {}
        """Agent to the name of a setting to its values."""
        self.case_hashes: dict[tuple[str, str], set[str]] = {}
        """(case, agent) to the hashes of the case."""
        self.labels: dict[tuple[str, str], CaseLabels] = {}
        """(case, agent) to the labels of the points in each trial."""
        self.statements: dict[str, dict[str, str]] = {}
        """Case to what its points say, by criterion."""
        self.evaluators: dict[str, None] = {}
        """All that the runs name or that left an insight; the order is that of their first naming."""
        self._shared: dict[tuple[tuple[str, str], ...], Labels] = {}
        self._cells = gather_cells(self._watched(records), evaluator)

    @property
    def agents(self) -> list[str]:
        """Return the names of all agents that were examined, in natural order."""
        return sorted({cell.agent for cell in self._cells}, key=natural)

    def of(self, agent: str) -> dict[str, Cell]:
        """Map each case to the cell of one agent."""
        return {cell.case: cell for cell in self._cells if cell.agent == agent}

    def _watched(self, records: Iterable[RunRecord]) -> Iterator[RunRecord]:
        for record in records:
            setting = record.setting
            seen = self.settings.setdefault(record.agent, {})
            for name, value in (
                *judging_of(record),
                ("examiner", setting.examiner),
                ("persona", setting.persona or "none"),
                ("strategy", setting.strategy or "none"),
                ("sandbox", sandbox_words(setting)),
                ("maximum number of rounds", str(setting.max_rounds)),
            ):
                seen.setdefault(name, set()).add(value)
            self.evaluators.update(dict.fromkeys(evaluator_names(record)[:MOST_EVALUATORS]))
            labels = labels_of(record, self.evaluator)
            if labels:
                # Most runs of a suite have one of a few sets of labels, which is kept once.
                shared = self._shared.setdefault(tuple(labels.items()), labels)
                if shared is labels or record.subject not in self.statements:
                    self.statements.setdefault(record.subject, {}).update(statements_of(record, self.evaluator))
                self.labels.setdefault((record.subject, record.agent), {})[trial_of(record)] = shared
            self.case_hashes.setdefault((record.subject, record.agent), set()).add(setting.case_hash)
            yield record


def choose_agents(first: Runs, second: Runs, wanted: tuple[str, str] | None) -> list[tuple[str, str]]:
    """Decide which agent of A is compared with which of B.

    Wanted ones by their name, or by a part of it that only one has. Else, in one journal, its two agents; in two
    journals, each side's only agent, or each agent that both have with itself.

    Raises:
        SetupError: that leaves a choice open, or nothing to choose.
    """
    if wanted is not None:
        pair = (_named(first, wanted[0]), _named(second, wanted[1]))
        if first is second and pair[0] == pair[1]:
            raise SetupError(f"both are the agent {pair[0]!r} of {first.journal}: there is nothing to compare.")
        return [pair]
    if first is second:
        if len(first.agents) == 2:
            return [(first.agents[0], first.agents[1])]
        raise SetupError(f"{first.journal} holds {_known(first)}; name a second journal, or two agents: --agents X Y")
    if len(first.agents) == len(second.agents) == 1:
        return [(first.agents[0], second.agents[0])]
    both = [agent for agent in first.agents if agent in second.agents]
    if not both:
        raise SetupError(
            f"{first.journal} holds {_known(first)}, {second.journal} {_known(second)}: name one of each: --agents X Y"
        )
    return [(agent, agent) for agent in both]


def _named(runs: Runs, wanted: str) -> str:
    if wanted in runs.agents:
        return wanted
    found = [agent for agent in runs.agents if wanted in agent]
    if len(found) == 1:
        return found[0]
    why = "several agents match" if found else "no agent matches"
    raise SetupError(f"{why} {wanted!r} in {runs.journal}, which holds {_known(runs)}.")


def _known(runs: Runs) -> str:
    agents = runs.agents
    if not agents:
        return "no finished run"
    names = ", ".join(agents[:6]) + (f" and {len(agents) - 6} more" if len(agents) > 6 else "")
    return f"{len(agents)} agent{'s' if len(agents) > 1 else ''} ({names})"
