"""The plan of a suite: its cases, agents and trials. It is stored in the journal, so that the suite can be resumed."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from viva.cases import Case, CaseError, Skipped, find_case, find_cases, load_case
from viva.errors import SetupError
from viva.exam.options import Options
from viva.exam.resources import DEFAULT_AGENT
from viva.exam.subscribers import RunHeader
from viva.journal.writer import Journal, run_id
from viva.records.codec import decode, encode
from viva.records.wording import counted
from viva.suites.signature import chosen, read_signed, refuse_unsigned, signed

FILE = "suite.json"
SKIPPED_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """A suite as the user asked for it."""

    paths: tuple[str, ...]
    """Case folders, folders of cases, or names of bundled cases."""
    agents: tuple[str, ...] = ()
    """SPECs; empty means the bundled careful agent."""
    trials: int = 1
    names: tuple[str, ...] = ()
    """Shell patterns; a case is included if its name matches one. Empty means all."""
    tags: tuple[str, ...] = ()
    """A case is included if it has one of these. Empty means all."""
    options: Options = field(default_factory=Options)
    cases: tuple[tuple[str, str], ...] = ()
    """Name and hash of each case when the suite started."""
    folder: str = ""
    """The working directory when the suite started: paths and SPECs are relative to it."""
    single: bool = False
    """Whether this is the plan of `viva run`, whose journal takes further single runs."""


def find_plan_cases(
    plan: Plan, given: Mapping[str, Case] = MappingProxyType({}), skipped: list[Skipped] | None = None
) -> list[Case]:
    """Return the cases of a plan.

    Args:
        plan: Contains their paths.
        given: Cases that need not be loaded, by their path in the plan.
        skipped: Receives the folders below the paths that hold YAML files without being a case.

    Raises:
        CaseError: a case is not found.
        SetupError: cases are invalid (lists all mistakes), two have the same name, or no case is left.
    """
    cases: list[Case] = []
    mistakes: list[str] = []
    passed_over = [] if skipped is None else skipped
    for path in plan.paths:
        if path in given:
            cases.append(given[path])
            continue
        for folder in find_cases(Path(path), passed_over) if Path(path).is_dir() else [find_case(path)]:
            try:
                cases.append(load_case(folder))
            except CaseError as error:
                mistakes.append(str(error))
    if mistakes:
        raise SetupError("\n".join(mistakes))
    chosen = [case for case in cases if _chosen(case, plan)]
    if not chosen:
        left = f"; --name and --tag exclude all {len(cases)}" if cases else ""
        words = [f"there is no case in {', '.join(plan.paths)}{left}."]
        raise SetupError("\n".join([*words, *([] if cases else skipped_notes(passed_over))]))
    seen: dict[str, Case] = {}
    for case in chosen:
        other = seen.setdefault(case.name, case)
        if other.file.resolve() != case.file.resolve():
            raise SetupError(f"two cases are called {case.name!r}: {other.file} and {case.file}. Rename one folder.")
        if other.hash != case.hash:
            raise SetupError(f"two cases are called {case.name!r}, but they differ: rename one.")
    return list({case.name: case for case in chosen}.values())


def skipped_notes(skipped: Sequence[Skipped]) -> list[str]:
    """Return a line for each folder that was passed over; of many, for the first ones."""
    once = list(dict.fromkeys(skipped))
    more = len(once) - SKIPPED_SHOWN
    rest = [f"{counted(more, 'more folder')} skipped; 'viva cases check' lists them"] if more > 0 else []
    return [*map(str, once[:SKIPPED_SHOWN]), *rest]


def _chosen(case: Case, plan: Plan) -> bool:
    named = not plan.names or any(fnmatch.fnmatchcase(case.name, pattern) for pattern in plan.names)
    return named and (not plan.tags or bool(set(plan.tags) & set(case.tags)))


def specs_of(plan: Plan) -> tuple[str, ...]:
    """Return the SPECs of the agents under test.

    Raises:
        SetupError: one is given twice.
    """
    specs = plan.agents or (DEFAULT_AGENT,)
    if len(set(specs)) < len(specs):
        raise SetupError("the same --agent is given twice; use --trials to test an agent several times.")
    return specs


def planned_runs(plan: Plan, cases: list[Case]) -> Iterator[tuple[RunHeader, Case]]:
    """Yield all runs, trial by trial, so that a suite that is stopped early has covered every case."""
    specs = specs_of(plan)
    for trial in range(1, plan.trials + 1):
        for case in cases:
            for spec in specs:
                header = RunHeader(
                    id=run_id(case.name, spec, trial), subject=case.name, agent=spec, trial=trial, tags=case.tags
                )
                yield header, case


def save_plan(plan: Plan, journal: Journal) -> None:
    """Store the plan next to the journal."""
    journal.keep(FILE, signed(encode(plan)))


def load_plan(folder: Path) -> Plan:
    """Return the plan of a suite without checking who started it. Use `plan_to_resume` to resume the suite.

    Raises:
        SetupError: the folder contains none, or it cannot be read.
    """
    return _load(folder)[0]


def plan_to_resume(folder: Path, *, trusted: bool = False) -> Plan:
    """Return the plan of a suite that is to be resumed.

    Args:
        folder: The journal's folder.
        trusted: Whether the user permits resuming a plan without the user's signature.

    Raises:
        SetupError: the folder contains no plan, or the plan does not have the user's signature.
    """
    plan, ours = _load(folder)
    if not ours and not trusted:
        choices = {"cases": plan.paths, "agents": plan.agents or "the bundled one", **dict(chosen(plan.options))}
        refuse_unsigned(folder, FILE, {**choices, "in the folder": plan.folder or "."})
    return plan


def _load(folder: Path) -> tuple[Plan, bool]:
    try:
        data, ours = read_signed(folder, FILE)
        return decode(Plan, data), ours
    except FileNotFoundError:
        raise SetupError(f"{folder} is not the journal of a suite: it has no {FILE}.") from None
    except (OSError, ValueError) as error:
        raise SetupError(f"{folder / FILE} cannot be read: {error}") from error


def check_unchanged(plan: Plan, cases: list[Case]) -> None:
    """Check that the cases of a suite have not changed since it started.

    Raises:
        SetupError: some have changed, so old and new runs would not be comparable.
    """
    now = {case.name: case.hash for case in cases}
    changed = [name for name, digest in plan.cases if now.get(name) != digest]
    if changed:
        raise SetupError(
            f"these cases were changed or removed since the suite started: {', '.join(changed)}. "
            "Start a new suite, or undo the change."
        )
