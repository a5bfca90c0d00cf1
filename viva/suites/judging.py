"""Judges stored conversations again, as a suite whose conversations have all ended; it requires no agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from viva.cases import Case
from viva.errors import SetupError
from viva.exam.judging.rubrics import NO_PAPERS, RubricPapers, rubric_of
from viva.exam.judging.stored_facts import facts_of
from viva.exam.judging.unfair import UnfairAttempt
from viva.exam.options import Options
from viva.exam.stored_runs import RunState, read_states_to_resume
from viva.journal.conversation_lines import ConversationLines
from viva.journal.kept_cases import stored_case
from viva.journal.writer import Damage
from viva.judge.exam.kinds import EXAM
from viva.judge.registry import DEFAULT, is_registered, read_spec
from viva.records.text import counted, one_line
from viva.suites.chosen.conversations import wanted_conversations, wanted_states
from viva.suites.chosen.journal_parts import noting_parts
from viva.suites.conduct import Surroundings, Work, conduct
from viva.suites.engine import SuiteEnd
from viva.suites.gate_checks import NO_GATES, PlannedGates
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.request import JournalsRequest, with_missing
from viva.suites.resuming.left_out import LeftOut
from viva.suites.resuming.next_step import ResumeStep, next_step
from viva.suites.resuming.stored_request import store_missing

CaseKey = tuple[Path, str, str]
"""Journal, name and hash."""


@dataclass(slots=True)
class Judging:
    """What was found in the journals, and how the judging ended."""

    end: SuiteEnd = field(default_factory=SuiteEnd)
    damage: Damage = field(default_factory=Damage)
    order: list[str] = field(default_factory=list)
    """Ids of the runs in the order in which the journals hold them."""
    left_out: LeftOut = field(default_factory=LeftOut)
    """The conversations that are not judged."""
    papers: RubricPapers = NO_PAPERS
    """The points by which recordings are judged."""


async def judge_journals(
    request: JournalsRequest,
    folder: Path,
    around: Surroundings,
    *,
    resumed: bool = False,
    retry_errors: bool = False,
    gates: PlannedGates = NO_GATES,
) -> Judging:
    """Judge all conversations of some journals, and write the results to a new journal.

    Args:
        request: The journals, and the options of judging.
        folder: The new journal's folder.
        around: The engine, display, sinks and subscribers.
        resumed: Whether the folder already holds some results.
        retry_errors: Whether to judge again what could not be judged before.
        gates: The gates that will be applied, which are checked before anything is judged.

    Raises:
        SetupError: there is nothing to judge, or the user must change something.
        JournalError: a journal cannot be read or written.
    """
    found = Judging()
    if resumed:  # the journals may have been completed since it was stored
        request = replace(request, incomplete=noting_parts(request).incomplete)
    stored = _find(request)

    def prepare() -> Work:
        done = read_states_to_resume(folder) if resumed else {}
        skipped = {run for run in done if next_step(done[run], retry_errors=retry_errors).step is ResumeStep.SKIP}
        work = _work(request, stored, done, skipped, found)
        judged = {name for run in skipped for name in done[run].evaluators}
        gated = tuple(name for name in gates.evaluators if name not in judged)
        return replace(work, order=replace(work.order, gated=gated))

    found.end = await conduct(folder, prepare, around, resumed=resumed)
    found.end.conversations = found.left_out
    if resumed and not found.end.left_out:
        store_missing(folder.absolute(), with_missing(request, _left_out(stored)).incomplete)
    return found


def _work(
    request: JournalsRequest,
    stored: Sequence[Mapping[str, RunState]],
    done: Mapping[str, RunState],
    skipped: set[str],
    found: Judging,
) -> Work:
    papers = found.papers = _papers(request, stored)
    left = [
        (folder, state)
        for (folder, _), states in zip(request.journals, stored, strict=True)
        for run, state in states.items()
        if state.whole and run not in skipped
    ]
    named = request.options.evaluators
    by_points = papers.given and any(state.recorded for _, state in left)
    evaluators = named or _evaluators([state for _, state in left], papers)
    if by_points and all(read_spec(spec)[0] != DEFAULT for spec in evaluators):
        raise SetupError(
            f"the points have no effect: --evaluators does not name {DEFAULT}. Add it, or omit one of the two options."
        )
    whole = sum(state.whole for states in stored for state in states.values())
    # No more sandboxes are prepared than there are conversations to judge.
    concurrency = max(1, min(request.options.concurrency, whole))
    options: Options = replace(request.options, concurrency=concurrency, evaluators=evaluators)
    cases = (*_cases(request.replacement, stored, left, papers), *(papers.all if by_points else ()))
    return Work(
        request=with_missing(request, _left_out(stored)),
        order=WorkOrder(options=options, cases=cases, recordings=_without_cases(left, papers)),
        jobs=lambda _: judge_jobs(request, found, done, skipped, () if named else None, _unfair(stored)),
        total=len(left),
        done_before=whole - len(left),
        copies=True,
        announce=_announcement(len(left), whole - len(left)),
    )


def _left_out(stored: Sequence[Mapping[str, RunState]]) -> LeftOut:
    """Return the conversations that cannot be judged, before the first one is."""
    found = LeftOut()
    for states in stored:
        found.not_ended += [run for run, state in states.items() if not state.ended]
        found.gaps |= {run: state.gap for run, state in states.items() if state.ended and state.gap is not None}
    return found


def _announcement(left: int, done: int) -> str:
    return f"{counted(left, 'conversation')} to judge{f', {done} already judged' if done else ''}"


def judge_jobs(
    request: JournalsRequest,
    found: Judging,
    done: Mapping[str, RunState],
    skipped: set[str],
    evaluators: tuple[str, ...] | None,
    unfair: Mapping[str, tuple[UnfairAttempt, ...]] = MappingProxyType({}),
) -> Iterator[Job]:
    """Yield a job for each conversation, in the order of the journals.

    Args:
        request: The journals, and the case that replaces the stored case of the same name.
        found: Receives what was found.
        done: The states of the runs that the new journal already holds.
        skipped: Ids of runs that are not judged again.
        evaluators: Names of the evaluators; None means those of each run.
        unfair: The attempts before the stored conversation in which the examiner was at fault, by run id.
    """
    replacement = request.replacement
    for lines in wanted_conversations(request, found.damage):
        if not lines.ended:
            found.left_out.not_ended.append(lines.run)
            continue
        if lines.gap is not None:
            found.left_out.gaps[lines.run] = lines.gap
            continue
        found.order.append(lines.run)
        if lines.run not in skipped:
            state = done.get(lines.run)
            job = _job(lines, replacement, found.papers, evaluators, carried=state is not None and state.whole)
            if (earlier := unfair.get(lines.run)) is not None:
                # Who is not asked about the examiner says nothing about earlier exams either.
                is_asked = any(read_spec(spec)[0] == EXAM for spec in request.options.evaluators or job.evaluators)
                job = replace(job, unfair=earlier) if is_asked else replace(job, untold=earlier)
            yield job


def _job(
    lines: ConversationLines,
    replacement: Case | None,
    papers: RubricPapers,
    evaluators: tuple[str, ...] | None,
    *,
    carried: bool,
) -> Job:
    facts = facts_of(lines)
    stored = facts.evaluators
    if facts.recorded and papers.given:
        paper, stored = papers.of(facts.subject, lines), (DEFAULT,)
        case_hash = "" if paper is None else paper.hash
    else:
        replaced = replacement is not None and replacement.name == facts.subject
        case_hash = replacement.hash if replaced and replacement is not None else facts.case_hash
    return Job(
        action=Action.JUDGE,
        header=facts.header(lines),
        case_hash=case_hash,
        # Earlier judgements are not needed to judge again.
        conversation=lines.without_judgements(),
        timing=facts.timing,
        carried=carried,
        evaluators=(stored or (DEFAULT,)) if evaluators is None else evaluators,
    )


def _unfair(stored: Sequence[Mapping[str, RunState]]) -> dict[str, tuple[UnfairAttempt, ...]]:
    """Return the unfair attempts before the newest one, whose conversations are not judged again, by run id.

    They are exams of their own; those of a recording that has grown are its beginning.
    """
    return {
        run: earlier
        for states in stored
        for run, state in states.items()
        if not state.recorded and (earlier := tuple(each for each in state.unfair if each.attempt < state.attempt))
    }


def _find(request: JournalsRequest) -> list[dict[str, RunState]]:
    """Read the states of the runs in each journal.

    Raises:
        JournalError: a journal or a requested run does not exist.
        SetupError: there is no run, or two runs have the same id, so that the new journal could not distinguish them.
    """
    found: list[dict[str, RunState]] = []
    where: dict[str, Path] = {}
    for folder, only in request.journals:
        states = wanted_states(request, folder, only)
        for run in states:
            if run in where:
                raise SetupError(
                    f"the run {run} is in {where[run]} and in {folder}: judge these journals separately, each into a "
                    "new journal."
                )
            where[run] = folder
        found.append(states)
    if not where:
        raise SetupError(
            f"there is nothing to judge: {', '.join(str(folder) for folder, _ in request.journals)} holds no run."
        )
    return found


def _papers(request: JournalsRequest, stored: Sequence[Mapping[str, RunState]]) -> RubricPapers:
    """Return the papers of the recordings: those of the rubric, or the case that replaces stored ones."""
    subjects = {state.case for states in stored for state in states.values() if state.recorded}
    if request.rubric is not None:
        if not subjects:
            raise SetupError("--rubric is for recordings, and the journal holds none; exams are judged by their cases.")
        return RubricPapers(request.rubric)
    case = request.replacement
    exams = {state.case for states in stored for state in states.values() if not state.recorded}
    if case is None or not subjects or (case.name in exams and case.name not in subjects):
        return NO_PAPERS
    return RubricPapers(rubric_of(case, subjects), f"the case {one_line(case.name, 80)!r}", of_a_case=True)


def _without_cases(left: Sequence[tuple[Path, RunState]], papers: RubricPapers) -> bool:
    """Return whether there are runs without a case that are not judged by points."""
    return any(not state.case_hash and not (state.recorded and papers.given) for _, state in left)


def _evaluators(states: Sequence[RunState], papers: RubricPapers) -> tuple[str, ...]:
    """Return the evaluators of the runs: for recordings with a rubric, the scoring points, else those stored."""
    by_points = [state for state in states if state.recorded and papers.given]
    stored = _stored_evaluators(state for state in states if not (state.recorded and papers.given))
    return tuple(dict.fromkeys((*([DEFAULT] if by_points else []), *stored)))


def _stored_evaluators(states: Iterator[RunState]) -> tuple[str, ...]:
    """Return the evaluators that judged these runs before. A journal holds their names, never their import strings.

    Raises:
        SetupError: an evaluator belongs neither to Viva nor to an installed distribution.
    """
    names = dict.fromkeys(name for state in states for name in state.evaluators or (DEFAULT,))
    for name in names:
        if not is_registered(name):
            raise SetupError(
                f"these runs were judged by an evaluator {name[:80]!r}, which is not installed here. "
                "Name the evaluators: --evaluators file.py:Thing,…"
            )
    return tuple(names)


def _cases(
    replacement: Case | None,
    stored: Sequence[Mapping[str, RunState]],
    left: Sequence[tuple[Path, RunState]],
    papers: RubricPapers,
) -> tuple[Case, ...]:
    """Return the cases of the runs that are left to judge; what other cases require may no longer exist.

    Raises:
        SetupError: a case cannot be read, or no run has the name of the case that replaces a stored one.
    """
    names = {state.case for states in stored for state in states.values()}
    if replacement is not None and replacement.name not in names and not papers.given:
        raise SetupError(
            f"the journal has no run of a case {replacement.name!r} (the name of a case is that of its folder); "
            f"it has runs of {', '.join(sorted(names))}."
        )
    cases: dict[CaseKey, Case] = {}
    for folder, state in left:
        key = folder, state.case, state.case_hash
        if state.case_hash and key not in cases and not (state.recorded and papers.given):
            replaced = replacement is not None and replacement.name == state.case
            cases[key] = replacement if replaced and replacement is not None else stored_case(*key)
    return tuple(cases.values())
