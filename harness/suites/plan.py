"""What a suite consists of: which cases, which agents, how many trials; kept in its journal, to resume it by."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from adapters.errors import SetupError
from cases import Case, CaseError, find_case, find_cases, load_case
from harness.exam.options import Options
from harness.exam.resources import DEFAULT_AGENT, Resources, agent_for, build_resources
from records.codec import decode, encode
from records.journal import Journal

FILE = "suite.json"


@dataclass(frozen=True, slots=True)
class Plan:
    """A suite as the user asked for it."""

    paths: tuple[str, ...]
    """Case folders, folders of cases, or names of bundled cases."""
    agents: tuple[str, ...] = ()
    """SPECs; none is the bundled careful agent."""
    trials: int = 1
    names: tuple[str, ...] = ()
    """Shell patterns; a case is in if its name matches one. None: all."""
    tags: tuple[str, ...] = ()
    """A case is in if it has one of these. None: all."""
    options: Options = field(default_factory=Options)
    cases: tuple[tuple[str, str], ...] = ()
    """Name and hash of each case as it was when the suite began."""
    folder: str = ""
    """The working directory in which it began: relative paths and SPECs hold from there."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One (case, agent, trial)."""

    case: Case
    resources: Resources
    trial: int


def find_plan_cases(plan: Plan) -> list[Case]:
    """The cases of a plan.

    Raises:
        CaseError: a case is not sound (all mistakes of all cases), or two have the same name.
        SetupError: no case is left.
    """
    cases: list[Case] = []
    mistakes: list[str] = []
    for path in plan.paths:
        for folder in find_cases(Path(path)) if Path(path).is_dir() else [find_case(path)]:
            try:
                cases.append(load_case(folder))
            except CaseError as error:
                mistakes.append(str(error))
    if mistakes:
        raise SetupError("\n".join(mistakes))
    chosen = [case for case in cases if _chosen(case, plan)]
    if not chosen:
        left = f", {len(cases)} were left out by --name and --tag" if cases else ""
        raise SetupError(f"there is no case in {', '.join(plan.paths)}{left}.")
    seen: dict[str, Path] = {}
    for case in chosen:
        if case.name in seen and seen[case.name].resolve() != case.file.resolve():
            raise SetupError(
                f"two cases are called {case.name!r}: {seen[case.name]} and {case.file}. Rename one folder."
            )
        seen[case.name] = case.file
    return list({case.name: case for case in chosen}.values())


def _chosen(case: Case, plan: Plan) -> bool:
    named = not plan.names or any(fnmatch.fnmatchcase(case.name, pattern) for pattern in plan.names)
    return named and (not plan.tags or bool(set(plan.tags) & set(case.tags)))


async def build_suite_resources(plan: Plan, cases: list[Case]) -> list[Resources]:
    """The resources for each agent. They share examiner, judge and sandbox: close the first, and all are closed.

    Raises:
        SetupError: something the user must change.
    """
    specs = plan.agents or (DEFAULT_AGENT,)
    if len(set(specs)) < len(specs):
        raise SetupError("the same --agent is given twice; use --trials to examine an agent several times.")
    first = await build_resources(replace(plan.options, agent=plan.agents[0] if plan.agents else None), cases)
    agents = [first.agent, *(agent_for(spec, plan.options) for spec in specs[1:])]
    return [replace(first, agent=agent) for agent in agents]


def expand(plan: Plan, cases: list[Case], resources: list[Resources]) -> Iterator[PlannedRun]:
    """All runs, trial by trial, so that a suite that is stopped early has seen every case."""
    for trial in range(1, plan.trials + 1):
        for case in cases:
            for each in resources:
                yield PlannedRun(case, each, trial)


def save_plan(plan: Plan, journal: Journal) -> None:
    """Keep the plan beside the journal."""
    journal.keep(FILE, encode(plan))


def load_plan(folder: Path) -> Plan:
    """The plan of a suite that was begun.

    Raises:
        SetupError: the folder holds none.
    """
    try:
        return decode(Plan, json.loads((folder / FILE).read_bytes()))
    except FileNotFoundError:
        raise SetupError(f"{folder} is not the journal of a suite: it has no {FILE}.") from None
    except (OSError, ValueError) as error:
        raise SetupError(f"{folder / FILE} cannot be read: {error}") from error


def check_unchanged(plan: Plan, cases: list[Case]) -> None:
    """See that the cases of a suite are still what they were when it began.

    Raises:
        SetupError: some have changed, so old and new runs would not be answers to the same exam.
    """
    now = {case.name: case.hash for case in cases}
    changed = [name for name, digest in plan.cases if now.get(name) != digest]
    if changed:
        raise SetupError(
            f"these cases changed since the suite began, or are gone: {', '.join(changed)}. "
            "Begin a new suite, or take the change back."
        )
