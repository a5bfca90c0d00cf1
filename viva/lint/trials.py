"""Has agents take the papers as an ordinary suite, in a journal of its own, and reads the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.cases import CaseError
from viva.errors import SetupError, SharedSetupError
from viva.exam.given import Given
from viva.exam.options import Options
from viva.journal.reader import StoredRun, read_runs
from viva.lint.papers import TrialPaper
from viva.records.run_record import Outcome
from viva.records.transcript import NO_USAGE, Usage
from viva.records.verdict import Verdict
from viva.sandbox import SandboxError, SandboxUnavailable
from viva.suites.conduct import Silence, Surroundings
from viva.suites.engine import LocalEngine
from viva.suites.request import SuiteRequest
from viva.suites.suite import run_suite

SPEC = "lint:"
"""Begins the SPECs of the lint's own agents."""


class NotesKept(Silence):
    """A display that keeps warnings, and notes about the sandbox; the lint itself reports what is about cases."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, words: str) -> None:
        """Keep a note about the sandbox."""
        if words.startswith("Sandbox:"):
            self.warn(words)

    def warn(self, words: str) -> None:
        """Keep a warning once."""
        if words not in self.notes:
            self.notes.append(words)


@dataclass(frozen=True, slots=True)
class Trial:
    """One exam of one agent."""

    number: int
    """Which of the linted cases it was about, from 0."""
    agent: str
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """By the ids of the scoring points; empty if the exam failed."""
    failure: str = ""
    """Why there are no verdicts."""
    usage: Usage = NO_USAGE


async def hold_trials(
    papers: Sequence[TrialPaper],
    agents: Mapping[str, LoadedAgent],
    options: Options,
    folder: Path,
    display: NotesKept,
) -> list[Trial]:
    """Have every agent take every paper.

    A paper that cannot be tried with the others is tried alone, so that a fault of one case hides no other.

    Args:
        papers: The papers.
        agents: The agents by their names.
        options: The options of the exams.
        folder: The folder for the journals; it is made.
        display: Keeps what the suites note.

    Raises:
        SandboxUnavailable: the requested sandbox does not work here.
        SharedSetupError: an agent or a model cannot be used at all.
        JournalError: a journal cannot be written.
    """
    if not papers:
        return []
    try:
        return await _hold(papers, agents, options, folder / "all", display)
    except (SandboxUnavailable, SharedSetupError):
        raise
    except (SetupError, CaseError, SandboxError) as error:
        if len(papers) == 1:
            return [Trial(papers[0].number, name, failure=str(error)) for name in agents]
    trials: list[Trial] = []
    for number, paper in enumerate(papers, 1):
        trials += await hold_trials([paper], agents, options, folder / str(number), display)
    return trials


async def _hold(
    papers: Sequence[TrialPaper], agents: Mapping[str, LoadedAgent], options: Options, folder: Path, display: NotesKept
) -> list[Trial]:
    given = {agent.spec: agent for agent in agents.values()}
    cases = {f"lint-{paper.number}-{paper.case.name}": paper.case for paper in papers}
    request = SuiteRequest(command="suite", paths=tuple(cases), agents=tuple(given), options=replace(options))
    around = Surroundings(display, engine=LocalEngine(given=Given(agents=given)))
    folder.parent.mkdir(parents=True, exist_ok=True)
    await run_suite(request, folder, around, given=cases)
    numbers = {paper.case.name: paper.number for paper in papers}
    names = {agent.spec: name for name, agent in agents.items()}
    runs = read_runs(folder)
    return [_trial(run, numbers[run.setting.case], names[run.setting.agent]) for run in runs if run.setting.case]


def _trial(run: StoredRun, number: int, agent: str) -> Trial:
    record = run.record
    if record is None:
        return Trial(number, agent, failure="the exam did not end")
    usage = sum(record.usage.values(), NO_USAGE)
    verdicts = {verdict.criterion: verdict for insight in run.insights[:1] for verdict in insight.verdicts}
    if record.outcome in (Outcome.SCORED, Outcome.JUDGE_ERROR):
        return Trial(number, agent, verdicts, usage=usage)
    return Trial(number, agent, failure=record.error or record.outcome.value, usage=usage)
