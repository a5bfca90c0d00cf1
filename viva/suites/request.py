"""The request: what a command was asked to do. `resuming/` stores it in the new journal."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from viva.cases import Case, Rubric
from viva.cases.many.references import split_reference
from viva.exam.forking.fork import NO_EDITS, Edits, Means
from viva.exam.options import Options
from viva.journal.reader import read_runs
from viva.journal.writer import FILE as JOURNAL_FILE
from viva.journal.writer import raw_lines
from viva.records.text import counted
from viva.statistics.adaptive.until import Until
from viva.statistics.bisection.plan import BisectionPlan
from viva.suites.resuming.left_out import LeftOut

FAILED_IN = "--failed-in "
"""What the words of filters contain if cases were chosen because they had failed."""
Command = Literal["run", "suite", "judge", "replay", "trace", "bisect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a command was asked to do. Each kind of command has a class of its own."""

    command: Command
    options: Options = field(default_factory=Options)
    folder: str = ""
    """The working directory when the command started: paths and SPECs are relative to it."""
    planned: int = 0
    """The number of runs when the command started; 0 in older journals."""

    def parts(self) -> dict[str, object]:
        """Return what the same request has in common with this one besides the options, by name."""
        raise NotImplementedError

    def what_runs(self) -> dict[str, object]:
        """Return what resuming would read and run besides the options, by description."""
        raise NotImplementedError

    def resuming(self, stored: Self) -> Self:
        """Return this request with what the stored one holds of the past, such as the cases when it started."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class FromFile:
    """What a request took from a `viva.yaml`."""

    suite: str = ""
    """The suite's name; empty for what `viva run` takes."""
    file: str
    """The absolute path."""
    digest: str
    """The SHA-256 of the file, in hex."""
    keys: tuple[str, ...]
    """The keys whose values were taken; the user typed the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRequest(Request):
    """What `viva suite` and `viva run` were asked to do: to test agents with cases."""

    paths: tuple[str, ...]
    """Case folders, folders of cases, or names of bundled cases."""
    agents: tuple[str, ...] = ()
    """SPECs; empty means the bundled careful agent."""
    vary: tuple[str, ...] = ()
    """Settings of the agents that are varied, as `--vary` takes them."""
    trials: int = 1
    until: Until | None = None
    """The decision at which the suite ends; None for a fixed number of trials."""
    names: tuple[str, ...] = ()
    """Shell patterns; a case is included if its name matches one. Empty means all."""
    tags: tuple[str, ...] = ()
    """A case is included if it has one of these. Empty means all."""
    cases: tuple[tuple[str, str], ...] = ()
    """Name and hash of each case when the suite started."""
    from_file: FromFile | None = None
    """What was taken from a `viva.yaml`."""
    only: tuple[str, ...] | None = None
    """The ids of the runs that filters chose when the suite started; None for all."""
    only_by: str = ""
    """These filters, as options of the command line."""
    planned_without: int = 0
    """The number of runs without them; 0 if there are none."""

    def parts(self) -> dict[str, object]:
        """Return the cases that were named, the agents, and the number and choice of runs."""
        joined = (Path(self.folder or os.getcwd(), path) for path in self.paths)
        # Names of cases stay as they are.
        paths = [
            str(full) if split_reference(str(full)).path.exists() else path
            for path, full in zip(self.paths, joined, strict=True)
        ]
        return {
            "cases": paths, "agents": self.agents, "vary": self.vary, "trials": self.trials, "until": self.until,
            "names": self.names, "tags": self.tags,
            "filters": self.only_by,
        }  # fmt: skip

    @property
    def part_words(self) -> str:
        """Return that the suite is a part of another, with the filters that chose it; empty if it is whole."""
        if self.only is None:
            return ""
        return f"part of a suite: {len(self.only):,} of {counted(self.planned_without, 'planned run')} ({self.only_by})"

    @property
    def chose_failures(self) -> bool:
        """Return whether its cases were chosen because they had failed in another journal."""
        return self.only is not None and FAILED_IN in self.only_by

    def resuming(self, stored: Self) -> Self:
        """Return this request with the hashes of the stored one, by which changed cases are noticed."""
        return replace(self, cases=stored.cases)

    def what_runs(self) -> dict[str, object]:
        """Return the cases and agents."""
        return {"cases": self.paths, "agents": self.agents or "the bundled one"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalsRequest(Request):
    """What `viva judge` and `viva replay --against` were asked to do: to use the conversations of journals again."""

    references: tuple[tuple[str, str | None], ...]
    """The absolute folder of each journal, and the id of one run, or None for all runs."""
    sizes: tuple[int, ...] = ()
    """The size of each journal when the command started, in bytes."""
    replacement: Case | None = None
    """The case that replaces the stored case of the same name, and by which recordings are judged."""
    rubric: Rubric | None = None
    """The scoring points of recordings."""
    fork_at: int = 0
    """The last round of each conversation that is kept, if another agent continues it; 0 if it is asked everything."""
    fork_by: Means | None = None
    """How the agent gets there; None means by its state, if there is one."""
    edits: Edits = NO_EDITS
    """What a person changed at the fork."""
    only: tuple[str, ...] | None = None
    """The ids of the runs that filters chose when the command started; None for all."""
    only_by: str = ""
    """These filters, as options of the command line."""
    only_by_results: bool = False
    """Whether they, or those of the journals themselves, chose runs by their own results, so that no gate can be over
    them."""
    part_of: str = ""
    """What the journals hold, or what was named of them, if that is only a part of something, in words."""
    incomplete: str = ""
    """What of the work on the journals was missing when the command started, in words."""

    @property
    def part_words(self) -> str:
        """Return that only some of the conversations are used, and what chose them; empty if all are."""
        own = "" if self.only is None else f"only {counted(len(self.only), 'conversation')} ({self.only_by})"
        return "; ".join(words for words in (own, self.part_of) if words)

    @property
    def ways(self) -> tuple[Means, ...]:
        """Return how the agent may get to the fork; empty for the usual ways."""
        return () if self.fork_by is None else (self.fork_by,)

    @property
    def journals(self) -> list[tuple[Path, str | None]]:
        """Return the references with paths."""
        return [(Path(folder), run) for folder, run in self.references]

    def parts(self) -> dict[str, object]:
        """Return the journals, and the hash of the case that replaces another."""
        rubric = None if self.rubric is None else [paper.hash for paper in self.rubric.papers]
        case = self.replacement and self.replacement.hash
        fork = (self.fork_at, self.fork_by, self.edits)
        return {"journals": self.references, "case": case, "rubric": rubric, "fork": fork, "filters": self.only_by}

    def what_runs(self) -> dict[str, object]:
        """Return the journals, the case that replaces another, and the agent."""
        case = {} if self.replacement is None else {"the case": self.replacement.file}
        agent = {} if self.options.agent is None else {"agent": self.options.agent}
        return {"journals": tuple(folder for folder, _ in self.references), **case, **agent}


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectRequest(JournalsRequest):
    """What `viva bisect` was asked to do: to find the round of one conversation that decided."""

    plan: BisectionPlan = field(default_factory=BisectionPlan)

    def parts(self) -> dict[str, object]:
        """Return the conversation, and what is to be found."""
        # Without `super`, which a dataclass with slots does not have.
        # The limit of forks may be another one when the work is resumed.
        return {**JournalsRequest.parts(self), "plan": self.plan.limited_to(1)}

    @property
    def ways(self) -> tuple[Means, ...]:
        """Return how the agent may get to each fork: what keeps the recorded replies comes first."""
        return ("state", "conversation", "replay") if self.fork_by is None else (self.fork_by,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingsRequest(Request):
    """What `viva trace` was asked to do: to import recordings and judge them."""

    recordings: tuple[str, ...]
    """SPECs of the recordings to import."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Names that the user gave for what the recordings do not tell: `agent`, `version`, `framework`, `technique`."""
    compared: str | None = None
    """The SPEC, also among `recordings`, of what the others are compared with."""
    compared_labels: Mapping[str, str] = field(default_factory=dict)
    """Names for its recordings."""
    limit: int | None = None
    """Maximum number of recordings to import."""
    sample: float = 1.0
    """Share of the recordings to import."""
    since: float | None = None
    """Seconds since the epoch: recordings that began before are not imported."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Definitions of tools that are added to those of the recordings."""
    rubric: Rubric | None = None
    """The scoring points by which the recordings are judged."""
    mapping: str | None = None
    """A mapping file, which says how the recordings name things, for readers that take one."""

    def labels_of(self, spec: str) -> Mapping[str, str]:
        """Return the user's names for the recordings of a source."""
        return self.compared_labels if spec == self.compared else self.labels

    def samples(self, key: str) -> bool:
        """Return whether a recording belongs to the sample: by its key alone, so always or never."""
        digest = hashlib.sha256(key.encode(errors="replace")).digest()
        return int.from_bytes(digest[:8], "big") < self.sample * 2**64

    def parts(self) -> dict[str, object]:
        """Return the recordings, and what is chosen among them and added to them."""
        chosen = {"limit": self.limit, "sample": self.sample, "since": self.since}
        rubric = None if self.rubric is None else [paper.hash for paper in self.rubric.papers]
        added = {"labels": self.labels, "tools": self.tools, "mapping": self.mapping, "rubric": rubric}
        compared = {"compared": self.compared, "compared_labels": self.compared_labels}
        return {"recordings": self.recordings, **chosen, **added, **compared}

    def what_runs(self) -> dict[str, object]:
        """Return the recordings, and the mapping file."""
        rubric = {} if self.rubric is None else {"the rubric": str(self.rubric.papers[0].file)}
        mapping = {} if self.mapping is None else {"mapping": self.mapping}
        return {"recordings": self.recordings, **mapping, **rubric}


KINDS: Mapping[str, type[Request]] = {
    "run": SuiteRequest,
    "suite": SuiteRequest,
    "judge": JournalsRequest,
    "replay": JournalsRequest,
    "trace": RecordingsRequest,
    "bisect": BisectRequest,
}
"""The class of a request, by its command."""


def journals_request(
    command: Literal["judge", "replay"],
    references: list[tuple[Path, str | None]],
    options: Options,
    replacement: Case | None = None,
    rubric: Rubric | None = None,
) -> JournalsRequest:
    """Return the request to use these journals, with their present sizes.

    Raises:
        JournalError: a journal or a requested run does not exist.
    """
    for folder, run in references:
        next(iter(raw_lines(folder) if run is None else read_runs(folder, run)), None)
    return JournalsRequest(
        command=command,
        references=tuple((str(folder.absolute()), run) for folder, run in references),
        sizes=tuple(journal_size(folder) for folder, _ in references),
        options=options,
        replacement=replacement,
        rubric=rubric,
        folder=os.getcwd(),
    )


def with_missing(request: JournalsRequest, left_out: LeftOut) -> JournalsRequest:
    """Return a request that says which of its conversations are left out."""
    return replace(request, incomplete=", ".join(filter(None, (request.incomplete, left_out.words))))


def journal_size(folder: Path) -> int:
    """Return the size of a journal in bytes, by which a change of it is noticed; -1 if it has no file."""
    with contextlib.suppress(OSError):
        return (folder / JOURNAL_FILE).stat().st_size
    return -1
