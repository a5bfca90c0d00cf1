"""The scoring-point evaluator: exactly one verdict per scoring point, by check, code, model, or several."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from viva.cases import Case, CheckLimits, ScoringPoint
from viva.cases.points.requirements import stages
from viva.judge.scoring_points.by_code import CodeJudge
from viva.judge.scoring_points.layers import held_to_code
from viva.judge.scoring_points.panel import NO_PANEL, JudgePanel
from viva.judge.scoring_points.required import JudgedPoints, JudgedStage
from viva.judge.scoring_points.rollup import with_tree
from viva.judge.scoring_points.verdicts import point_verdict
from viva.judge.trajectory import SKIPPED
from viva.records.evaluator import Context
from viva.records.fault import Fault
from viva.records.text import plural
from viva.records.transcript import NO_USAGE, Transcript, Usage
from viva.records.verdict import Insight, Label, Verdict, Vote
from viva.sandbox import Sandbox

if TYPE_CHECKING:
    from viva.models.model import Model

JudgeKind = Literal["code", "model", "both"]
SANDBOXES = 4


class ScoringPointsEvaluator:
    """Judges a transcript by the scoring points of its case.

    With `code`, `check` or `eval_code` judges the points that have one, and the model judges the others. With `model`,
    the model judges every point. With `both`, code judges, too: its verdict counts, and the model's is recorded as a
    vote.
    """

    name = "scoring_points"

    @staticmethod
    def needs_for(cases: Sequence[Case | None], kind: JudgeKind) -> frozenset[str]:
        """Return what judging these cases requires: a model and a sandbox only if a scoring point requires them."""
        points = [point for case in cases if case is not None for point in case.scoring_points]
        model = any(kind != "code" or not point.is_checked for point in points)
        sandbox = kind != "model" and any(point.eval_code for point in points)
        return frozenset({"case"} | ({"model"} if model else set()) | ({"sandbox"} if sandbox else set()))

    @property
    def prompts(self) -> Mapping[str, str]:
        """Return the hashes of the prompts by name; empty if no model judges."""
        if self._model is None:
            return {}
        from viva.judge.scoring_points.by_model import prompt_hashes

        return prompt_hashes()

    def __init__(
        self,
        kind: JudgeKind,
        sandbox: Sandbox | None,
        model: Model | None,
        sandboxes: int = SANDBOXES,
        asked_limits: CheckLimits | None = None,
        judge_panel: JudgePanel = NO_PANEL,
    ) -> None:
        """Args:
        kind: The kind of judge.
        sandbox: The sandbox for `eval_code`.
        model: The model for the other points.
        sandboxes: Maximum number of concurrent sandbox sessions, over all runs that this evaluator judges.
        asked_limits: The limits of checks that the user requested, which take precedence over those of the cases.
        judge_panel: The models that vote, of which `model` is one; without any, `model` judges alone.
        """
        self._panel = judge_panel
        self._kind = kind
        self._sandbox = sandbox
        self._model = model
        self._asked_limits = asked_limits
        self._sandboxes = asyncio.Semaphore(sandboxes)

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Judge all points of `context.case`."""
        case = context.case
        if case is None:
            return self._without_points(context.subject)
        began = time.monotonic()
        judged = JudgedPoints(case, context.subject)
        for stage in stages(case):
            asked = judged.left_of(stage)
            if asked:
                judged.add(asked, await self._judge(asked, transcript, context))
        insight = summarize_case(self.name, case, context.subject, judged.verdicts())
        # Waiting for a free sandbox does not count as the judge's time, unless a model judges meanwhile.
        seconds = time.monotonic() - began - judged.waited
        return replace(insight, usage=judged.usage, seconds=seconds, isolation=judged.isolation)

    def _without_points(self, run: str) -> Insight:
        """Return the insight on a recording of whose subject a rubric says nothing: it is not scored."""
        reason = "no scoring points were given for this subject"
        verdict = Verdict(run, self.name, SKIPPED, None, reason=reason)
        return Insight(self.name, run, SKIPPED, None, summary=reason, verdicts=(verdict,))

    async def _judge(self, points: Sequence[ScoringPoint], transcript: Transcript, context: Context) -> JudgedStage:
        """Judge points that require none of each other."""
        by_code = [point for point in points if point.eval_code and self._kind != "model"]
        by_model = [point for point in points if not point.is_checked or self._kind != "code"]
        checked = {} if self._kind == "model" else _by_check(points, transcript, context)
        (coded, waited, isolation), (modelled, usage) = await asyncio.gather(
            self._by_code(by_code, transcript, context), self._by_model(by_model, transcript, context)
        )
        verdicts = [
            held_to_code(
                point,
                merge(point, context.subject, checked.get(point.id) or coded.get(point.id), modelled.get(point.id)),
            )
            for point in points
        ]
        return JudgedStage(verdicts, usage, 0.0 if by_model else waited, isolation)

    async def _by_code(
        self, points: Sequence[ScoringPoint], transcript: Transcript, context: Context
    ) -> tuple[dict[str, Verdict], float, tuple[Mapping[str, str], ...]]:
        """Return the verdicts by point, the seconds spent waiting for a free sandbox, and what isolated the checks."""
        if not points or self._sandbox is None or context.case is None:
            return {}, 0.0, ()
        began = time.monotonic()
        async with self._sandboxes:
            waited = time.monotonic() - began
            judge = CodeJudge(
                self._sandbox,
                context.case,
                context.subject,
                transcript,
                context.workspace,
                self._asked_limits,
                checks=len(points),
            )
            try:
                return {point.id: await judge.judge(point) for point in points}, waited, judge.isolation
            finally:
                await judge.close()

    async def _by_model(
        self, points: Sequence[ScoringPoint], transcript: Transcript, context: Context
    ) -> tuple[dict[str, Verdict], Usage]:
        if not points or self._model is None or context.case is None:
            return {}, NO_USAGE
        # Only a model requires prompts.
        from viva.judge.scoring_points.by_model import judge_of_run
        from viva.judge.scoring_points.jury import Jury

        panel = self._panel if self._panel.models else JudgePanel((self._model,))
        judges = [await judge_of_run(model, transcript, context.case, context) for model in panel.models]
        jury = Jury(judges, panel.votes, context.subject)
        verdicts = await jury.judge(points)
        return {verdict.criterion: verdict for verdict in verdicts}, jury.usage


def _by_check(points: Sequence[ScoringPoint], transcript: Transcript, context: Context) -> dict[str, Verdict]:
    """Return the verdicts by point of those that have a check without code."""
    checked = [point for point in points if point.check is not None]
    if not checked:
        return {}
    # Here, because most cases have no such checks.
    from viva.judge.checks.conversation import CheckedConversation
    from viva.judge.scoring_points.by_check import judge_by_check

    conversation = CheckedConversation(transcript, context.workspace, context.folder)
    return {point.id: judge_by_check(point, context.subject, conversation) for point in checked}


def merge(point: ScoringPoint, subject: str, code: Verdict | None, model: Verdict | None) -> Verdict:
    """Return the verdict of a point. If both judged, the code's verdict counts, and a disagreement is flagged."""
    if code is None and model is None:
        reason = "nothing judged this point: it has neither check nor eval_code, and no model was given"
        return point_verdict(subject, point, Label.ERROR, reason, fault=Fault.JUDGE)
    if code is None or model is None:
        return code or model  # type: ignore[return-value]
    votes = (Vote(code.by, code.label, code.reason), *(model.votes or (Vote(model.by, model.label, model.reason),)))
    if code.label == Label.ERROR:
        # The check is broken; the model's opinion is recorded but does not replace it.
        return replace(code, votes=votes)
    flags = code.flags
    if model.label == Label.ERROR:
        flags = (*flags, "model-gave-no-verdict")  # a judge that failed does not disagree
    elif model.label == Label.UNSURE:
        flags = (*flags, "model-unsure")  # it may not see what the check sees, for example the agent's files
    elif code.label != model.label:
        flags = (*flags, "judges-disagree")
    reason = (
        code.reason if code.label == model.label else f"{code.reason} | {model.by} says {model.label}: {model.reason}"
    )
    return replace(code, votes=votes, flags=flags, reason=reason, evidence=code.evidence or model.evidence)


def summarize(evaluator: str, subject: str, verdicts: Sequence[Verdict]) -> Insight:
    """Return the insight: the weights hit over all weights; open verdicts are misses in `low` and hits in `high`."""
    # fsum rounds once, so that low <= high <= 1 holds exactly for all weights.
    total = math.fsum(verdict.weight for verdict in verdicts)
    hit = math.fsum(verdict.weight for verdict in verdicts if verdict.label == Label.HIT)
    at_best = math.fsum(
        verdict.weight for verdict in verdicts if verdict.label in (Label.HIT, Label.UNSURE, Label.ERROR)
    )
    labels = {verdict.label for verdict in verdicts}
    if Label.ERROR in labels or not verdicts:
        label: str = Label.ERROR
    elif Label.UNSURE in labels:
        label = Label.UNSURE
    else:
        label = Label.HIT if labels == {Label.HIT} else Label.MISS if labels == {Label.MISS} else "partial"
    judged = bool(verdicts) and labels != {Label.ERROR}
    disagree = [verdict.statement for verdict in verdicts if "judges-disagree" in verdict.flags]
    return Insight(
        evaluator,
        subject,
        label,
        hit / total if judged else None,
        low=hit / total if judged else None,
        high=at_best / total if judged else None,
        summary=f"{hit:g} of {total:g} {plural('point', total)}",
        notes=tuple(f"code and model disagree: {statement}" for statement in disagree),
        verdicts=tuple(verdicts),
    )


def summarize_case(evaluator: str, case: Case, subject: str, verdicts: Sequence[Verdict]) -> Insight:
    """Return the insight on all scoring points of a case, with its tree if there is one."""
    paths = {point.id: point.path for point in case.scoring_points}
    return with_tree(summarize(evaluator, subject, verdicts), case.point_groups, paths)


def case_needs_model(case: Case, kind: JudgeKind) -> list[ScoringPoint]:
    """Return the points that a model must judge with this kind of judge."""
    return [point for point in case.scoring_points if kind != "code" or not point.is_checked]
