"""Reads the short forms of a Case that a program makes, and checks it as a case file is checked."""

from __future__ import annotations

from viva.cases.case import Case
from viva.cases.errors import CaseError, Mistake
from viva.cases.field_readers import TASK_OF_SCRIPT, CaseReader
from viva.cases.in_python.as_in_a_file import as_in_a_file, has_whole_points
from viva.cases.in_python.calls import NAMELESS
from viva.cases.yaml.lines import LineNumbers


def complete(case: Case) -> None:
    """Replace the short forms of a new case (a point as text, messages in a list) as a reader of files would.

    Raises:
        CaseError: the case is invalid. The error holds every mistake.
    """
    whole = has_whole_points(case)
    data = as_in_a_file(case)
    if "script" in data and str(case.task_description).startswith(TASK_OF_SCRIPT):
        del data["task_description"]  # made from a script, which may be another one now
    reader = CaseReader(data, LineNumbers(), case.file)
    found = reader.read()
    _refuse(case, reader.mistakes)
    if whole:  # their ids may be of any form
        found |= {"scoring_points": tuple(case.scoring_points), "point_groups": case.point_groups}
    for name, value in found.items():
        object.__setattr__(case, name, value)


def check(case: Case) -> None:
    """Check a complete case as a case file is checked.

    Raises:
        CaseError: the case is invalid. The error holds every mistake.
    """
    reader = CaseReader(as_in_a_file(case), LineNumbers(), case.file)
    reader.read()
    mistakes = [*reader.mistakes]
    if not case.name:
        mistakes.append(Mistake("the case has no name"))
    if len({point.id for point in case.scoring_points}) < len(case.scoring_points):
        mistakes.append(Mistake("two scoring points have the same id"))
    _refuse(case, mistakes)


def _refuse(case: Case, mistakes: list[Mistake]) -> None:
    if not isinstance(case.name, str) or (case.name and not (case.name.strip() and case.name.isprintable())):
        mistakes = [Mistake(f"name must be a line of text, not {case.name!r}"), *mistakes]
    if mistakes:
        raise CaseError(str(case.name) or NAMELESS, mistakes)
