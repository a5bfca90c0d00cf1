"""The Case: one exam paper as plain data. `load` reads it from a file.

This is the place to add a field of the case file: declare it in `Case` with the kind of reader that it needs
(`metadata=read_as("text")`). The keys of the file, the hints at misspelt keys and the reading itself follow from that.
The plain kinds are in `cases/plain_fields.py`, those of a single field in `cases/field_readers.py`, those of the person
that the examiner plays in `cases/person_fields.py`. A new field needs a
default, because cases that are stored in journals do not have it, and a line in the page `write-a-case`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from viva.cases.check_limits import CheckLimits
from viva.cases.given_turns import GivenTurn
from viva.cases.in_python.calls import with_case_errors
from viva.cases.many.references import joined
from viva.cases.mcp_servers.server import McpServer
from viva.cases.person import CaseStrategy, DoneWhen, Insistence, User, UserFact
from viva.cases.solution import SolutionReply

IN_PYTHON = Path("(made in Python)")
"""The file of a case that a program makes and that has none: its data files lie in the working folder."""
STATE = "state"
"""The name in `config_var` of the state with which the agent begins."""
READER = "reader"
"""Key in a field's metadata: the name and the options of the `CaseReader` method that reads it from a case file."""

Kind = Literal[
    # plain
    "text", "texts", "number", "whole_number", "fraction", "flag", "mapping", "metadata",
    # of a single field
    "version", "task", "requirements", "data_files", "check_limits", "scoring_points", "script", "solution", "evidence",
    "mcp", "conversation", "state",
    # of a person
    "user", "facts", "insist", "done_when", "strategy",
]  # fmt: skip


def read_as(kind: Kind, **options: Any) -> dict[str, Any]:
    """Return the metadata of a field that is read from a case file."""
    return {READER: (kind, options)}


@dataclass(frozen=True, slots=True)
class ScoringPoint:
    """A statement that is true of a good exam, and how much it counts."""

    id: str
    """Stable within its case: the author's, or made from the statement, so that reordering does not change it."""
    score_point: str
    weight: float
    """In a tree: its part of the weight of the top level above it, so that weights add up as they do without a tree."""
    eval_code: str | None = None
    _: KW_ONLY
    path: tuple[str, ...] = ()
    """In a tree: the ids of the groups above it, from the top."""
    require: tuple[str, ...] = ()
    """The ids of points and groups without whose hit this is a miss, those that the groups above require included."""
    shown: str | None = None
    """The layer on which a hit must rest: `step`, `said`, `code`, `file` or `environment`; None if any will do."""
    round: int | None = None
    """The number of the round by which alone it is judged; None for the whole conversation."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Data of the author's, which nothing interprets."""
    check: Mapping[str, Any] | None = None
    """A check without code, as a case file has it; `viva.cases.checks.reader.check_of` reads it."""

    @property
    def is_checked(self) -> bool:
        """Return whether code judges it: a check, or its `eval_code`."""
        return bool(self.eval_code or self.check)


def check_text(point: ScoringPoint) -> str:
    """Return what checks a point as its author wrote it: code, or a check as JSON; empty if only a model can judge."""
    if point.check is not None:
        return json.dumps(point.check, indent=1, ensure_ascii=False)
    return point.eval_code or ""


@dataclass(frozen=True, slots=True)
class PointGroup:
    """A scoring point that has points of its own. It is not judged: its score is the weighted mean of theirs."""

    id: str
    score_point: str
    path: tuple[str, ...] = ()
    """The ids of the groups above it, from the top."""


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """One line of a script: a message, which may be repeated for a counter, or depend on the agent's last words."""

    say: str
    first: int | None = None
    last: int | None = None
    """With `first`: the line is said once for each number from `first` to `last`, both included."""
    counter: str = "n"
    """`{n}` in `say` becomes the number."""
    if_agent_says: str | None = None
    """A regular expression, case ignored; the line is skipped unless the agent's last reply matches it."""

    def messages(self) -> Iterator[str]:
        """Yield the messages that this line stands for, one by one: all 100,000 at once could fill the memory."""
        if self.first is None or self.last is None:
            yield self.say
            return
        for number in range(self.first, self.last + 1):
            yield self.say.replace(f"{{{self.counter}}}", str(number))


@with_case_errors
@dataclass(frozen=True, slots=True)
class Case:
    """An exam paper. The fields are those of a TaskWeaver case file; those from `script` on are Viva's own.

    A program needs to give only what a case file needs, in the same short forms: `Case("greeting", script=["Hello."],
    scoring_points=["The agent greets."])`.
    """

    name: str
    """The folder's name; of one of several cases in a file, `FILE#NAME`, and of a row of a family, `FILE#NAME[ROW]`."""
    file: Path = IN_PYTHON
    """The YAML file; its folder holds the data files."""
    hash: str = ""
    """SHA-256 of the YAML file and the data files, in hex; of one of several cases in a file, of what concerns it."""
    version: str | None = field(default=None, kw_only=True, metadata=read_as("version"))
    task_description: str = field(default="", metadata=read_as("task"))
    """What the user wants. Of a case that has only a script: made from its messages."""
    scoring_points: tuple[ScoringPoint, ...] = field(default=(), metadata=read_as("scoring_points"))
    config_var: Mapping[str, Any] | None = field(default=None, metadata=read_as("mapping"))
    app_dir: str | None = field(default=None, metadata=read_as("text"))
    dependencies: tuple[str, ...] = field(default=(), metadata=read_as("requirements"))
    data_files: tuple[str, ...] = field(default=(), metadata=read_as("data_files"))
    """Files and folders, relative to the case's folder."""
    max_rounds: int | None = field(default=None, metadata=read_as("whole_number"))
    pre_command: tuple[str, ...] = field(default=(), metadata=read_as("texts", or_one=True))
    verbose: bool = field(default=False, metadata=read_as("flag"))
    script: tuple[ScriptLine, ...] = field(default=(), metadata=read_as("script"))
    tags: tuple[str, ...] = field(default=(), metadata=read_as("texts"))
    timeout: float | None = field(default=None, metadata=read_as("number", unit="seconds"))
    """Seconds that the whole conversation may take."""
    check_limits: CheckLimits = field(default=CheckLimits(), metadata=read_as("check_limits"))
    """What each check may use, where it is not the sandbox's default."""
    user: User | None = field(default=None, kw_only=True, metadata=read_as("user"))
    """Whom the examiner plays."""
    facts: tuple[UserFact, ...] = field(default=(), kw_only=True, metadata=read_as("facts"))
    """What the user knows, each with the time at which they may tell it."""
    opening: str | None = field(default=None, kw_only=True, metadata=read_as("text"))
    """The examiner's first message, which is sent as it is."""
    insist: Insistence | None = field(default=None, kw_only=True, metadata=read_as("insist"))
    done_when: DoneWhen | None = field(default=None, kw_only=True, metadata=read_as("done_when"))
    background: str | None = field(default=None, kw_only=True, metadata=read_as("text"))
    """What is true in the world. The judge knows it; the agent and the examiner do not."""
    strategy: CaseStrategy | None = field(default=None, kw_only=True, metadata=read_as("strategy"))
    solution: tuple[SolutionReply, ...] = field(default=(), kw_only=True, metadata=read_as("solution"))
    """The replies of an agent that earns every point, for `viva cases lint`. No agent, examiner or judge sees them."""
    evidence: tuple[str, ...] = field(default=(), kw_only=True, metadata=read_as("evidence"))
    """What the judge is shown beside the transcript: `files`, the agent's files."""
    mcp: tuple[McpServer, ...] = field(default=(), kw_only=True, metadata=read_as("mcp"))
    """MCP servers that Viva starts for each run and offers to the agent; it records every call."""
    metadata: Mapping[str, Any] = field(default_factory=dict, kw_only=True, metadata=read_as("metadata"))
    """Data of the author's, which nothing interprets: it is stored with the case, and shown in reports."""
    threshold: float | None = field(default=None, kw_only=True, metadata=read_as("fraction"))
    """The score from which a run of this case passes; None where the suite's threshold applies."""
    conversation: tuple[GivenTurn, ...] = field(default=(), kw_only=True, metadata=read_as("conversation"))
    """The conversation already begun, which the exam continues. Its turns are given, and nobody produced them."""
    state: Mapping[str, Any] = field(default_factory=dict, kw_only=True, metadata=read_as("state"))
    """The state with which the agent begins: it is given in its `config_var`, under the name `state`."""
    entry: str = field(default="", kw_only=True)
    """Its own name in its file, if that holds several cases."""
    row: str = field(default="", kw_only=True)
    """The id of its row, if it is one of a family."""
    columns: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    """The values of its row, by column."""
    point_groups: tuple[PointGroup, ...] = field(default=(), kw_only=True)
    """The inner nodes of the tree of scoring points, each before those below it; `scoring_points` are its leaves."""
    for_recordings: bool = field(default=False, kw_only=True)
    """Whether it is a paper of a rubric, by which recordings are judged: nobody takes its exam."""
    data_folder: Path | None = field(default=None, kw_only=True)
    """Where the data files lie, if not beside `file`: those of a stored case are never looked for on this machine."""

    if TYPE_CHECKING:  # the short forms, for editors and type checkers

        def __init__(
            self,
            name: str,
            file: Path | str = ...,
            hash: str = ...,  # noqa: A002 - the name of the field
            task_description: str = ...,
            scoring_points: Sequence[str | Mapping[str, Any] | ScoringPoint] = ...,
            *,
            script: Sequence[str | Mapping[str, Any] | ScriptLine] = ...,
            **fields: Any,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Read short forms; without a file, check the case as a file is checked.

        Raises:
            CaseError: the case is invalid. The error holds every mistake.
        """
        if isinstance(self.file, str):
            object.__setattr__(self, "file", Path(self.file))
        if (self.file == IN_PYTHON and not self.hash) or _has_short_forms(self):
            from viva.cases.in_python.completing import complete

            complete(self)

    @property
    def folder(self) -> Path:
        """The folder with the case's files."""
        return self.file.parent if self.data_folder is None else self.data_folder

    @property
    def reference(self) -> str:
        """Return what names the case on a command line: its file, and its own name and row where it has them."""
        return joined(str(self.file), self.entry, self.row)

    @property
    def own_files(self) -> tuple[str, ...]:
        """The files and folders that an exam needs: the data files, and those of the case's MCP servers."""
        others = (name for server in self.mcp for name in server.own_files)
        return tuple(dict.fromkeys((*self.data_files, *others)))

    @property
    def commands(self) -> tuple[str, ...]:
        """What the case runs on this machine, in words: its `pre_command`, and its MCP servers."""
        servers = (f"MCP server {each.name} ({each.module or each.command})" for each in self.mcp)
        return (*self.pre_command, *servers)

    @property
    def agent_config(self) -> Mapping[str, Any] | None:
        """The `config_var` as the agent is given it, with the state to begin with."""
        return {**(self.config_var or {}), STATE: self.state} if self.state else self.config_var

    @property
    def max_points(self) -> float:
        """The sum of all weights."""
        return sum(point.weight for point in self.scoring_points)


_LISTS: dict[str, type] = {
    **dict.fromkeys(("dependencies", "data_files", "pre_command", "tags", "evidence"), str),
    "scoring_points": ScoringPoint,
    "script": ScriptLine,
    "facts": UserFact,
    "solution": SolutionReply,
    "mcp": McpServer,
    "conversation": GivenTurn,
}
_ONES: dict[str, type] = {
    "user": User,
    "insist": Insistence,
    "done_when": DoneWhen,
    "strategy": CaseStrategy,
    "check_limits": CheckLimits,
}


def _has_short_forms(case: Case) -> bool:
    """Return whether a field holds what a case file has there, and not what its reader makes of it."""
    for name, kind in _LISTS.items():
        value = getattr(case, name)
        if type(value) is not tuple or any(not isinstance(each, kind) for each in value):
            return True
    return any(not isinstance(getattr(case, name), kind | None) for name, kind in _ONES.items())
