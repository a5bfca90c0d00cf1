"""Has imported recordings judged in their journal like any other conversation that has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from viva.cases import Rubric
from viva.errors import PlanError, SetupError
from viva.exam.judging.rubrics import RubricPapers
from viva.exam.judging.stored_facts import facts_of
from viva.exam.options import Options
from viva.exam.stored_runs import RunState, read_run_states, read_states_to_resume
from viva.journal.conversation_lines import read_conversation_lines
from viva.journal.writer import Journal
from viva.judge.registry import DEFAULT, read_spec
from viva.judge.reward import RewardEvaluator
from viva.recordings.recording import Recording
from viva.recordings.table import LoadedReader, load_reader, together
from viva.records.wording import counted
from viva.suites.conduct import Surroundings, Work, conduct
from viva.suites.gate_checks import NO_GATES, PlannedGates
from viva.suites.importing import Import, OpenSource, begin_reading, import_recordings
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.request import RecordingsRequest
from viva.suites.resuming.next_step import ResumeStep, next_step
from viva.suites.resuming.unread import keep_unread

DEFAULT_EVALUATORS = (RewardEvaluator.name,)


async def trace_recordings(
    request: RecordingsRequest,
    folder: Path,
    around: Surroundings,
    *,
    resumed: bool = False,
    retry_errors: bool = False,
    choose: Callable[[Recording], bool] | None = None,
    gates: PlannedGates = NO_GATES,
    known: set[str] | None = None,
) -> Import:
    """Import recordings and judge them.

    Args:
        request: SPECs of the recordings, and the options of judging.
        folder: The journal's folder.
        around: The engine, display, sinks and subscribers.
        resumed: Whether the folder already holds some recordings, which are then not imported again.
        retry_errors: Whether to judge again what could not be judged before.
        choose: Selects the recordings to import, of which there may be none; None stands for all.
        gates: The gates that will be applied, which are checked before anything is judged.
        known: What the user was told about the sources when they were read before, and is not told again; what is told
            now is added.

    Raises:
        SetupError: a recording cannot be read, or the user must change something.
        JournalError: the journal cannot be written.
    """
    found = Import()
    sources: list[OpenSource] = []
    papers = RubricPapers(request.rubric)

    def fill(journal: Journal) -> tuple[int, int]:
        done = read_states_to_resume(journal.folder) if resumed else {}
        import_recordings(sources, request, journal, done, found, choose)
        journal.sync()  # before the mark of an import that did not end is removed
        # What is unfinished, too: if this is the last look, nobody reads the rest of it.
        keep_unread(journal.folder, [*found.lost, *found.unfinished])
        for words in found.told():
            if known is None or words not in known:
                around.display.note(words)
        if known is not None:
            known.update(found.told())
        if found.again:
            around.display.note(f"{counted(found.again, 'run')} judged again: the source has more of them now")
        states = read_run_states(journal.folder)
        if choose is None:  # sources that are followed may still bring what the baseline has
            _check_baseline(gates, states)
        left = sum(_is_left(state, retry_errors) for state in states.values())
        return left, len(states) - left

    def prepare() -> Work:
        loaded = (load_reader(spec) for spec in dict.fromkeys(request.recordings))
        readers = together(loaded, apart=request.compared)
        evaluators = request.options.evaluators or _evaluators(readers, request.rubric)
        sources.extend(begin_reading(readers, request, followed=choose is not None))
        options = replace(request.options, evaluators=evaluators)
        return Work(
            request=request,
            order=_order(options, request.rubric, gates),
            fill=fill,
            jobs=lambda new: _jobs(new, papers, retry_errors),
        )

    found.end = await conduct(folder, prepare, around, resumed=resumed)
    if not resumed:  # of the others, it is not known here which points they were judged by
        for words in papers.notes():
            around.display.note(words)
    return found


def _check_baseline(gates: PlannedGates, states: Mapping[str, RunState]) -> None:
    """Check what only the imported recordings show: whether the baseline has any of their tasks.

    Raises:
        PlanError: it has none, so nothing is judged.
    """
    planned: dict[str, set[str]] = {}
    for state in states.values():
        planned.setdefault(state.agent, set()).add(state.case)
    try:
        gates.check_baseline(planned)
    except SetupError as error:
        raise PlanError(str(error)) from error


def _order(options: Options, rubric: Rubric | None, gates: PlannedGates) -> WorkOrder:
    """Return the work order of judging recordings.

    Raises:
        SetupError: there is a rubric, and the evaluators named do not judge by it.
    """
    if rubric is None:
        return WorkOrder(options=options, recordings=True, gated=gates.evaluators)
    if all(read_spec(spec)[0] != DEFAULT for spec in options.evaluators):
        raise SetupError(
            f"--rubric has no effect: --evaluators does not name {DEFAULT}. Add it, or omit one of the two options."
        )
    return WorkOrder(options=options, cases=rubric.papers, gated=gates.evaluators)


def _evaluators(readers: Sequence[LoadedReader], rubric: Rubric | None) -> tuple[str, ...]:
    """Return the default evaluators of recordings: the rubric, or those of their reader, or the recorded reward.

    Raises:
        SetupError: the readers have different defaults.
    """
    if rubric is not None:
        return (DEFAULT,)
    found = {reader.evaluators or DEFAULT_EVALUATORS for reader in readers}
    if len(found) > 1:
        names = " or ".join(sorted({name for names in found for name in names}))
        raise SetupError(f"these sources are judged by different evaluators; name them: --evaluators {names}.")
    return next(iter(found), DEFAULT_EVALUATORS)


def _is_left(state: RunState, retry_errors: bool) -> bool:
    return state.whole and next_step(state, retry_errors=retry_errors).step is not ResumeStep.SKIP


def _jobs(folder: Path, papers: RubricPapers, retry_errors: bool) -> Iterator[Job]:
    """Yield a job for each recording in the journal that has not been judged."""
    left = {run for run, state in read_run_states(folder).items() if _is_left(state, retry_errors)}
    for lines in read_conversation_lines(folder):
        if lines.run not in left:
            continue
        facts = facts_of(lines)
        header, talk = facts.header(lines), replace(lines, judged=())
        paper = papers.of(facts.subject, talk)
        yield Job(
            action=Action.JUDGE,
            header=header,
            case_hash="" if paper is None else paper.hash,
            conversation=talk,
            timing=facts.timing,
            carried=True,
        )
