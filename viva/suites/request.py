"""The stored request: what a command was asked to do. It is kept in the new journal, so that it can be resumed."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from viva.cases import Case, Rubric
from viva.cases.many.references import split_reference
from viva.errors import SetupError
from viva.exam.forking.fork import Means
from viva.exam.options import Options
from viva.journal.kept_cases import NOWHERE
from viva.journal.reader import read_runs
from viva.journal.writer import FILE as JOURNAL_FILE
from viva.journal.writer import Journal, raw_lines
from viva.records.codec import decode, encode
from viva.records.text import counted
from viva.suites.signature import chosen, read_signed, refuse_unsigned, signed

FILE = "request.json"
OLDER_FILES = ("suite.json", "sources.json")
"""The names of this file in older journals."""
OLDER_NAMES = {"places": "references", "mended": "replacement"}
"""Fields by the names under which older journals hold them."""
Command = Literal["run", "suite", "judge", "replay", "trace"]


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


R = TypeVar("R", bound=Request)
_MODEL_FLAGS = {name: f"--{name.replace('_', '-')}" for name in sorted(Options.may_replace())}


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
    trials: int = 1
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
            "cases": paths, "agents": self.agents, "trials": self.trials, "names": self.names, "tags": self.tags,
            "filters": self.only_by,
        }  # fmt: skip

    @property
    def part_words(self) -> str:
        """Return that the suite is a part of another, with the filters that chose it; empty if it is whole."""
        if self.only is None:
            return ""
        return f"part of a suite: {len(self.only):,} of {counted(self.planned_without, 'planned run')} ({self.only_by})"

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
    only: tuple[str, ...] | None = None
    """The ids of the runs that filters chose when the command started; None for all."""
    only_by: str = ""
    """These filters, as options of the command line."""
    only_by_results: bool = False
    """Whether they chose runs by their own results, so that no gate can be over them."""

    @property
    def part_words(self) -> str:
        """Return that only some of the conversations are used, with the filters that chose them; empty if all are."""
        return "" if self.only is None else f"only {counted(len(self.only), 'conversation')} ({self.only_by})"

    @property
    def journals(self) -> list[tuple[Path, str | None]]:
        """Return the references with paths."""
        return [(Path(folder), run) for folder, run in self.references]

    def parts(self) -> dict[str, object]:
        """Return the journals, and the hash of the case that replaces another."""
        rubric = None if self.rubric is None else [paper.hash for paper in self.rubric.papers]
        case = self.replacement and self.replacement.hash
        fork = (self.fork_at, self.fork_by)
        return {"journals": self.references, "case": case, "rubric": rubric, "fork": fork, "filters": self.only_by}

    def what_runs(self) -> dict[str, object]:
        """Return the journals, the case that replaces another, and the agent."""
        case = {} if self.replacement is None else {"the case": self.replacement.file}
        agent = {} if self.options.agent is None else {"agent": self.options.agent}
        return {"journals": tuple(folder for folder, _ in self.references), **case, **agent}


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
        sizes=tuple(_size(folder) for folder, _ in references),
        options=options,
        replacement=replacement,
        rubric=rubric,
        folder=os.getcwd(),
    )


def holds_request(folder: Path) -> bool:
    """Return whether a folder holds a stored request: then it belongs to a command."""
    return any((folder / name).exists() for name in (FILE, *OLDER_FILES))


def save_request(request: Request, journal: Journal) -> None:
    """Store the request next to a new journal.

    Raises:
        SetupError: the folder already holds a request.
    """
    if any(journal.holds(name) for name in (FILE, *OLDER_FILES)):
        again = f"viva {request.command} --resume {journal.folder}"
        raise SetupError(f"{journal.folder} is already in use: resume it ({again}), or name another --out.")
    journal.keep(FILE, signed(encode(request)))


def load_request(folder: Path) -> Request | None:
    """Return the request that a folder holds, or None, whoever signed it; to resume it, use `request_to_resume`.

    Raises:
        SetupError: the request cannot be read.
    """
    found = _read(folder)
    return None if found is None else found[0]


def part_words(folder: Path) -> str:
    """Return that a journal holds only a part of what was planned, with the filters; empty if it holds all of it."""
    try:
        request = load_request(folder)
    except SetupError:
        return ""
    return request.part_words if isinstance(request, SuiteRequest | JournalsRequest) else ""


def was_chosen_by_results(folder: Path) -> bool:
    """Return whether a journal holds only runs that were chosen by their own results."""
    try:
        request = load_request(folder)
    except SetupError:
        return False
    return isinstance(request, JournalsRequest) and request.only_by_results


def request_to_resume(folder: Path, kind: type[R], command: Command, *, trusted: bool = False) -> R:
    """Return the request that a command resumes.

    Args:
        folder: The journal's folder.
        kind: The class of the command's requests.
        command: The command. `suite` also resumes a journal of `run`.
        trusted: Whether the user permits resuming a request without the user's signature.

    Raises:
        SetupError: the folder holds no request of this command, the request does not have the user's signature, or a
            journal that it names has changed since.
    """
    found = _read(folder)
    if found is None:
        raise SetupError(f"{folder} was not made by viva {command}: it has no {FILE}.")
    request, ours, name = found
    if not isinstance(request, kind) or command not in (request.command, "suite"):
        made = f"{folder} was not made by viva {command}, but by viva {request.command}"
        raise SetupError(f"{made}. To resume it: viva {request.command} --resume {folder}")
    if not ours and not trusted:
        options = dict(chosen(request.options))
        refuse_unsigned(folder, name, {**request.what_runs(), **options, "in the folder": request.folder or "."})
    if isinstance(request, JournalsRequest):
        for (journal, _), size in zip(request.journals, request.sizes, strict=False):
            if _size(journal) != size:
                raise SetupError(f"the journal {journal} has changed since {folder} was started; start a new one.")
    return request


def with_changes(request: R, changes: Mapping[str, Any]) -> R:
    """Return a request with other values of options that may change when it is resumed.

    Raises:
        SetupError: a model is to be added where none was named, or left out, so that others would examine or judge the
            other runs.
    """
    options = request.options
    for name in changes.keys() & Options.may_replace():
        if not changes[name]:
            raise SetupError(f"{_MODEL_FLAGS[name]} requires the name of a model; without it, the stored one is used.")
        roles = name in ("examiner_model", "judge_model") and options.model
        if not (getattr(options, name) or roles):
            named = [flag for each, flag in _MODEL_FLAGS.items() if getattr(options, each)]
            instead = (
                f"It was started with {' and '.join(named)}, which can be replaced" if named else "Start a new one"
            )
            raise SetupError(f"{_MODEL_FLAGS[name]} cannot be added when work is resumed. {instead}.")
    return replace(request, options=replace(options, **changes))


def refuse_other_request(folder: Path, stored: Request, asked: Request) -> None:
    """Check that a repeated call asks for what a folder holds, except for options that may change.

    Raises:
        SetupError: the requests differ.
    """
    before, now = stored.parts(), asked.parts()
    differ = [name for name in before if before[name] != now[name]]
    if options := stored.options.differences(asked.options):
        differ.append(f"options ({', '.join(options)})")
    if differ:
        raise SetupError(
            f"{folder} was started by a different call: it differs in {', '.join(differ)}. Pass another out."
        )


def _read(folder: Path) -> tuple[Request, bool, str] | None:
    """Return the request, whether it has the user's signature, and the name of its file."""
    for name in (FILE, *OLDER_FILES):
        try:
            data, ours = read_signed(folder, name)
            return _decoded(data), ours, name
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise SetupError(f"{folder / name} cannot be read: {error}") from error
    return None


def _decoded(data: dict[str, Any]) -> Request:
    """Build a request from its JSON, that of an older journal, too: the request of a suite named no command there."""
    data = {OLDER_NAMES.get(name, name): value for name, value in data.items()}
    command = data.setdefault("command", "run" if data.get("single") else "suite")
    kind = KINDS.get(command) if isinstance(command, str) else None
    if kind is None:
        raise ValueError(f"it names no command of Viva: {command!r:.80}")
    request = decode(kind, data)
    if isinstance(request, JournalsRequest) and request.replacement is not None:
        # The files that the case requires were copied when the command started.
        return replace(request, replacement=replace(request.replacement, data_folder=NOWHERE))
    return request


def _size(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return (folder / JOURNAL_FILE).stat().st_size
    return -1
