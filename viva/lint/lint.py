"""Lints cases: reads them, tries them with agents, and has a model review them if there is one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.python import loaded_from
from viva.adapters.connectors.table import load_agent
from viva.cases import Case, LintFinding, lint_case
from viva.cases.check_code.findings import check_findings
from viva.exam.options import Options
from viva.lint.agents import SOLUTION, TRIVIAL, solver
from viva.lint.earned import solved_points, trial_findings
from viva.lint.finding import CaseFinding, LintedCase, LintKind
from viva.lint.mistakes import with_advice
from viva.lint.papers import TrialPaper, are_linked, papers_for_agent, solution_papers, trial_papers
from viva.lint.places import CaseLines
from viva.lint.statements import statement_findings
from viva.lint.structure import structure_findings
from viva.lint.trials import SPEC, NotesKept, Trial, hold_trials
from viva.records.transcript import NO_USAGE
from viva.records.wording import counted

_WITHOUT_EFFECT = re.compile(r"cannot fail|asserts what is true|asserts a tuple|discards the result|reaches no assert")
"""What is said of checks that nearly every agent passes, so that no trial needs to tell it again."""
NO_MODEL = "{} without check or eval_code: only a model can judge {} (--model)"
LINKED = (
    "; the points with check or eval_code are not tried either, because points of this case depend on each other "
    "(require, points), and none can be judged without the others"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintSettings:
    """What the user asked of a lint."""

    options: Options = field(default_factory=Options)
    """The options of the exams; their `model` also reviews the cases."""
    solution: str | None = None
    """The SPEC of an agent that is said to earn every point of the cases with a script."""
    folder: Path | None = None
    """Where the journals of the exams are kept; None removes them."""

    @property
    def model(self) -> str | None:
        """Return the SPEC of the model that judges and reviews."""
        return self.options.model


@dataclass(frozen=True, slots=True)
class Lint:
    """What a lint came to."""

    cases: Sequence[LintedCase]
    notes: Sequence[str] = ()
    """What the user should know about the exams as a whole, such as a weak sandbox."""


async def lint_cases(cases: Sequence[Case], settings: LintSettings) -> Lint:
    """Lint cases.

    Args:
        cases: Cases that load.
        settings: What the user asked for.

    Raises:
        SetupError: an agent or a model cannot be used.
        SandboxUnavailable: the requested sandbox does not work here.
        CaseError: a file has become unreadable since it was loaded.
        JournalError: a journal cannot be written.
    """
    solution = None if settings.solution is None else load_agent(settings.solution, isolate=settings.options.isolate)
    linted = [LintedCase(case) for case in cases]
    display = NotesKept()
    trials = await _trials(linted, settings, solution, display)
    for number, each in enumerate(linted):
        _read(each, [trial for trial in trials if trial.number == number], settings)
    if settings.model is not None:
        from viva.lint.reviewer import review_cases  # a model requires more

        await review_cases(linted, settings.model, settings.options)
    for each in linted:
        each.sort()
    return Lint(linted, display.notes)


async def _trials(
    linted: Sequence[LintedCase], settings: LintSettings, solution: LoadedAgent | None, display: NotesKept
) -> list[Trial]:
    has_model = settings.model is not None
    # Points are judged by their checks where they have one, and scripts examine.
    options = replace(settings.options, judge="code", examiner="script", evaluators=())
    tried = [_triable(each, settings) for each in linted]
    cases = [each.case for each in linted]

    def those(papers: list[TrialPaper]) -> list[TrialPaper]:
        return [paper for paper in papers if tried[paper.number]]

    given = {str(number): case.solution for number, case in enumerate(cases) if case.solution}
    trivial = {name: loaded_from(kind, f"{SPEC}{name}") for name, kind in TRIVIAL.items()}
    own = {SOLUTION: loaded_from(solver(given), f"{SPEC}{SOLUTION}")}
    with ExitStack() as stack:
        folder = settings.folder or Path(stack.enter_context(TemporaryDirectory(prefix="viva-lint-")))
        papers = those(trial_papers(cases, has_model=has_model))
        trials = await hold_trials(papers, trivial, options, folder / "agents", display)
        if solution is not None:
            papers = those(papers_for_agent(cases, has_model=has_model))
            trials += await hold_trials(papers, {SOLUTION: solution}, options, folder / "solution", display)
            solved = {paper.number for paper in papers}
        else:
            solved = set()
        papers = [paper for paper in those(solution_papers(cases, has_model=has_model)) if paper.number not in solved]
        trials += await hold_trials(papers, own, options, folder / "solution-of-case", display)
    return trials


def _triable(each: LintedCase, settings: LintSettings) -> bool:
    """Return whether the exam of a case can be held, and note what cannot be tried."""
    without = sum(not point.is_checked for point in each.case.scoring_points)
    if without and settings.model is None:
        linked = are_linked(each.case) and without < len(each.case.scoring_points)
        each.not_tried.append(
            NO_MODEL.format(counted(without, "point"), "it" if without == 1 else "them") + (LINKED if linked else "")
        )
    if each.case.commands and not settings.options.allow_pre_command:
        each.not_tried.append("the exam: it runs commands on this machine (--allow-pre-command)")
        return False
    if not each.case.script and settings.solution is not None and not each.case.solution:
        each.not_tried.append("the solution: without a script there are no messages; write a solution into the case")
    return True


def _read(each: LintedCase, trials: Sequence[Trial], settings: LintSettings) -> None:
    """Add what code finds in a case and in its trials."""
    case = each.case
    lines = CaseLines(case)
    each.findings += _mistakes(lint_case(case), case, lines)
    known = {found.point for found in check_findings(case) if found.certain}
    solved = solved_points(case, trials)
    each.findings += structure_findings(case, lines)
    known |= {found.point for found in each.findings if found.kind is LintKind.NOBODY and found.point}
    each.findings += statement_findings(case, lines, solved)
    known |= {found.point for found in each.findings if found.kind is LintKind.REVEALED and found.point}
    each.findings += trial_findings(case, lines, trials, known)
    done = {trial.agent for trial in trials if trial.verdicts}
    each.tried = tuple(name for name in (*TRIVIAL, SOLUTION) if name in done)
    failures = dict.fromkeys((trial.failure, trial.agent) for trial in trials if trial.failure)
    words: dict[str, list[str]] = {}
    for failure, agent in failures:
        words.setdefault(failure, []).append(agent)
    each.failed += [f"the exam of {', '.join(agents)}: {failure}" for failure, agents in words.items()]
    each.usage = sum((trial.usage for trial in trials), NO_USAGE)


def _mistakes(found: Sequence[LintFinding], case: Case, lines: CaseLines) -> Iterator[CaseFinding]:
    """Yield what `viva cases check` says about a case that loads."""
    starts = [lines.of_point(index) or 0 for index in range(len(case.scoring_points))]
    for each in found:
        # The last point that begins before the line; what is said of other parts of the file is about no point.
        before = sum(start <= (each.line or 0) for start in starts)
        point = (before or None) if each.message.startswith("eval_code") else None
        kind = LintKind.ANYBODY if _WITHOUT_EFFECT.search(each.message) else LintKind.MISTAKE
        message, advice = with_advice(each.message)
        yield CaseFinding(kind, message, advice, each.line, point, is_note=not each.certain)
