"""The plan of a suite: the cases that a request means, and the run of each with each agent in each trial."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from viva.adapters.connectors.settings import number_of_specs, parse_varied, varied_specs
from viva.cases import Case, CaseError, Skipped, find_case, find_cases, load_cases
from viva.cases.find import BUNDLED
from viva.errors import SetupError
from viva.exam.resources import DEFAULT_AGENT
from viva.exam.subscribers import RunHeader
from viva.journal.writer import run_id
from viva.records.text import one_line
from viva.records.wording import counted
from viva.suites.request import SuiteRequest

T = TypeVar("T")

SKIPPED_SHOWN = 5
TAGS_SHOWN = 12
CHANGED_SHOWN = 20


def find_plan_cases(
    request: SuiteRequest, given: Mapping[str, Case] = MappingProxyType({}), skipped: list[Skipped] | None = None
) -> list[Case]:
    """Return the cases of a suite.

    Args:
        request: Contains their paths.
        given: Cases that need not be loaded, by their path in the request.
        skipped: Receives the folders below the paths that hold YAML files without being a case.

    Raises:
        CaseError: a case is not found.
        SetupError: cases are invalid (lists all mistakes), two have the same name, or no case is left.
    """
    cases: list[Case] = []
    mistakes: list[str] = []
    passed_over = [] if skipped is None else skipped
    for stored in request.paths:
        path = stored if stored in given else _present(stored)
        if path in given:
            cases.append(given[path])
            continue
        for folder in find_cases(Path(path), passed_over) if Path(path).is_dir() else [find_case(path)]:
            try:
                cases += load_cases(folder)
            except CaseError as error:
                mistakes.append(str(error))
    if mistakes:
        raise SetupError("\n".join(mistakes))
    chosen = [case for case in cases if _chosen(case, request)]
    if not chosen:
        left = f"; --name and --tag exclude all {len(cases)}" if cases else ""
        words = [f"there is no case in {', '.join(request.paths)}{left}.{_unknown_tags(cases, request.tags)}"]
        raise SetupError("\n".join([*words, *([] if cases else skipped_notes(passed_over))]))
    seen: dict[str, Case] = {}
    for case in chosen:
        other = seen.setdefault(case.name, case)
        if other is case:
            continue
        if other.file.resolve() != case.file.resolve():
            raise SetupError(f"two cases are called {case.name!r}: {other.file} and {case.file}. Rename one of them.")
        if other.hash != case.hash:
            raise SetupError(f"two cases are called {case.name!r}, but they differ: rename one.")
    return list({case.name: case for case in chosen}.values())


def _present(path: str) -> str:
    """Return a stored path, or the name of the bundled case that an earlier installation kept there."""
    folder = Path(path).parent if Path(path).suffix in (".yaml", ".yml") else Path(path)
    moved = folder.is_absolute() and not folder.exists() and folder.parent.name == BUNDLED.name
    return folder.name if moved and (BUNDLED / folder.name).is_dir() else path


def skipped_notes(skipped: Sequence[Skipped]) -> list[str]:
    """Return a line for each folder that was passed over; of many, for the first ones."""
    once = list(dict.fromkeys(skipped))
    more = len(once) - SKIPPED_SHOWN
    rest = [f"{counted(more, 'more folder')} skipped; 'viva cases check' lists them"] if more > 0 else []
    return [*map(str, once[:SKIPPED_SHOWN]), *rest]


def _chosen(case: Case, request: SuiteRequest) -> bool:
    # The name of a row has brackets, which a pattern reads as a choice of letters.
    named = not request.names or any(
        case.name == pattern or fnmatch.fnmatchcase(case.name, pattern) for pattern in request.names
    )
    return named and (not request.tags or bool(set(request.tags) & set(case.tags)))


def _unknown_tags(cases: Sequence[Case], wanted: Sequence[str]) -> str:
    """Return a note about the tags that no case has, with those that there are; empty if all are known."""
    there = {tag for case in cases for tag in case.tags}
    unknown = [repr(one_line(tag, 60)) for tag in wanted if tag not in there]
    if not cases or not unknown:
        return ""
    known = sorted(one_line(tag, 60) for tag in there)
    shown = ", ".join(known[:TAGS_SHOWN]) + (", …" if len(known) > TAGS_SHOWN else "")
    return f" No case has the tag {' or '.join(unknown)}; {f'the tags are {shown}' if known else 'none has a tag'}."


def specs_of(request: SuiteRequest) -> tuple[str, ...]:
    """Return the SPECs of the agents under test, each with each combination of the settings that are varied.

    Raises:
        SetupError: one is given twice, or the settings cannot be varied.
    """
    specs = request.agents or (DEFAULT_AGENT,)
    if len(set(specs)) < len(specs):
        raise SetupError("the same --agent is given twice; use --trials to test an agent several times.")
    return varied_specs(specs, parse_varied(request.vary))


def planned_runs(request: SuiteRequest, cases: list[Case]) -> Iterator[tuple[RunHeader, Case]]:
    """Yield all runs, trial by trial, so that a suite that is stopped early has covered every case.

    Raises:
        SetupError: two runs have the same id, so that a journal could not tell them apart.
    """
    seen: dict[str, RunHeader] = {}
    only = None if request.only is None else frozenset(request.only)
    suite = "" if request.from_file is None else request.from_file.suite
    for trial, case, spec, (persona, strategy) in _each(request, cases):
        header = RunHeader(
            id=run_id(case.name, spec, trial, persona, strategy),
            subject=case.name,
            agent=spec,
            trial=trial,
            persona=persona,
            strategy=strategy,
            tags=case.tags,
            suite=suite,
        )
        refuse_same_id(seen.setdefault(header.id, header), header)
        if only is None or header.id in only:
            yield header, case


def planned_ids(request: SuiteRequest) -> Iterator[str]:
    """Yield the ids of all runs of a suite as it was when it started, from what its request stores.

    Raises:
        SetupError: the agents, or the settings that are varied, are not valid.
    """
    for trial, (name, _), spec, (persona, strategy) in _each(request, request.cases):
        yield run_id(name, spec, trial, persona, strategy)


def planned_product(request: SuiteRequest) -> int:
    """Return the number of these runs. None of them is made: the request may be a stranger's.

    Raises:
        SetupError: the settings that are varied are not valid.
    """
    options, agents = request.options, request.agents or (DEFAULT_AGENT,)
    factors = (request.cases, options.personas or ("",), options.strategies or ("",))
    return request.trials * number_of_specs(agents, parse_varied(request.vary)) * math.prod(map(len, factors))


def longest_run(request: SuiteRequest) -> int:
    """Return about how many characters the id of one of these runs is made from at most."""
    options = request.options
    texts = ((name for name, _ in request.cases), request.agents, options.personas, options.strategies)
    return sum(max(map(len, each), default=0) for each in texts) + sum(map(len, request.vary))


def _each(request: SuiteRequest, cases: Iterable[T]) -> Iterator[tuple[int, T, str, tuple[str, str]]]:
    """Yield trial, case, agent, and persona and strategy of each run."""
    return product(range(1, request.trials + 1), cases, specs_of(request), _variants(request))


def _variants(request: SuiteRequest) -> list[tuple[str, str]]:
    options = request.options
    return list(product(options.personas or ("",), options.strategies or ("",)))


def refuse_same_id(one: RunHeader, other: RunHeader) -> None:
    """Check that two runs with the same id are the same run: their ids are digests, which collide once in a blue moon.

    Raises:
        SetupError: they are not; a journal would mix them up.
    """
    if one is other:
        return
    names = " and ".join(
        f"{one_line(each.subject, 200)} by {one_line(each.agent, 100)}, trial {each.trial}" for each in (one, other)
    )
    raise SetupError(f"two runs would have the same id {one.id}: {names}. Rename one of the cases, or the id of a row.")


def check_unchanged(request: SuiteRequest, cases: list[Case]) -> None:
    """Check that the cases of a suite have not changed since it started.

    Raises:
        SetupError: some have changed, so old and new runs would not be comparable.
    """
    now = {case.name: case.hash for case in cases}
    changed = [name for name, digest in request.cases if now.get(name) != digest]
    if changed:
        raise SetupError(
            f"these cases were changed or removed since the suite started: {_named(changed)}. "
            "Start a new suite, or undo the change."
        )


def without_added(request: SuiteRequest, cases: list[Case], tell: Callable[[str], None]) -> list[Case]:
    """Return the cases that a suite had when it started.

    Cases that were added to a suite in progress would otherwise stand for others that were never run.

    Args:
        request: Contains their names.
        cases: All that are found now.
        tell: Is told of the others.
    """
    names = {name for name, _ in request.cases}
    added = [case.name for case in cases if case.name not in names] if names else []
    if added:
        tell(
            f"not run: {counted(len(added), 'case')} added since the suite started. A resumed suite keeps its cases; "
            f"start a new suite to run {'it' if len(added) == 1 else 'them'}: {_named(added)}"
        )
    return [case for case in cases if case.name in names] if names else cases


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - CHANGED_SHOWN:,} more" if names[CHANGED_SHOWN:] else ""
    return ", ".join(one_line(name, 200) for name in names[:CHANGED_SHOWN]) + more
