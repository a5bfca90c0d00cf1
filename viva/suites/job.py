"""Jobs and work orders: what is to be done for each run, as plain data that can be sent to another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from viva.cases import Case
from viva.exam.forking.fork import NO_EDITS, Edits, Means
from viva.exam.judging.unfair import UnfairAttempt
from viva.exam.options import Options
from viva.exam.subscribers import RunHeader
from viva.journal.conversation_lines import ConversationLines
from viva.records.run_record import Timing


class Action(StrEnum):
    """What is done for a run."""

    EXAMINE = "examine"
    """Conduct the conversation and judge it."""
    JUDGE = "judge"
    """Judge a stored or recorded conversation."""
    REPLAY = "replay"
    """Ask the agent the questions of a stored conversation, and judge it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run to do. `viva.records.codec` writes and reads it as JSON."""

    action: Action
    header: RunHeader
    case_hash: str = ""
    """Identifies the case in the plan or in the conversation's journal; empty for runs without a case."""
    conversation: ConversationLines | None = None
    """The conversation to judge, or whose questions are asked."""
    timing: Timing | None = None
    """The timing of the conversation to judge, without judging; None means that it is derived from the rounds."""
    fork_at: int | None = None
    """The last round of the conversation that is kept, if an agent continues it (0: none, but the examiner asks); None
    if the agent is asked the questions of the conversation."""
    fork_by: tuple[Means, ...] = ()
    """How the agent may get there, the preferred way first; empty means the usual ways."""
    edits: Edits = NO_EDITS
    """What a person changed in the conversation at the fork."""
    carried: bool = False
    """Whether the conversation is already in the new journal."""
    evaluators: tuple[str, ...] = ()
    """Names or import strings, the primary first; empty means all evaluators of the plan."""
    unfair: tuple[UnfairAttempt, ...] = ()
    """The attempts before in which the examiner was at fault."""
    untold: tuple[UnfairAttempt, ...] = ()
    """These of a stored exam that is judged without the evaluator `exam`: they are kept, and in no figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
    """What all jobs of a suite share, as plain data: a worker builds the required resources from it."""

    options: Options
    cases: tuple[Case, ...] = ()
    recordings: bool = False
    """Whether some jobs are runs without a case."""
    agents: tuple[str, ...] = ()
    """SPECs of the agents under test; empty if conversations are only judged."""
    digests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Digests of the agents' files in runs that are kept, by SPEC: an agent that was changed since is another one."""
    asks: bool = True
    """Whether an examiner provides the questions; otherwise the jobs contain them."""
    gated: tuple[str, ...] = ()
    """Names of evaluators and combined rates that have a gate, so that a plan without them is rejected."""
    needs_prices: bool = False
    """Whether there is a budget in dollars, so that a model with an unknown price is rejected."""

    @property
    def subjects(self) -> tuple[Case | None, ...]:
        """Return the cases; None stands for runs without one."""
        return (*self.cases, None) if self.recordings else self.cases
