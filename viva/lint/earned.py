"""Reads in the verdicts of the trials which points anybody gets, which nobody gets, and which checks are broken."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from viva.cases import Case, ScoringPoint
from viva.lint.agents import SOLUTION, TRIVIAL
from viva.lint.finding import CaseFinding, LintKind
from viva.lint.places import CaseLines
from viva.lint.statements import HIDE
from viva.lint.trials import Trial
from viva.lint.words import asks_to_find_out, asks_to_repeat, limits
from viva.records.fault import Fault
from viva.records.text import one_line
from viva.records.verdict import Label, Verdict, is_model

WHAT_THEY_DO: Mapping[str, str] = {
    "silent": "says nothing",
    "refusing": "refuses everything",
    "echoing": "repeats each message",
    "parroting": "repeats each message and the names of its files",
}
IDLE = frozenset({"silent", "refusing"})
"""The agents whose replies have nothing to do with the case."""


@dataclass(frozen=True, slots=True)
class _Point:
    """One point, and what each agent got for it."""

    number: int
    point: ScoringPoint
    hits: frozenset[str]
    """The agents that got it in each of their exams."""
    verdicts: Mapping[str, list[Verdict]]

    @property
    def judge(self) -> str:
        """Return in words who gave it, if that was a model."""
        models = {each.by for several in self.verdicts.values() for each in several if is_model(each.by)}
        return f", as {', '.join(sorted(models))} judges it" if models else ""


def trial_findings(
    case: Case, lines: CaseLines, trials: Sequence[Trial], known: Collection[int] = ()
) -> Iterator[CaseFinding]:
    """Yield what the trials of one case show.

    Args:
        case: The case.
        lines: The lines of its file.
        trials: The exams of all agents with it.
        known: The numbers of points that are known to be hit whatever an agent does, or never.
    """
    points = list(_points(case, trials))
    loud = False
    for each in points:
        if each.number in known:
            loud = True
            continue
        for found in _of_point(case, each, lines):
            loud = loud or not found.is_note
            yield found
    tried = {trial.agent for trial in trials if trial.verdicts}
    if not loud and "silent" in tried and len(points) == len(case.scoring_points):
        yield from _whole_case(case, points, lines)


def solved_points(case: Case, trials: Sequence[Trial]) -> frozenset[int]:
    """Return the numbers of the points that the solution gets."""
    return frozenset(each.number for each in _points(case, trials) if SOLUTION in each.hits)


def _points(case: Case, trials: Sequence[Trial]) -> Iterator[_Point]:
    for number, point in enumerate(case.scoring_points, 1):
        verdicts: dict[str, list[Verdict]] = {}
        for trial in trials:
            if point.id in trial.verdicts:
                verdicts.setdefault(trial.agent, []).append(trial.verdicts[point.id])
        hits = frozenset(name for name, each in verdicts.items() if all(one.label == Label.HIT for one in each))
        if verdicts:
            yield _Point(number, point, hits, verdicts)


def _of_point(case: Case, each: _Point, lines: CaseLines) -> Iterator[CaseFinding]:
    key = "eval_code" if each.point.eval_code else "check" if each.point.check else "score_point"
    where = lines.of_point(each.number - 1, key)
    broken = _broken(each, where)
    if broken is not None:
        yield broken
        return
    missed = next((one for one in each.verdicts.get(SOLUTION, ()) if one.label != Label.HIT), None)
    if missed is not None:
        message = f"the solution does not get this point{each.judge}: {one_line(missed.reason, 300)}"
        is_note = missed.label == Label.UNSURE
        advice = "change the check so that it accepts this solution, or the solution so that it earns the point"
        yield CaseFinding(LintKind.NOBODY, message, advice, where, each.number, is_note)
    idle, copied = IDLE & each.hits, (each.hits & set(TRIVIAL)) - IDLE
    if idle:
        is_note = limits(each.point)
        message = f"an agent that {_they(idle | copied)} gets this point{each.judge}"
        advice = "demand what only a good agent says or leaves behind"
        if is_note:
            advice = "make sure that another point demands what the agent should do"
        yield CaseFinding(LintKind.ANYBODY, message, advice, where, each.number, is_note)
    elif copied:
        yield _copied(case, each, copied, where)


def _broken(each: _Point, where: int | None) -> CaseFinding | None:
    """Return the finding about a check that fails by itself, whatever it is that one of the agents does."""
    for name, several in each.verdicts.items():
        for one in several:
            if one.label == Label.ERROR and one.fault != Fault.INFRA and one.by == "code":
                message = f"for {_agent(name)}, {one_line(one.reason, 300)}"
                advice = "have an assert fail here: an error says nothing about the agent, and its exam is not scored"
                return CaseFinding(LintKind.BROKEN, message, advice, where, each.number)
    return None


def _copied(case: Case, each: _Point, hits: Collection[str], where: int | None) -> CaseFinding:
    """Return the finding about a point that is hit by repeating."""
    statement = each.point.score_point
    is_limited = limits(each.point)
    if not case.script:
        message = f"an agent that repeats what the examiner knows gets this point{each.judge}"
        is_note = is_limited or not asks_to_find_out(statement)
        advice = HIDE if not is_note else f"if the agent has to find it out: {HIDE}"
        return CaseFinding(LintKind.REVEALED, message, advice, where, each.number, is_note)
    message = f"an agent that {_they(hits)} gets this point{each.judge}"
    if "echoing" not in hits:
        # To list the files may be what the agent was asked for.
        advice = "if the agent should do more with the files than name them: demand that"
        return CaseFinding(LintKind.ANYBODY, message, advice, where, each.number, is_note=True)
    is_note = is_limited or asks_to_repeat(statement, (line.say for line in case.script))
    advice = "demand something that is not in the messages"
    if is_note:
        advice = f"if the agent should do more than repeat: {advice}"
    return CaseFinding(LintKind.ANYBODY, message, advice, where, each.number, is_note)


def _whole_case(case: Case, points: Sequence[_Point], lines: CaseLines) -> Iterator[CaseFinding]:
    if all("silent" in each.hits for each in points):
        message = "an agent that says nothing gets full marks"
        advice = "add a point for what the agent should do"
        yield CaseFinding(
            LintKind.ANYBODY, message, advice, lines.of("scoring_points"), is_note=case.strategy is not None
        )


def _agent(name: str) -> str:
    return f"an agent that {WHAT_THEY_DO[name]}" if name in WHAT_THEY_DO else "the solution"


def _they(names: Collection[str]) -> str:
    told = [WHAT_THEY_DO[name] for name in WHAT_THEY_DO if name in names]
    if "echoing" in names and "parroting" in names:
        told.remove(WHAT_THEY_DO["parroting"])
    return " or ".join(filter(None, (", ".join(told[:-1]), told[-1])))
