"""Takes from stored runs what a judge said about each scoring point, and what may make it easy or hard to judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from viva.cases import Case
from viva.errors import SetupError
from viva.journal.kept_cases import stored_case
from viva.journal.reader import StoredRun
from viva.judge.calibration.conversations import conversation_digest
from viva.judge.calibration.store import judge_prompts
from viva.judge.scoring_points.voting import elected
from viva.records.run_record import Setting
from viva.records.transcript import Step, Transcript
from viva.records.verdict import CODE, Insight, Label, Verdict, is_by_rule
from viva.records.wording import SCORING_POINTS


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """Says who judged: the same model with other prompts is another judge."""

    name: str
    """`code`, or the model's name."""
    prompts: tuple[tuple[str, str], ...] = ()
    """Name and hash of each prompt of a model."""
    votes: int = 1
    """Maximum number of votes of each model on a point: several votes are another judge than one."""

    @property
    def is_model(self) -> bool:
        """Return whether a model judged, and not `eval_code`."""
        return self.name != CODE


@dataclass(frozen=True, slots=True)
class JudgedPoint:
    """What one judge said about one scoring point of one run."""

    judge: JudgeIdentity
    journal: Path
    run: str
    case: str
    criterion: str
    label: str
    reason: str
    statement: str
    weight: float
    has_code: bool
    """Whether code judges the point: it has `eval_code` or a check."""
    length: int
    """Characters of the conversation and its steps, as the journal has them."""
    conversation: str = ""
    """The digest of the conversation."""


def judged_points(stored: StoredRun, case: Case | None = None) -> Iterator[JudgedPoint]:
    """Yield what was said about the scoring points of a run, by code and by a model.

    Args:
        stored: The run.
        case: Its case, which knows the points that code judges; None if the journal does not hold it.
    """
    insight = scoring_insight(stored.insights)
    if insight is None:
        return
    coded = {point.id for point in case.scoring_points if point.is_checked} if case is not None else set()
    length, conversation = transcript_length(stored.transcript), conversation_digest(stored.transcript)
    for verdict in insight.verdicts:
        said = list(_said(verdict, stored.setting))
        has_code = verdict.criterion in coded or any(by == CODE for by, _, _ in said)
        for by, label, reason in said:
            yield JudgedPoint(
                judge=_identity(by, stored.setting),
                journal=stored.folder,
                run=stored.id,
                case=stored.setting.case or stored.id,
                criterion=verdict.criterion,
                label=label,
                reason=reason,
                statement=verdict.statement,
                weight=verdict.weight,
                has_code=has_code,
                length=length,
                conversation=conversation,
            )


def unjudged_points(stored: StoredRun, labelled: Mapping[str, str], case: Case | None) -> Iterator[JudgedPoint]:
    """Yield the labelled points of a run about which the judge said nothing, because it failed for the run as a whole.

    Args:
        stored: The run.
        labelled: The statement of each labelled point, by criterion.
        case: Its case; None if the journal does not hold it.
    """
    setting, insight = stored.setting, scoring_insight(stored.insights)
    if insight is None or insight.label != Label.ERROR:
        return
    if any(verdict.criterion != insight.evaluator for verdict in insight.verdicts):
        return
    points = {point.id: point for point in case.scoring_points} if case is not None else {}
    length, conversation = transcript_length(stored.transcript), conversation_digest(stored.transcript)
    for criterion, statement in labelled.items():
        point = points.get(criterion)
        has_code = point is not None and point.is_checked
        by_code = setting.judge_model is None or (has_code and setting.judge == CODE)
        yield JudgedPoint(
            judge=_identity(CODE if by_code else setting.judge_model or "", setting),
            journal=stored.folder,
            run=stored.id,
            case=setting.case or stored.id,
            criterion=criterion,
            label=Label.ERROR,
            reason=insight.summary,
            statement=statement,
            weight=1.0 if point is None else point.weight,
            has_code=has_code,
            length=length,
            conversation=conversation,
        )


def case_of(stored: StoredRun) -> Case | None:
    """Return the case of a run as the journal keeps it; None if it does not."""
    try:
        return stored_case(stored.folder, stored.setting.case, stored.setting.case_hash)
    except SetupError:
        return None


def scoring_insight(insights: tuple[Insight, ...]) -> Insight | None:
    """Return the insight about scoring points, if there is one."""
    return next((each for each in insights if each.evaluator == SCORING_POINTS), None)


def _said(verdict: Verdict, setting: Setting) -> Iterator[tuple[str, str, str]]:
    """Yield who said what and why: the verdict's judge, and the majority of models that only voted beside the code."""
    if is_by_rule(verdict):
        return
    yield verdict.by, verdict.label, verdict.reason
    models = [vote for vote in verdict.votes if vote.judge != CODE] if verdict.by == CODE else []
    if models:
        planned = max(len(models), max(1, len(setting.judge_models)) * setting.judge_votes)
        label = elected([vote.label for vote in models], planned).value
        first = next((vote for vote in models if vote.label == label), models[0])
        yield first.judge, label, first.reason


def _identity(by: str, setting: Setting) -> JudgeIdentity:
    if by == CODE:
        return JudgeIdentity(CODE)
    prompts = tuple(judge_prompts(setting.prompts).items())
    return JudgeIdentity(setting.judge_model or by, prompts, setting.judge_votes)


def transcript_length(transcript: Transcript) -> int:
    """Return about how many characters a judge has to read."""
    return sum(
        len(round_.examiner or "") + len(round_.agent or "") + sum(map(_step_length, round_.steps))
        for round_ in transcript.rounds
    )


def _step_length(step: Step) -> int:
    return sum(len(str(text)) for text in (step.observation, step.thought, step.tool_input, step.result) if text)
