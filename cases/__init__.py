"""Exam papers: the Case schema, its loader, and one folder per bundled case."""

from cases.case import Case, ScoringPoint, ScriptLine
from cases.check_limits import CheckLimits
from cases.errors import CaseError, Mistake
from cases.find import BUNDLED, Skipped, bundled, find_case, find_cases
from cases.lint import Finding, lint_case
from cases.load import load_case

__all__ = [
    "BUNDLED",
    "Case",
    "CaseError",
    "CheckLimits",
    "Finding",
    "Mistake",
    "ScoringPoint",
    "ScriptLine",
    "Skipped",
    "bundled",
    "find_case",
    "find_cases",
    "lint_case",
    "load_case",
]
