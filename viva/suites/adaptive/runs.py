"""The runs of an adaptive suite: what can be tried, and the runs of each batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viva.cases import Case
from viva.errors import SetupError
from viva.exam.subscribers import RunHeader
from viva.records.text import counted
from viva.suites.adaptive.batches import StoredBatch, StratumKey
from viva.suites.adaptive.decisions import refuse_impossible
from viva.suites.adaptive.supply import AdaptivePlan
from viva.suites.plan import planned_runs, refuse_same_id, specs_of
from viva.suites.request import SuiteRequest


class AdaptiveRuns:
    """The cases of an adaptive suite with its agents, as often as batches try them."""

    def __init__(self, request: SuiteRequest, cases: list[Case], max_runs: int | None = None) -> None:
        """Args:
        request: What is asked, with `until`.
        cases: The cases.
        max_runs: The largest number of runs.

        Raises:
            SetupError: the decision is not possible with these agents, options or runs.
        """
        assert request.until is not None
        specs = specs_of(request)
        refuse_impossible(request.until, specs)
        if request.trials != 1:
            raise SetupError("--until and --trials exclude each other: the decision says how many trials there are.")
        if request.only is not None:
            raise SetupError(
                f"--until cannot be given with {request.only_by}: choose whole cases, with --name or --tag; a part of "
                "the runs of a case is not a sample of it."
            )
        self._of = {
            StratumKey(case.name, header.agent, header.persona, header.strategy): (header, case)
            for header, case in planned_runs(request, cases)
        }
        self._seen: dict[str, RunHeader] = {}
        strata = [key for spec in specs for key in self._of if key.agent == spec]
        self.plan = AdaptivePlan(request.until, strata, max_runs)
        if max_runs is not None and max_runs < len(strata):
            raise SetupError(
                f"--max-runs {max_runs:,} is too small: one trial of each case with each agent, persona and "
                f"strategy takes {counted(len(strata), 'run')}, and a decision needs at least that."
            )

    def of(self, batch: StoredBatch) -> Iterator[tuple[RunHeader, Case]]:
        """Yield the runs of a batch, trial by trial, so that a batch that is stopped has covered most cases.

        Raises:
            SetupError: the batch names a case, or an agent, that the suite does not have; or two runs have the same id.
        """
        found: list[tuple[int, RunHeader, Case]] = []
        for row in batch.rows:
            if row.key not in self._of:
                raise SetupError(f"a stored batch names {row.case!r:.100}, which is not a case of this suite.")
            template, case = self._of[row.key]
            for place, (trial, name) in enumerate(row.runs()):
                header = replace(template, id=name, trial=trial)
                refuse_same_id(self._seen.setdefault(name, header), header)
                found.append((place, header, case))
        return ((header, case) for _, header, case in sorted(found, key=lambda each: each[0]))
