"""The record of one run: who was examined how, what came of it, and whose fault it was if nothing did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace

from records.open_enum import OpenEnum
from records.transcript import Metrics, StopReason, Usage
from records.verdict import Insight


class Outcome(OpenEnum):
    """How a run ended. The first two count against the agent, the other three, and what is unknown, do not."""

    SCORED = "scored"
    TARGET_ERROR = "target_error"
    EXAMINER_ERROR = "examiner_error"
    JUDGE_ERROR = "judge_error"
    INFRA_ERROR = "infra_error"

    @property
    def counts(self) -> bool:
        """Whether the run belongs in averages."""
        return self in (Outcome.SCORED, Outcome.TARGET_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Everything needed to understand a run later, or to repeat it."""

    viva: str = ""
    """Version of Viva."""
    case: str = ""
    """Name of the case."""
    case_file: str = ""
    case_hash: str = ""
    """SHA-256 of the case file and its data files; the case as it was lies in the journal under this name."""
    agent: str = ""
    """The agent's SPEC, as given."""
    app_dir: str | None = None
    examiner: str = ""
    """`script`, a model's name, or `replay`."""
    judge: str = ""
    """`code`, `model` or `both`."""
    judge_model: str | None = None
    sandbox: str | None = None
    sandbox_isolates: bool | None = None
    check_seconds: float | None = None
    """Time limit of each check that was asked for; None where the case's own holds, or the default."""
    check_memory_mb: int | None = None
    """Memory of each check that was asked for, in MiB; None likewise."""
    max_rounds: int = 0
    reply_seconds: float = 0.0
    run_seconds: float | None = None
    workspace: str | None = None
    """Where the agent's files lie, relative to the journal's folder. Older journals may name a folder elsewhere."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Prompt name to the first 12 hex digits of its SHA-256."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Package to version."""
    evaluators: tuple[str, ...] = ()
    """Who judged, by name; the first is the primary, which alone decides score, points and outcome."""
    trial: int | None = None
    """Which trial of the case; None in older journals."""
    agent_version: str | None = None
    workspace_left_out: str = ""
    """Why the agent's files are not in the journal though it left some, in words; empty where nothing is missing."""
    in_process: bool = False
    """Whether the agent's code ran in Viva's own process, which it could have changed."""
    source: str = ""
    """What was recorded, as given (`chat:FILE`); empty for an exam that Viva held."""
    place: str = ""
    """Where in the source it was found: file and line, say."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall-clock figures of one run."""

    started: float = 0.0
    """Seconds since the epoch."""
    seconds: float = 0.0
    examiner_seconds: float = 0.0
    agent_seconds: float = 0.0
    judge_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One subject, one agent, one trial."""

    id: str
    subject: str
    """Name of the case, task label or trace."""
    agent: str
    outcome: Outcome
    score: float | None
    """Sum of the weights hit over the sum of all weights, in [0, 1]; None where nothing was judged."""
    _: KW_ONLY
    low: float | None = None
    high: float | None = None
    points: float | None = None
    """Sum of the weights hit."""
    max_points: float | None = None
    """Sum of all weights."""
    error: str | None = None
    """What went wrong, for the outcomes that are faults."""
    agent_version: str | None = None
    trial: int = 1
    attempt: int = 1
    rounds: int = 0
    stop: StopReason | None = None
    tags: tuple[str, ...] = ()
    insights: tuple[Insight, ...] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """By role: `target`, `examiner`, `judge`."""
    timing: Timing = field(default_factory=Timing)
    trace_id: str | None = None
    success: bool | None = None
    """Whether the source, or a check of the user's own, calls it a success; None where nobody says. No part of the
    score."""
    metrics: Metrics | None = None
    """None where nothing was counted."""
    setting: Setting = field(default_factory=Setting)


def as_earned(record: RunRecord, answered: bool | None = None) -> RunRecord:
    """Hold a stored record to the rule that a run in which the agent failed never passes, and earns nothing alone.

    Journals from before this rule have scores above 0 for agents that never replied: a check that asserts an absence
    passed for them.

    Args:
        record: As its journal has it.
        answered: Whether the agent ever replied; None where the transcript was not read.
    """
    if record.outcome is not Outcome.TARGET_ERROR or record.score is None:
        return record
    if answered is None:
        answered = not _never_answered(record)
    if not answered:
        points = None if record.points is None else 0.0
        return replace(record, score=0.0, low=0.0, high=0.0, points=points)
    return record if record.low == 0 else replace(record, low=0.0)


def _never_answered(record: RunRecord) -> bool:
    """Whether a record alone shows that the agent never replied: the round that an agent fails in is its last."""
    if record.setting.source or record.rounds > 1:
        return False
    # A whole conversation that takes too long ends between two rounds: the first of them may have a reply.
    own = record.stop is StopReason.TARGET_ERROR or (record.error or "").startswith("no reply within")
    return record.rounds == 0 or own
