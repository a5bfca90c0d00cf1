"""Narrows a suite down to some of its runs, before it begins; the request keeps which, and by what."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from viva.cases import Case
from viva.errors import SetupError
from viva.exam.subscribers import RunHeader
from viva.filters.columns import refuse_unknown_columns
from viva.filters.earlier import EarlierFailures, EarlierState, read_failures, read_state
from viva.filters.expression import Expression
from viva.filters.fields import PLANNED, FilterContext
from viva.filters.matching import Matches, matcher, result_fields
from viva.filters.parsing import parse_filter
from viva.journal.lines import FILE
from viva.journal.reader import split_reference
from viva.records.run_record import RunRecord, Setting
from viva.records.text import one_line
from viva.records.wording import counted
from viva.suites.chosen.git_changes import changed_files
from viva.suites.chosen.sources import agent_digest, agent_folders, agent_sources, case_sources, files_below
from viva.suites.plan import find_plan_cases, planned_runs, specs_of
from viva.suites.request import SuiteRequest


class NothingChosen(Exception):
    """Nothing failed, or nothing has changed, so that nothing is to be run: this is no mistake."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A suite of which only some runs are conducted."""

    request: SuiteRequest
    notes: tuple[str, ...] = ()
    """What the user should know of how they were chosen."""


def narrow(
    request: SuiteRequest, threshold: float, where: str | None, failed_in: str | None, changed_since: str | None
) -> Narrowed:
    """Return the request with the ids of the runs that the options keep.

    Args:
        request: The whole suite.
        threshold: The score of a passing run.
        where: A filter expression.
        failed_in: The reference of a journal.
        changed_since: The reference of a journal, or a commit.

    Raises:
        NothingChosen: nothing failed there, or nothing has changed since.
        SetupError: an option is not valid, or no run matches the expression.
        CaseError: a case cannot be loaded.
    """
    if where is None and failed_in is None and changed_since is None:
        return Narrowed(request)
    expression = None if where is None else check_planned(parse_filter(where))
    failures = None if failed_in is None else read_failures(failed_in, threshold)
    cases = find_plan_cases(request)
    changes = None if changed_since is None else _changes(changed_since, specs_of(request))
    every = list(planned_runs(request, cases))
    kept = every
    if expression is not None:
        keeps = _by_expression(expression, cases)
        kept = [each for each in kept if keeps(planned_record(*each))]
        if not kept:
            raise SetupError(f"no run of this suite matches --where; it has {counted(len(every), 'run')}.")
    if failures is not None:
        kept = [(header, case) for header, case in kept if failures.includes(case.name, header.agent)]
        if not kept:
            why = f"none of these cases failed in {failures.reference}{_excluded(failures)}"
            raise NothingChosen(f"nothing to run: {why}")
    if changes is not None:
        kept = [(header, case) for header, case in kept if changes.includes(case, header.agent)]
        if not kept:
            raise NothingChosen(f"nothing to run: no case and no agent has changed since {changed_since}")
    if len(kept) == len(every):
        return Narrowed(request, () if changes is None else changes.notes)
    by = _words(where, failed_in, changed_since)
    notes = [f"{len(kept):,} of {counted(len(every), 'run')} ({by})"]
    if failures is not None and failures.excluded:
        notes.append(f"--failed-in: {_excluded(failures).removeprefix(' (').removesuffix(')')}")
    notes += [] if changes is None else changes.notes
    only = tuple(header.id for header, _ in kept)
    return Narrowed(replace(request, only=only, only_by=by, planned_without=len(every)), tuple(notes))


def check_planned(expression: Expression) -> Expression:
    """Return an expression that is about runs before they begin.

    Raises:
        SetupError: it has a field that only a run that was conducted has.
    """
    if of_results := result_fields(expression):
        raise SetupError(
            f"--where: {', '.join(of_results)} is not known before a run. To choose cases by an earlier journal, "
            "use --failed-in JOURNAL."
        )
    return expression


def planned_record(header: RunHeader, case: Case) -> RunRecord:
    """Return a record for filters of a run that has not begun."""
    setting = Setting(
        case=case.name,
        case_file=str(case.file),
        case_hash=case.hash,
        agent=header.agent,
        persona=header.persona,
        strategy=header.strategy,
        suite=header.suite,
    )
    return RunRecord(
        header.id, case.name, header.agent, PLANNED, None, trial=header.trial, tags=header.tags, setting=setting
    )


def _by_expression(expression: Expression, cases: Sequence[Case]) -> Matches:
    parts: dict[str, Mapping[str, Any]] = {
        case.name: {"metadata": case.metadata, "row": case.columns} for case in cases
    }
    refuse_unknown_columns(expression, {column for case in cases for column in case.columns})
    return matcher(expression, FilterContext(case_of=lambda record: parts[record.subject]))


def _excluded(failures: EarlierFailures) -> str:
    if not failures.excluded:
        return ""
    return f" ({counted(failures.excluded, 'run')} there could not be scored, so they did not fail; see viva requeue)"


def _words(where: str | None, failed_in: str | None, changed_since: str | None) -> str:
    parts = [] if where is None else [f"--where '{one_line(where, 300)}'"]
    parts += [] if failed_in is None else [f"--failed-in {one_line(failed_in, 300)}"]
    parts += [] if changed_since is None else [f"--changed-since {one_line(changed_since, 300)}"]
    return " ".join(parts)


@dataclass(frozen=True, slots=True)
class _Changes:
    """What has changed since a journal was written, or since a commit."""

    agents: frozenset[str]
    """The SPECs of the agents that have changed: all of their runs are conducted."""
    notes: tuple[str, ...]
    state: EarlierState | None = None
    files: frozenset[str] = frozenset()

    def includes(self, case: Case, spec: str) -> bool:
        """Return whether a case, or the agent that takes it, has changed."""
        if spec in self.agents:
            return True
        if self.state is not None:
            return self.state.case_changed(case.name, case.hash)
        return any(_is_among(path, self.files) for path in case_sources(case))


def _changes(reference: str, specs: Sequence[str]) -> _Changes:
    folder, _ = split_reference(reference)
    if (folder / FILE).exists():
        return _since_journal(read_state(reference), specs)
    if folder.is_dir():
        raise SetupError(f"--changed-since: {folder} is a folder, but holds no journal.")
    return _since_commit(changed_files(reference), specs)


def _since_journal(state: EarlierState, specs: Sequence[str]) -> _Changes:
    changed: list[str] = []
    unknown: list[str] = []
    for spec in specs:
        before = {digest for digest, _ in state.agents.get(spec, ())}
        now = agent_digest(spec)
        if spec not in state.agents or (now is not None and now not in before):
            changed.append(spec)
        elif now is None:
            unknown.append(spec)
    return _Changes(frozenset(changed), _unknown_words(unknown), state)


def _since_commit(files: frozenset[str], specs: Sequence[str]) -> _Changes:
    changed = [spec for spec in specs if any(os.path.realpath(file) in files for file in _agent_files(spec))]
    unknown = [spec for spec in specs if not agent_sources(spec)]
    return _Changes(frozenset(changed), _unknown_words(unknown), files=files)


def _agent_files(spec: str) -> Iterator[Path]:
    yield from agent_sources(spec)
    for folder in agent_folders(spec):
        yield from files_below(folder, (".py",))


def _unknown_words(specs: Sequence[str]) -> tuple[str, ...]:
    names = ", ".join(one_line(spec, 80) for spec in specs)
    if not names:
        return ()
    return (f"--changed-since: whether {names} has changed is not known here; only the cases were compared",)


def _is_among(path: Path, files: frozenset[str]) -> bool:
    real = os.path.realpath(path)
    return real in files or any(file.startswith(real + os.sep) for file in files)
