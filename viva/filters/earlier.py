"""Which runs an earlier journal chooses: those that failed there, and those whose case or agent has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from viva.filters.fields import EXCLUDED, FAILED, status_of
from viva.journal.reader import split_reference
from viva.journal.run_index import index_runs
from viva.records.run_record import RunRecord


@dataclass(frozen=True, slots=True)
class EarlierFailures:
    """The cases that failed in a journal, by agent."""

    reference: str
    failed: frozenset[tuple[str, str]]
    """Case and agent of each run that failed there."""
    agents: frozenset[str]
    """All agents with a run there."""
    excluded: int
    """Runs there that say nothing about the agent; they did not fail."""

    def is_one_of(self, folders: Iterable[Path]) -> bool:
        """Return whether the journal is one of these."""
        return split_reference(self.reference)[0].resolve() in {folder.resolve() for folder in folders}

    def includes(self, case: str, agent: str) -> bool:
        """Return whether a case failed there with an agent; with any agent, if that one was not examined there."""
        if agent in self.agents:
            return (case, agent) in self.failed
        return any(case == name for name, _ in self.failed)


def read_failures(reference: str, threshold: float) -> EarlierFailures:
    """Read which cases failed in `FOLDER` or `FOLDER#RUN-ID`.

    Raises:
        JournalError: there is no journal.
    """
    failed, agents, excluded = set(), set(), 0
    for record in _records(reference):
        agents.add(record.agent)
        status = status_of(record, threshold)
        excluded += status == EXCLUDED
        if status == FAILED:
            failed.add((record.subject, record.agent))
    return EarlierFailures(reference, frozenset(failed), frozenset(agents), excluded)


@dataclass(frozen=True, slots=True)
class EarlierState:
    """The cases and agents that a journal's runs had."""

    reference: str
    hashes: Mapping[str, frozenset[str]]
    """The hashes of each case, by its name."""
    agents: Mapping[str, frozenset[tuple[str | None, str | None]]]
    """The digest of the agent's file and its version in each run, by SPEC."""

    def case_changed(self, name: str, digest: str) -> bool:
        """Return whether a case is new since, or not the one that was run there."""
        return digest not in self.hashes.get(name, frozenset())

    def agent_changed(self, spec: str, digest: str | None, version: str | None) -> bool:
        """Return whether an agent is new since, or its file or version is another."""
        return (digest, version) not in self.agents.get(spec, frozenset())


def read_state(reference: str) -> EarlierState:
    """Read the cases and agents of `FOLDER` or `FOLDER#RUN-ID`.

    Raises:
        JournalError: there is no journal.
    """
    hashes: dict[str, set[str]] = {}
    agents: dict[str, set[tuple[str | None, str | None]]] = {}
    for record in _records(reference):
        hashes.setdefault(record.subject, set()).add(record.setting.case_hash)
        agents.setdefault(record.agent, set()).add((record.setting.agent_digest, record.agent_version))
    return EarlierState(
        reference,
        {name: frozenset(found) for name, found in hashes.items()},
        {spec: frozenset(found) for spec, found in agents.items()},
    )


def _records(reference: str) -> Iterator[RunRecord]:
    folder, run = split_reference(reference)
    yield from index_runs(folder).records(runs=None if run is None else (run,), quick=True)
