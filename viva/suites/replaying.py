"""Asks another agent the questions of stored conversations, and judges its replies."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from viva.cases import Case, find_cases, load_cases
from viva.errors import SetupError
from viva.exam.examiners import MODEL, REPLAY, SCRIPT
from viva.exam.forking.fork import Fork, fork_at
from viva.exam.judging.stored_facts import facts_of
from viva.exam.stored_runs import read_states_to_resume
from viva.exam.subscribers import RunHeader
from viva.examiner.conversation import DEFAULT_MAX_ROUNDS
from viva.journal.conversation_lines import ConversationLines, read_conversation_lines
from viva.journal.kept_cases import stored_case, unpack_data_files
from viva.journal.reader import decode_run
from viva.journal.writer import run_id
from viva.records.transcript import LIVE, StopReason
from viva.records.wording import counted
from viva.suites.chosen.conversations import wanted_conversations
from viva.suites.chosen.journal_parts import noting_parts
from viva.suites.conduct import Surroundings, Work, conduct
from viva.suites.engine import SuiteEnd
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.plan import refuse_same_id
from viva.suites.request import JournalsRequest, with_missing
from viva.suites.resuming.left_out import LeftOut
from viva.suites.resuming.next_step import NextStep, ResumeStep, kept_digests, next_step
from viva.suites.resuming.stored_request import store_missing

WHOLE = (StopReason.FINISHED, StopReason.MAX_ROUNDS)
"""The stop reasons of conversations in which the examiner asked all of its questions."""
SHOWN_GAPS = 5


@dataclass(slots=True)
class _Questions:
    """The new runs and the cases of stored conversations, and which conversations are left out."""

    runs: dict[str, RunHeader] = field(default_factory=dict)
    """The new runs, by the id of the stored run."""
    cases: dict[tuple[str, str], Case] = field(default_factory=dict)
    """The cases by name and hash, because two cases may have the same content."""
    hashes: dict[str, str] = field(default_factory=dict)
    """The hash of each case, by the id of the stored run."""
    broken_off: int = 0
    """Number of conversations that broke off before every question was asked."""
    scripted: bool = True
    """Whether the scripts of their cases asked in all of them."""
    too_short: int = 0
    """Number of conversations without the round after which they are to be continued."""
    gaps: dict[str, str] = field(default_factory=dict)
    """The missing rounds of incomplete conversations, in words, by the id of the stored run."""


async def ask_again(
    request: JournalsRequest, folder: Path, around: Surroundings, *, resumed: bool = False, retry_errors: bool = False
) -> SuiteEnd:
    """Repeat every stored exam with the agent of the options.

    Args:
        request: The journal with the questions, and the options with the agent and the judge.
        folder: The new journal's folder.
        around: The engine, display, sinks and subscribers.
        resumed: Whether the folder already holds some of the runs.
        retry_errors: Whether to repeat runs that failed through no fault of the agent.

    Raises:
        SetupError: there is nothing to ask, or the user must change something.
        JournalError: a journal cannot be read or written.
    """
    # The agents get the data files from a temporary folder, never by paths that the journal contains.
    with tempfile.TemporaryDirectory(prefix="viva-cases-") as data:
        questions = _questions(request, Path(data))
        # As stored: who resumes it finds the same examiner again.
        left_out = LeftOut(gaps=questions.gaps, broken_off=0 if request.journals[0][1] else questions.broken_off)
        if resumed:  # the journal may have been completed since it was stored
            request = replace(request, incomplete=noting_parts(request).incomplete)
        asked = with_missing(request, left_out)
        if request.fork_at and request.options.examiner is None:
            examiner = SCRIPT if questions.scripted else REPLAY
            request = replace(request, options=replace(request.options, examiner=examiner))
        for words in _notices(questions.broken_off, request.journals[0][1]):
            around.display.note(words)
        if questions.too_short:
            number = counted(questions.too_short, "conversation")
            around.display.note(f"left out: {number} with fewer than {counted(request.fork_at, 'round')}")

        def prepare() -> Work:
            states = read_states_to_resume(folder) if resumed else {}
            steps = {
                stored: next_step(states.get(header.id), retry_errors=retry_errors)
                for stored, header in questions.runs.items()
            }
            work = _work(request, questions, steps)
            kept = ((states.get(questions.runs[stored].id), step.step) for stored, step in steps.items())
            return replace(work, request=asked, order=replace(work.order, digests=kept_digests(kept)))

        end = await conduct(folder, prepare, around, resumed=resumed)
    end.conversations = left_out
    if resumed and not end.left_out:
        store_missing(folder.absolute(), asked.incomplete)
    return end


def _work(request: JournalsRequest, questions: _Questions, steps: Mapping[str, NextStep]) -> Work:
    """Return the work that is left; `steps` has the next step of each run, by the id of the stored run."""
    done = sum(each.step is ResumeStep.SKIP for each in steps.values())
    concurrency = min(request.options.concurrency, len(questions.runs))
    order = WorkOrder(
        options=replace(request.options, concurrency=concurrency),
        cases=tuple(questions.cases.values()),
        agents=(_agent_of(request),),
        asks=request.fork_at > 0 and request.options.examiner not in (None, REPLAY),
    )
    return Work(
        request=request,
        order=order,
        jobs=lambda new: _jobs(wanted_conversations(request), new, questions, steps, request),
        total=len(questions.runs) - done,
        done_before=done,
    )


def _agent_of(request: JournalsRequest) -> str:
    assert request.options.agent is not None
    return request.options.agent


def _notices(broken_off: int, only: str | None) -> Iterator[str]:
    if broken_off and only:
        yield "this conversation broke off; only the questions that were asked are asked again"
    elif broken_off:
        number = counted(broken_off, "conversation")
        yield f"left out: {number} that broke off before every question was asked"


def _questions(request: JournalsRequest, data: Path) -> _Questions:
    """Return the questions of the stored runs.

    If one agent was asked, trials keep their numbers; otherwise, trials of the same case are numbered consecutively.

    Args:
        request: The journal with the questions, and the options.
        data: An empty folder for the cases' data files.

    Raises:
        SetupError: there is nothing to ask, or a case cannot be read.
        JournalError: the journal cannot be read.
    """
    folder, only = request.journals[0]
    agent, named = _agent_of(request), named_cases(request.options.cases)
    found = _Questions()
    taken: set[tuple[str, int]] = set()
    headers: dict[str, RunHeader] = {}
    for lines in wanted_conversations(request):
        stored = decode_run(replace(lines, judged=()))
        if stored.transcript.source != LIVE:
            raise SetupError(
                f"{lines.run} in {folder} is a recording. Its questions cannot be asked again, because it has no case "
                "by which the replies could be judged."
            )
        if request.fork_at:
            if only is None and len(stored.transcript.rounds) < request.fork_at:
                found.too_short += 1
                continue
            found.scripted = found.scripted and stored.setting.examiner == SCRIPT
            fork = fork_at(stored, request.fork_at, request.ways, request.edits)
            fork.look()
            if request.edits.message is None:
                refuse_end(fork, request.options.examiner)
        elif gap := lines.gap or stored.gap:
            found.gaps[lines.run] = gap
            continue
        whole = bool(stored.transcript.rounds) and (request.fork_at > 0 or stored.transcript.stop in WHOLE)
        found.broken_off += not whole
        if not stored.transcript.rounds or not (whole or only):
            continue
        facts = facts_of(lines)
        key = stored.setting.case, stored.setting.case_hash
        if key not in found.cases:
            found.cases[key] = with_data_files(stored_case(folder, *key), folder, data, named)
        case, trial = found.cases[key], facts.trial
        if request.edits.message is not None:
            _refuse_last_round(lines.run, request.fork_at, request.options.max_rounds or case.max_rounds)
        while (case.name, trial) in taken:
            trial += 1
        taken.add((case.name, trial))
        found.hashes[lines.run] = case.hash
        header = RunHeader(
            id=run_id(case.name, agent, trial), subject=case.name, agent=agent, trial=trial, tags=case.tags
        )
        refuse_same_id(headers.setdefault(header.id, header), header)
        found.runs[lines.run] = header
    if not found.runs:
        raise SetupError(f"{folder} holds no conversation to ask again{_why_none(found)}.")
    return found


def refuse_end(fork: Fork, examiner: str | None) -> None:
    """Check that something is left to ask, unless a model asks.

    Raises:
        SetupError: the stored questions are to be asked, and there is none after the fork.
    """
    transcript = fork.stored.transcript
    over = examiner == REPLAY or transcript.stop in WHOLE
    if examiner != MODEL and over and fork.round >= len(transcript.rounds):
        raise SetupError(
            f"no question of {fork.stored.id} is left after round {fork.round}. Choose an earlier round for --fork-at, "
            "or have a model continue: --examiner model --model NAME"
        )


def _refuse_last_round(run: str, fork_at: int, most: int | None) -> None:
    """Check that the conversation may have the round in which an edited message is asked.

    Raises:
        SetupError: it ends with the round of the fork.
    """
    most = most or DEFAULT_MAX_ROUNDS
    if fork_at >= most:
        raise SetupError(
            f"the edited message cannot be asked: {run} has at most {counted(most, 'round')}. Choose an earlier round "
            "for --fork-at; the message is that of the round after it."
        )


def _why_none(found: _Questions) -> str:
    why = (
        f": {found.broken_off} broke off before every question was asked (to ask one of them, name it: JOURNAL#RUN-ID)"
        if found.broken_off
        else ""
    )
    if found.too_short:
        why = f": {counted(found.too_short, 'conversation')} ended before the round of --fork-at"
    return why + "".join(f"; {run}: {gap}" for run, gap in list(found.gaps.items())[:SHOWN_GAPS])


def with_data_files(case: Case, folder: Path, data: Path, named: Mapping[str, Case]) -> Case:
    """Return the case with the data files of the stored exam, from a folder that the user named or from the journal.

    Paths in the journal are ignored, because a stranger's journal must not give the agent files of this machine.

    Raises:
        SetupError: the data files are missing.
    """
    if not case.own_files:
        return case
    # The hash covers the data files too.
    on_disk = named.get(case.hash)
    if on_disk is not None:
        return replace(case, data_folder=on_disk.folder, data_files=on_disk.data_files, mcp=on_disk.mcp)
    return unpack_data_files(case, folder, data)


def named_cases(paths: Sequence[str]) -> dict[str, Case]:
    """Return the cases that the user named, by hash.

    Raises:
        CaseError: a case is invalid.
    """
    found = (case for path in paths for file in find_cases(Path(path)) for case in load_cases(file))
    return {case.hash: case for case in found}


def _jobs(
    stored: Iterator[ConversationLines],
    folder: Path,
    questions: _Questions,
    steps: Mapping[str, NextStep],
    request: JournalsRequest,
) -> Iterator[Job]:
    """Yield the jobs. Conversations that already ended in the new journal come last: they are only judged."""
    to_judge: dict[str, tuple[RunHeader, str, NextStep]] = {}
    for lines in stored:
        header = questions.runs.get(lines.run)
        if header is None or steps[lines.run].step is ResumeStep.SKIP:
            continue
        step = steps[lines.run]
        header, digest = replace(header, attempt=step.attempt), questions.hashes[lines.run]
        if step.step is ResumeStep.JUDGE:
            to_judge[header.id] = header, digest, step
        else:
            asked = replace(lines, judged=())
            yield Job(
                action=Action.REPLAY,
                header=header,
                case_hash=digest,
                conversation=asked,
                fork_at=request.fork_at or None,
                fork_by=request.ways,
                edits=request.edits,
                unfair=step.unfair,
            )
    if to_judge:
        for lines in read_conversation_lines(folder):
            if lines.run in to_judge:
                header, digest, step = to_judge[lines.run]
                yield Job(
                    action=Action.JUDGE,
                    header=header,
                    case_hash=digest,
                    conversation=lines,
                    carried=True,
                    unfair=step.unfair,
                )
