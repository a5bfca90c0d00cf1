"""Makes of each case the paper that the agents of the lint can take: with messages, and only with points to judge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from viva.cases import Case, ScriptLine
from viva.examiner.conversation import DEFAULT_MAX_ROUNDS
from viva.lint.agents import IN_CASE

GO_ON = "Please go on."
MOST_STAND_INS = 20
"""Maximum number of messages of an examiner that takes the place of a model."""
LONGEST_SCRIPT = 500
"""Maximum number of messages that a solution gets beyond the limit of its case."""


@dataclass(frozen=True, slots=True)
class TrialPaper:
    """A case as it is tried."""

    number: int
    """Which of the linted cases it is, from 0."""
    case: Case


def trial_papers(cases: Sequence[Case], *, has_model: bool) -> list[TrialPaper]:
    """Return the papers for the agents that deserve nothing.

    A case without a script is tried twice, in a short and in a long conversation, because a check may count rounds.

    Args:
        cases: The cases.
        has_model: Whether a model judges the points without `check` or `eval_code`; otherwise they are left out.
    """
    papers: list[TrialPaper] = []
    for number, case in enumerate(cases):
        tried = _with_points(case, has_model=has_model)
        if tried is None:
            continue
        if case.script:
            papers.append(_paper(number, tried, "", {IN_CASE: ""}))
            continue
        known = {IN_CASE: told_in(case)}
        short = [case.opening] if case.opening else []
        papers.append(_paper(number, replace(tried, script=_lines([*short, case.task_description])), "", known))
        by_code = _with_points(case, has_model=False)
        most = min(case.max_rounds or DEFAULT_MAX_ROUNDS, MOST_STAND_INS)
        if by_code is not None and most > len(short) + 1:
            lines = _lines([*short, case.task_description, *[GO_ON] * (most - len(short) - 1)])
            papers.append(_paper(number, replace(by_code, script=lines), "long", known))
    return papers


def solution_papers(cases: Sequence[Case], *, has_model: bool) -> list[TrialPaper]:
    """Return the papers for the solutions that cases hold: one message for each reply where there is no script."""
    papers = []
    for number, case in enumerate(cases):
        tried = _with_points(case, has_model=has_model)
        if tried is not None and case.solution:
            papers.append(_paper(number, _with_messages(tried, len(case.solution)), "", {IN_CASE: str(number)}))
    return papers


def papers_for_agent(cases: Sequence[Case], *, has_model: bool) -> list[TrialPaper]:
    """Return the papers for an agent of the user's that is said to solve the cases: only those with a script."""
    papers = []
    for number, case in enumerate(cases):
        tried = _with_points(case, has_model=has_model)
        if tried is not None and case.script:
            papers.append(TrialPaper(number, _renamed(_with_messages(tried, 0), number, "")))
    return papers


def script_length(case: Case) -> int:
    """Return how many messages the script of a case has if all its conditions are met."""
    return sum(map(messages_of, case.script))


def messages_of(line: ScriptLine) -> int:
    """Return how many messages a line of a script stands for."""
    return 1 if line.first is None or line.last is None else line.last - line.first + 1


def told_in(case: Case) -> str:
    """Return what a model that examines knows and may say."""
    facts = [fact.says for fact in case.facts if fact.when != "never"]
    return "\n".join([case.task_description, *([case.opening] if case.opening else []), *facts])


def _with_points(case: Case, *, has_model: bool) -> Case | None:
    """Return the case with the points that can be judged; None if there are none, or they cannot be judged alone."""
    points = tuple(point for point in case.scoring_points if has_model or point.is_checked)
    if not points or (len(points) < len(case.scoring_points) and are_linked(case)):
        return None
    return replace(case, scoring_points=points)


def are_linked(case: Case) -> bool:
    """Return whether the points of a case depend on each other, so that none can be left out."""
    return bool(getattr(case, "point_groups", ())) or any(getattr(each, "require", ()) for each in case.scoring_points)


def _with_messages(case: Case, number: int) -> Case:
    """Return the case with as many messages, or with its whole script: that a limit cuts it is told by itself."""
    if case.script:
        longest = min(script_length(case), LONGEST_SCRIPT)
        return replace(case, max_rounds=max(case.max_rounds or DEFAULT_MAX_ROUNDS, longest))
    first = case.opening or case.task_description
    lines = _lines([first, *[GO_ON] * (number - 1)])
    return replace(case, script=lines, max_rounds=max(case.max_rounds or DEFAULT_MAX_ROUNDS, number))


def _lines(messages: Sequence[str]) -> tuple[ScriptLine, ...]:
    return tuple(ScriptLine(message) for message in messages)


def _paper(number: int, case: Case, variant: str, known: dict[str, str]) -> TrialPaper:
    return TrialPaper(number, _renamed(replace(case, config_var=known), number, variant))


def _renamed(case: Case, number: int, variant: str) -> Case:
    """Return the case under a name and a hash of its own: it differs from the file, and two cases may share a name."""
    parts = "\0".join(_parts(case, number, variant))
    name = "-".join(filter(None, (str(number + 1), case.name, variant)))
    return replace(case, name=name, hash=hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest())


def _parts(case: Case, number: int, variant: str) -> Iterator[str]:
    yield from ("lint", case.hash, str(number), variant, *(point.id for point in case.scoring_points))
    yield from (line.say for line in case.script)
