"""The evaluator `exam`: judges the examiner by code, and by a model if a review was requested."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viva.judge.exam.examination import examine_conduct
from viva.judge.exam.kinds import EXAM, FAIR, NOTED, REVIEW, REVIEWED, SKIPPED, UNFAIR, UNREVIEWED, Finding
from viva.judge.exam.paper import Paper, paper_of_case, paper_of_text
from viva.judge.exam.recorded_task import recorded_task
from viva.records.evaluator import Context
from viva.records.fault import Fault
from viva.records.text import storable
from viva.records.transcript import NO_USAGE, Transcript, Usage
from viva.records.verdict import Evidence, Insight, Verdict

if TYPE_CHECKING:
    from viva.judge.exam.review import Review
    from viva.models.model import Model

MOST_PAPERS = 200
"""Number of cases whose prepared papers are kept."""


class ExamEvaluator:
    """Judges whether the examiner's conduct was fair to the agent.

    An insight's label is `fair`, `unfair`, `unreviewed` (a review was requested and gave no usable answer, and code
    found nothing serious) or `skipped` (there is no task description); its score is 1 or, for `unfair`, 0. There is a
    verdict for each finding: its criterion is the kind of fault, and its label `unfair` or `noted`.
    """

    name = EXAM
    needs: Sequence[str] = ()

    def __init__(self, review_model: Model | None = None) -> None:
        """Args:
        review_model: The model that reviews each exam; None leaves it to code.
        """
        self._model = review_model
        self._papers: OrderedDict[tuple[Any, ...], Paper] = OrderedDict()
        self.instant = review_model is None
        """Whether it judges at once, without waiting for anything."""

    @property
    def prompts(self) -> Mapping[str, str]:
        """Return the hashes of the reviewer's prompts; none without a reviewer."""
        if self._model is None:
            return {}
        from viva.judge.exam.review import prompt_hashes

        return prompt_hashes()

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Judge the examiner of a conversation that has ended."""
        began = time.monotonic()
        task = context.case.task_description if context.case is not None else recorded_task(transcript)
        if not task.strip() or not any(round_.examiner for round_ in transcript.rounds):
            words = "there is no task description" if not task.strip() else "there is no message of an examiner"
            return Insight(self.name, context.subject, SKIPPED, None, summary=f"{words}, so the exam cannot be judged")
        paper = self._paper(context) if context.case is not None else paper_of_text(task)
        findings = examine_conduct(transcript, paper)
        if self._model is None:
            return insight_of_findings(context.subject, findings, seconds=time.monotonic() - began)
        from viva.judge.exam.review import review_exam

        review = await review_exam(self._model, context, task, transcript, paper, findings)
        return insight_of_findings(context.subject, review.findings, review, seconds=time.monotonic() - began)

    def _paper(self, context: Context) -> Paper:
        case, persona, strategy = context.case, context.persona, context.strategy
        assert case is not None
        texts = (case.name, case.hash, case.task_description, case.opening, persona, strategy)
        key = (*texts, case.user, case.facts, case.insist, case.done_when, case.strategy)
        paper = self._papers.get(key)
        if paper is None:
            paper = self._papers[key] = paper_of_case(case, persona=persona, strategy=strategy)
            if len(self._papers) > MOST_PAPERS:
                self._papers.popitem(last=False)
        return paper


def insight_of_findings(
    subject: str, findings: Sequence[Finding], review: Review | None = None, seconds: float = 0.0
) -> Insight:
    """Return the insight for what was found in an exam.

    Args:
        subject: The run's id.
        findings: What code and the reviewer found.
        review: The review; None if none was requested.
        seconds: How long it took.
    """
    unfair = [finding for finding in findings if finding.unfair]
    unusable = review is not None and review.unusable
    label, score = (UNFAIR, 0.0) if unfair else (UNREVIEWED, 1.0) if unusable else (FAIR, 1.0)
    usage: Usage = NO_USAGE if review is None else review.usage
    details = {} if review is None else {REVIEW: review.unusable or REVIEWED, "reviewer": review.model}
    notes = () if review is None else tuple(map(storable, review.notes))
    return Insight(
        EXAM,
        subject,
        label,
        score,
        low=0.0 if unusable else score,
        high=score,
        summary=_summary(findings, unfair, review),
        notes=notes,
        verdicts=tuple(_verdict(subject, finding) for finding in findings),
        usage=usage,
        seconds=seconds,
        details=details,
    )


def _summary(findings: Sequence[Finding], unfair: Sequence[Finding], review: Review | None) -> str:
    kinds = ", ".join(dict.fromkeys(finding.kind.value for finding in unfair or findings))
    words = f"unfair: {kinds}" if unfair else f"fair; noted: {kinds}" if findings else ""
    if review is not None and review.unusable:
        words = f"{words}; " if words else ""
        return storable(f"{words}not reviewed: {review.unusable}")
    return words


def _verdict(subject: str, finding: Finding) -> Verdict:
    place = f"r{finding.round}" if finding.round else subject
    evidence = (Evidence(place, storable(finding.quote)),) if finding.round and finding.quote else ()
    return Verdict(
        place,
        finding.kind.value,
        UNFAIR if finding.unfair else NOTED,
        0.0 if finding.unfair else 1.0,
        reason=storable(f"round {finding.round}: {finding.reason}" if finding.round else finding.reason),
        evidence=evidence,
        by=finding.by,
        fault=Fault.EXAMINER if finding.unfair else None,
    )
