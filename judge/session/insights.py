"""Turns a judge's answer about a session into insights, and describes the attempts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from viva.judge.copies import PLANTED
from viva.judge.session.answer import aggregate
from viva.judge.session.trajectory import CLAIMS_ONLY, Subject
from viva.records.text import counted, one_line, storable
from viva.records.transcript import Usage
from viva.records.verdict import Insight, Label, Verdict, error_insight
from viva.records.wording import SUB_GOAL

if TYPE_CHECKING:
    from viva.judge.asking import NoAnswer
    from viva.judge.session.judging import Attempt, JudgedSubject

COMPLETE = "complete"
"""The criterion of the verdict on the whole; those of sub-goals begin with `SUB_GOAL`."""
SCORES = {"yes": 1.0, "no": 0.0}


def attempt_details(attempt: Attempt) -> dict[str, Any]:
    """Return one attempt as plain data. Tokens and cost are null if they were not reported."""
    used: Usage = attempt.usage
    known = used.reported and used.calls > 0
    details: dict[str, Any] = {
        "model": attempt.model,
        "screenshots": attempt.shown.mode,
        "images": len(attempt.shown.shots),
        "image_bytes": attempt.shown.size,
        "calls": used.calls,
        "input_tokens": used.input_tokens if known else None,
        "output_tokens": used.output_tokens if known else None,
        "cost": used.cost,
    }
    return details | ({"failed": storable(attempt.failed)} if attempt.failed else {})


def answered(name: str, subject: Subject, judged: JudgedSubject, by: str) -> Insight:
    """Make the insight of an answer: a verdict for each sub-goal, then one for the whole."""
    answer = judged.answer
    evaluations = [each.sub.evaluation for each in judged.subs]
    ours = aggregate(evaluations)
    flags = ("transcript-cut",) if judged.cut else ()
    reason = storable(answer.reason.strip()) + (
        f" [Held as yes, but {judged.unsupported}.]" if judged.unsupported else ""
    )
    whole = Verdict(
        subject.id,
        COMPLETE,
        answer.complete,
        SCORES.get(answer.complete),
        reason=reason,
        by=by,
        statement=f"The {subject.level} fulfils the request",
        flags=(*flags, *(("sub-goals-differ",) if ours != answer.complete else ())),
    )
    claimed = [each.sub.name for each in judged.subs if each.sub.evaluation == "yes" and CLAIMS_ONLY in each.flags]
    counts = Counter(evaluations)
    shares = ", ".join(f"{counts[label]} {label}" for label in ("yes", "no", "unsure") if counts[label])
    return Insight(
        name,
        subject.id,
        answer.complete,
        1.0 if answer.complete == "yes" else 0.0,
        low=1.0 if answer.complete == ours == "yes" and not claimed else 0.0,
        high=0.0 if answer.complete == "no" else 1.0,
        scores={"sub_goals": counts["yes"] / len(evaluations)},
        summary=reason,
        notes=(
            f"the sub-goals add up to {ours} ({shares}); the model's overall verdict is {answer.complete}",
            *(f"yes only because the agent says so: {one_line(storable(name), 120)}" for name in claimed),
        ),
        verdicts=(*_sub_goals(subject, judged, by, flags), whole),
        details={"sub_goals": ours},
    )


def _sub_goals(subject: Subject, judged: JudgedSubject, by: str, flags: tuple[str, ...]) -> list[Verdict]:
    return [
        Verdict(
            subject.id,
            f"{SUB_GOAL}{number}",
            each.sub.evaluation,
            SCORES.get(each.sub.evaluation),
            reason=storable(each.sub.reason.strip()),
            evidence=each.found.evidence,
            by=by,
            statement=storable(each.sub.name.strip()),
            flags=(*flags, *each.flags),
        )
        for number, each in enumerate(judged.subs, 1)
    ]


def failed(name: str, subject: Subject, why: NoAnswer, by: str) -> Insight:
    """Make the insight of a subject about which no usable answer was given.

    If all answers of the judge, or all but one, repeated a verdict or a mark from the session, the request counts as
    not fulfilled. If what the agent said and did keeps the judge from an answer, it is open whether it is.
    """
    statement = f"The {subject.level} fulfils the request"
    if why.flag:
        flags = (why.flag,)
        whole = Verdict(
            subject.id, COMPLETE, "unsure", None, reason=why.reason, by=by, statement=statement, flags=flags
        )
        return Insight(name, subject.id, "unsure", 0.0, low=0.0, high=1.0, summary=why.reason, verdicts=(whole,))
    if not why.planted:
        return error_insight(
            name, subject.id, why.reason, criterion=COMPLETE, statement=statement, by=by, fault=why.fault
        )
    verdict = Verdict(subject.id, COMPLETE, "no", 0.0, reason=why.reason, by=by, statement=statement, flags=(PLANTED,))
    return Insight(name, subject.id, "no", 0.0, low=0.0, high=0.0, summary=why.reason, verdicts=(verdict,))


def nothing(name: str, run: str, words: str) -> Insight:
    """Make the insight of a recording that holds nothing."""
    return error_insight(name, run, words, criterion=COMPLETE)


def of_rounds(name: str, run: str, rounds: list[Insight]) -> Insight:
    """Return the insight that sums up rounds that were judged one by one: `yes` if all of them are."""
    verdicts = tuple(
        replace(
            each.verdicts[-1],
            subject=run,
            criterion=f"{COMPLETE}_{one_line(each.subject, 20)}",
            statement=f"Round {each.subject.removeprefix('r')} fulfils its request",
        )
        for each in rounds
    )
    broken = [each for each in rounds if each.label == Label.ERROR]
    label = Label.ERROR if broken else aggregate([_as_label(each.label) for each in rounds])
    words = ", ".join(f"round {each.subject.removeprefix('r')} {each.label}" for each in rounds[:50])
    share = [sum(getattr(each, part) or 0.0 for each in rounds) / len(rounds) for part in ("score", "low", "high")]
    score, low, high = (None, None, None) if broken else share
    return Insight(
        name,
        run,
        label,
        score,
        low=low,
        high=high,
        summary=f"Judged round by round: {words}.",
        verdicts=verdicts,
        details={"level": "rounds"},
    )


def _as_label(label: str) -> Any:
    return label if label in ("yes", "no") else "unsure"


def told(attempts: list[Attempt]) -> list[str]:
    """Return the notes about the attempts: the screenshots that were shown, and why earlier attempts failed."""
    lines = []
    for number, attempt in enumerate(attempts, 1):
        used = attempt.usage
        tokens = f"{counted(used.input_tokens, 'token')} in, {used.output_tokens:,} out"
        cost = "cost unknown" if used.cost is None else f"${used.cost:.4f}"
        how = f"{attempt.model}, screenshots {attempt.shown.mode}, {len(attempt.shown.shots)} shown, {tokens}, {cost}"
        if len(attempts) > 1:
            why = f": {one_line(attempt.failed, 300)}" if attempt.failed else ""
            lines.append(f"attempt {number} ({how}){why}")
    return [*lines, attempts[-1].shown.note] if attempts else lines
