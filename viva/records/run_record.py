"""The record of one run: its setting, its outcome and score, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace

from viva.records.open_enum import OpenEnum
from viva.records.transcript import Metrics, StopReason, Usage
from viva.records.unfair_attempts import UnfairAttempt
from viva.records.verdict import Insight


class Outcome(OpenEnum):
    """How a run ended. The first two outcomes count in averages; the others, and unknown outcomes, do not."""

    SCORED = "scored"
    TARGET_ERROR = "target_error"
    EXAMINER_ERROR = "examiner_error"
    JUDGE_ERROR = "judge_error"
    INFRA_ERROR = "infra_error"

    @property
    def counts(self) -> bool:
        """Return whether the run counts in averages."""
        return self in _COUNTING


_COUNTING = (Outcome.SCORED, Outcome.TARGET_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Everything that is necessary to understand or repeat a run later."""

    viva: str = ""
    """Version of Viva."""
    case: str = ""
    """Name of the case."""
    case_file: str = ""
    case_hash: str = ""
    """SHA-256 of the case file and its data files. The journal stores the case as it was under this name."""
    agent: str = ""
    """The agent's SPEC, as given."""
    app_dir: str | None = None
    examiner: str = ""
    """`script`, a model's name, or `replay`."""
    persona: str = ""
    """The bundled persona that the examiner played; empty if it played none."""
    strategy: str = ""
    """The bundled strategy by which the examiner tried to mislead the agent; empty if it followed none."""
    judge: str = ""
    """`code`, `model` or `both`."""
    judge_model: str | None = None
    """The judge's model; of several, all names, joined by ` + `."""
    sandbox: str | None = None
    sandbox_isolates: bool | None = None
    check_seconds: float | None = None
    """The requested time limit of each check; None if the case's limit or the default applies."""
    check_memory_mb: int | None = None
    """The requested memory limit of each check in MiB; None if the case's limit or the default applies."""
    max_rounds: int = 0
    reply_seconds: float = 0.0
    run_seconds: float | None = None
    workspace: str | None = None
    """The folder of the agent's files, relative to the journal's. Older journals may name a folder elsewhere."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The first 12 hex digits of the SHA-256 of each prompt, by name."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of packages, by name."""
    evaluators: tuple[str, ...] = ()
    """Names of the evaluators; the first is the primary, which alone decides score, points and outcome."""
    evaluator_parameters: Mapping[str, str] = field(default_factory=dict)
    """The parameters of evaluators in words, by the evaluator's name: `words=3`."""
    trial: int | None = None
    """The number of the trial; None in older journals."""
    agent_version: str | None = None
    workspace_left_out: str = ""
    """Why files that the agent left are not in the journal, in words; empty if nothing is missing."""
    in_process: bool = False
    """Whether the agent's code ran in Viva's own process, which it could have modified."""
    source: str = ""
    """The SPEC of the recording (`chat:FILE`); empty for an exam that Viva ran."""
    place: str = ""
    """The position in the source, for example file and line."""
    recording_digest: str = ""
    """The first 12 hex digits of the SHA-256 of a recorded conversation; empty for an exam that Viva ran, and in older
    journals."""
    agent_digest: str | None = None
    """The first 12 hex digits of the SHA-256 of the file with the agent's class; None if it has none."""
    node: str | None = None
    """The name of the cluster's node on which the conversation was conducted; None without a cluster."""
    max_output_tokens: Mapping[str, int] = field(default_factory=dict)
    """The requested maximum number of tokens of a model's answer, by role; the defaults apply to the other roles."""
    model_seconds: Mapping[str, float] = field(default_factory=dict)
    """The requested maximum time of each attempt at a model's answer, by role."""
    judge_models: tuple[str, ...] = ()
    """The models that vote on scoring points, if there are several."""
    forked_from: Mapping[str, str] = field(default_factory=dict)
    """If a stored conversation was continued: its `journal`, `run`, `round` and `agent`, `by` (`state`,
    `conversation`, `replay` or `start`), in how many replayed rounds the replies `differ`, the `first_differing` of
    them, and what a person `edited`."""
    requeued: tuple[str, ...] = ()
    """The outcomes of earlier attempts after which the user had the run done again, the first one first."""
    judge_votes: int = 1
    """Maximum number of votes of each model on one scoring point."""
    suite: str = ""
    """The suite of `viva.yaml` of which this is a run, by name; empty if of none."""
    cache: str = ""
    """The folder from which answers of models were taken, as given; empty if each question was asked."""
    threshold: float | None = None
    """The `threshold` of the case by which the run was judged; None if it has none, and the report's applies."""
    unfair_attempts: tuple[UnfairAttempt, ...] = ()
    """The earlier attempts in which the examiner was at fault, of an exam that was judged again without the evaluator
    `exam`: in no figure, but kept for whoever judges it with that evaluator, whose insight then names them."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall-clock times of one run."""

    started: float = 0.0
    """Seconds since the epoch."""
    seconds: float = 0.0
    examiner_seconds: float = 0.0
    agent_seconds: float = 0.0
    judge_seconds: float = 0.0


# Constants, because each line that is written is compared with them.
NO_SETTING, NO_TIMING = Setting(), Timing()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The result of one run: one subject, one agent, one trial."""

    id: str
    subject: str
    """Name of the case, task label or trace."""
    agent: str
    outcome: Outcome
    score: float | None
    """The primary evaluator's score in [0, 1] (for scoring points: the sum of the weights hit divided by the sum of all
    weights); None if nothing was judged."""
    _: KW_ONLY
    low: float | None = None
    high: float | None = None
    points: float | None = None
    """Sum of the weights hit."""
    max_points: float | None = None
    """Sum of all weights."""
    error: str | None = None
    """What went wrong, for the outcomes that are errors."""
    agent_version: str | None = None
    trial: int = 1
    attempt: int = 1
    rounds: int = 0
    stop: StopReason | None = None
    tags: tuple[str, ...] = ()
    insights: tuple[Insight, ...] = ()
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """Usage by role: `target`, `examiner`, `judge`."""
    timing: Timing = NO_TIMING
    trace_id: str | None = None
    success: bool | None = None
    """Whether the source, or a check of the user, considers the run a success; None if unknown. Not part of the
    score."""
    metrics: Metrics | None = None
    """The metrics of an observed session; None if there are none."""
    setting: Setting = NO_SETTING
    cached_answers: int = 0
    """Number of answers of the examiner's and the judges' models that were kept from before, and cost nothing."""


def as_earned(record: RunRecord, answered: bool | None = None) -> RunRecord:
    """Return a stored record under the rule that a run in which the agent failed never passes.

    Journals from before this rule have scores above 0 for agents that never replied: a check that asserts an absence
    passed for them.

    Args:
        record: As its journal has it.
        answered: Whether the agent ever replied; None if the transcript was not read.
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
    """Return whether a record alone shows that the agent never replied: an agent fails in its last round."""
    if record.setting.source or record.rounds > 1:
        return False
    # A whole conversation that takes too long ends between two rounds: the first of them may have a reply.
    own = record.stop is StopReason.TARGET_ERROR or (record.error or "").startswith("no reply within")
    return record.rounds == 0 or own
