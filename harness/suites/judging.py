"""Judges stored conversations again, as a suite whose conversations have all been held; no agent is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from adapters.errors import SetupError
from cases import Case
from harness.exam.kept_cases import stored_case
from harness.exam.options import Options
from harness.exam.stored_runs import RunState, facts_of, read_run_states, read_states_to_resume
from harness.exam.subscribers import RunHeader
from harness.suites.conduct import Surroundings, Work, conduct
from harness.suites.engine import SuiteEnd, SuiteLimits
from harness.suites.job import Action, Job, WorkOrder
from harness.suites.resume import Step, next_step
from harness.suites.sources import Sources, save_sources
from judge.registry import DEFAULT, is_registered
from records.conversation_lines import ConversationLines, read_conversation_lines
from records.journal import Damage

CaseKey = tuple[Path, str, str]
"""Journal, name and hash."""


@dataclass(slots=True)
class Judging:
    """What a judging found in the journals, and how it ended."""

    end: SuiteEnd = field(default_factory=SuiteEnd)
    damage: Damage = field(default_factory=Damage)
    order: list[str] = field(default_factory=list)
    """Ids of the runs in the order in which the journals hold them."""
    not_ended: list[str] = field(default_factory=list)
    """Ids of the runs whose conversation never ended: they are not judged."""
    gaps: dict[str, str] = field(default_factory=dict)
    """Run to which of its rounds are missing: it is not judged."""


async def judge_sources(
    sources: Sources, folder: Path, around: Surroundings, *, resumed: bool = False, retry_errors: bool = False
) -> Judging:
    """Judge all conversations of some journals into a new one.

    Args:
        sources: Which, and by whom.
        folder: The new journal's.
        around: What the judging runs with, and who is informed.
        resumed: The folder holds some of it already.
        retry_errors: Also judge again what could not be judged then.

    Raises:
        SetupError: there is nothing to judge, or the user must change something.
        JournalError: a journal cannot be read or written.
    """
    found = Judging()
    stored = _find(sources.journals)

    def prepare() -> Work:
        done = read_states_to_resume(folder) if resumed else {}
        skipped = {run for run in done if next_step(done[run], retry_errors=retry_errors).step is Step.SKIP}
        return _work(sources, stored, done, skipped, found)

    found.end = await conduct(folder, prepare, around, resumed=resumed)
    return found


def _work(
    sources: Sources,
    stored: Sequence[Mapping[str, RunState]],
    done: Mapping[str, RunState],
    skipped: set[str],
    found: Judging,
) -> Work:
    left = [
        (folder, state)
        for (folder, _), states in zip(sources.journals, stored, strict=True)
        for run, state in states.items()
        if state.whole and run not in skipped
    ]
    named = sources.options.evaluators
    evaluators = named or _stored_evaluators(state for _, state in left)
    whole = sum(state.whole for states in stored for state in states.values())
    # No more sandboxes are made ready than there are conversations to judge.
    concurrency = max(1, min(sources.options.concurrency, whole))
    options: Options = replace(sources.options, concurrency=concurrency, evaluators=evaluators)
    cases = _cases(sources.mended, stored, left)
    return Work(
        order=WorkOrder(options=options, cases=cases, recordings=any(not state.case_hash for _, state in left)),
        jobs=lambda _: judge_jobs(sources, found, done, skipped, () if named else None),
        total=len(left),
        done_before=whole - len(left),
        limits=SuiteLimits(concurrency),
        begun=lambda journal: save_sources(sources, journal),
    )


def judge_jobs(
    sources: Sources,
    found: Judging,
    done: Mapping[str, RunState],
    skipped: set[str],
    evaluators: tuple[str, ...] | None,
) -> Iterator[Job]:
    """The conversations as they come out of the journals.

    Args:
        sources: The journals, and the case that replaces the stored one of its name.
        found: Is told what was found.
        done: What the new journal holds already.
        skipped: Runs that are not judged again.
        evaluators: None stands for each run's own.
    """
    mended = sources.mended
    for folder, only in sources.journals:
        for lines in read_conversation_lines(folder, only, found.damage):
            if not lines.ended:
                found.not_ended.append(lines.run)
                continue
            if lines.gap is not None:
                found.gaps[lines.run] = lines.gap
                continue
            found.order.append(lines.run)
            if lines.run not in skipped:
                state = done.get(lines.run)
                yield _job(lines, mended, evaluators, carried=state is not None and state.whole)


def _job(lines: ConversationLines, mended: Case | None, evaluators: tuple[str, ...] | None, *, carried: bool) -> Job:
    facts = facts_of(lines)
    case_hash = mended.hash if mended is not None and mended.name == facts.subject else facts.case_hash
    header = RunHeader(
        id=lines.run,
        subject=facts.subject,
        agent=facts.agent,
        agent_version=facts.agent_version,
        trial=facts.trial,
        attempt=lines.attempt,
        tags=facts.tags,
    )
    return Job(
        action=Action.JUDGE,
        header=header,
        case_hash=case_hash,
        # What was judged before is not needed to judge again.
        conversation=replace(lines, judged=()),
        timing=facts.timing,
        carried=carried,
        evaluators=(facts.evaluators or (DEFAULT,)) if evaluators is None else evaluators,
    )


def _find(journals: Sequence[tuple[Path, str | None]]) -> list[dict[str, RunState]]:
    """A first look at each journal.

    Raises:
        JournalError: one is not there, or not the run that is meant.
        SetupError: there is no run, or the same one twice: the new journal could not tell them apart.
    """
    found: list[dict[str, RunState]] = []
    where: dict[str, Path] = {}
    for folder, only in journals:
        states = read_run_states(folder, only)
        for run in states:
            if run in where:
                raise SetupError(
                    f"the run {run} is in {where[run]} and in {folder}: judge these journals one by one, each into a "
                    "journal of its own."
                )
            where[run] = folder
        found.append(states)
    if not where:
        raise SetupError(f"there is nothing to judge: {', '.join(str(folder) for folder, _ in journals)} holds no run.")
    return found


def _stored_evaluators(states: Iterator[RunState]) -> tuple[str, ...]:
    """The evaluators that judged these runs before. A journal names them, and never what is imported for them.

    Raises:
        SetupError: one is neither Viva's nor an installed distribution's.
    """
    names = dict.fromkeys(name for state in states for name in state.evaluators or (DEFAULT,))
    for name in names:
        if not is_registered(name):
            raise SetupError(
                f"these runs were judged by an evaluator {name[:80]!r}, which is not registered here. "
                "Name the evaluators: --evaluators file.py:Thing,…"
            )
    return tuple(names)


def _cases(
    mended: Case | None, stored: Sequence[Mapping[str, RunState]], left: Sequence[tuple[Path, RunState]]
) -> tuple[Case, ...]:
    """Every case that is judged by. What a case needs whose runs are all judged may be gone by now: it is left out.

    Raises:
        SetupError: one cannot be read, or no run is of the one that replaces a stored case.
    """
    names = {state.case for states in stored for state in states.values()}
    if mended is not None and mended.name not in names:
        raise SetupError(
            f"no run there is of a case called {mended.name!r} (that is the name of the case's folder); "
            f"there are {', '.join(sorted(names))}."
        )
    cases: dict[CaseKey, Case] = {}
    for folder, state in left:
        key = folder, state.case, state.case_hash
        if state.case_hash and key not in cases:
            replaced = mended is not None and mended.name == state.case
            cases[key] = mended if replaced and mended is not None else stored_case(*key)
    return tuple(cases.values())
