"""Exam papers: the Case schema, its loader, and one folder per bundled case."""

from viva.cases.case import Case, ScoringPoint, ScriptLine
from viva.cases.check_code.findings import CheckFinding, check_findings
from viva.cases.check_limits import CheckLimits
from viva.cases.errors import CaseError, Mistake
from viva.cases.find import BUNDLED, Skipped, bundled, find_case, find_cases
from viva.cases.lint import LintFinding, lint_case
from viva.cases.load import load_case, load_cases
from viva.cases.person import CaseStrategy, DoneWhen, Insistence, User, UserFact
from viva.cases.rubric import Rubric, load_rubric
from viva.cases.solution import SolutionReply

__all__ = [
    "BUNDLED",
    "Case",
    "CaseError",
    "CaseStrategy",
    "CheckFinding",
    "CheckLimits",
    "DoneWhen",
    "Insistence",
    "LintFinding",
    "Mistake",
    "Rubric",
    "ScoringPoint",
    "ScriptLine",
    "Skipped",
    "SolutionReply",
    "User",
    "UserFact",
    "bundled",
    "check_findings",
    "find_case",
    "find_cases",
    "lint_case",
    "load_case",
    "load_cases",
    "load_rubric",
]
