"""Asks another agent the questions of stored conversations again, and judges what it says."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from adapters.errors import SetupError
from cases import Case, find_cases, load_case
from harness.exam.kept_cases import stored_case, unpack_data_files
from harness.exam.stored_runs import facts_of, read_states_to_resume
from harness.exam.subscribers import RunHeader
from harness.suites.conduct import Surroundings, Work, conduct
from harness.suites.engine import SuiteEnd, SuiteLimits
from harness.suites.job import Action, Job, WorkOrder
from harness.suites.resume import NextStep, Step, next_step
from harness.suites.sources import Sources, save_sources
from harness.wording import counted
from records.conversation_lines import ConversationLines, read_conversation_lines
from records.journal import run_id
from records.journal_reader import decode_run
from records.transcript import LIVE, StopReason

WHOLE = (StopReason.FINISHED, StopReason.MAX_ROUNDS)
"""How a conversation stops in which the examiner asked all that it wanted to ask."""
SHOWN_GAPS = 5


@dataclass(slots=True)
class _Questions:
    """What is asked: of each stored run which case, as which run, and what is left to do with that."""

    runs: dict[str, RunHeader] = field(default_factory=dict)
    """Stored id to the new run."""
    cases: dict[tuple[str, str], Case] = field(default_factory=dict)
    """By name and hash: two cases may say the same, and are two cases still."""
    hashes: dict[str, str] = field(default_factory=dict)
    """Stored id to the hash of its case."""
    broken_off: int = 0
    """Conversations that broke off before all was asked."""
    gaps: dict[str, str] = field(default_factory=dict)
    """Stored id of a conversation with holes to which of its rounds are missing."""


async def ask_again(
    sources: Sources, folder: Path, around: Surroundings, *, resumed: bool = False, retry_errors: bool = False
) -> SuiteEnd:
    """Hold every stored exam again with the agent of the options.

    Args:
        sources: The journal whose questions are asked, the agent and the judge.
        folder: The new journal's.
        around: What it runs with, and who is informed.
        resumed: The folder holds some of it already.
        retry_errors: Also hold again what failed then without the agent's fault.

    Raises:
        SetupError: there is nothing to ask, or the user must change something.
        JournalError: a journal cannot be read or written.
    """
    # The agents get the data files from there; what is in the journal is not handed out by its own paths.
    with tempfile.TemporaryDirectory(prefix="viva-cases-") as place:
        return await _ask_again(sources, folder, around, Path(place), resumed=resumed, retry_errors=retry_errors)


async def _ask_again(
    sources: Sources, folder: Path, around: Surroundings, place: Path, *, resumed: bool, retry_errors: bool
) -> SuiteEnd:
    asked_of, only = sources.journals[0]
    agent = sources.options.agent
    assert agent is not None
    questions = _questions(asked_of, only, agent, place, _named_cases(sources.options.cases))
    for words in _notices(questions.broken_off, only):
        around.display.note(words)

    def prepare() -> Work:
        states = read_states_to_resume(folder) if resumed else {}
        steps = {
            stored: next_step(states.get(header.id), retry_errors=retry_errors)
            for stored, header in questions.runs.items()
        }
        done = sum(each.step is Step.SKIP for each in steps.values())
        concurrency = min(sources.options.concurrency, len(questions.runs))
        return Work(
            order=WorkOrder(
                options=replace(sources.options, concurrency=concurrency),
                cases=tuple(questions.cases.values()),
                agents=(agent,),
                asks=False,
            ),
            jobs=lambda new: _jobs(read_conversation_lines(asked_of, only), new, questions, steps),
            total=len(questions.runs) - done,
            done_before=done,
            limits=SuiteLimits(concurrency),
            begun=lambda journal: save_sources(sources, journal),
        )

    end = await conduct(folder, prepare, around, resumed=resumed)
    end.gaps = questions.gaps
    return end


def _notices(broken_off: int, only: str | None) -> Iterator[str]:
    if broken_off and only:
        yield "this conversation broke off: the questions are those that were asked until then"
    elif broken_off:
        number = counted(broken_off, "conversation")
        yield f"{number} broke off before all was asked; left out: half an exam says little"


def _questions(folder: Path, only: str | None, agent: str, place: Path, named: Mapping[str, Case]) -> _Questions:
    """What is asked of the stored runs.

    Trials keep their number where one agent was asked; those of several go on counting.

    Raises:
        SetupError: there is nothing to ask, or a case cannot be read.
        JournalError: the journal cannot be read.
    """
    found = _Questions()
    taken: set[tuple[str, int]] = set()
    for lines in read_conversation_lines(folder, only):
        stored = decode_run(replace(lines, judged=()))
        if stored.transcript.source != LIVE:
            raise SetupError(
                f"{lines.run} in {folder} is a recording: it names no case by which what another agent says could be "
                "judged. Its questions cannot be asked again."
            )
        if gap := lines.gap or stored.gap:
            found.gaps[lines.run] = gap
            continue
        whole = stored.transcript.stop in WHOLE
        found.broken_off += not whole
        if not stored.transcript.rounds or not (whole or only):
            continue
        facts = facts_of(lines)
        key = stored.setting.case, stored.setting.case_hash
        if key not in found.cases:
            found.cases[key] = _with_data_files(stored_case(folder, *key), folder, place, named)
        case, trial = found.cases[key], facts.trial
        while (case.name, trial) in taken:
            trial += 1
        taken.add((case.name, trial))
        found.hashes[lines.run] = case.hash
        found.runs[lines.run] = RunHeader(
            id=run_id(case.name, agent, trial), subject=case.name, agent=agent, trial=trial, tags=case.tags
        )
    if not found.runs:
        why = (
            f": {found.broken_off} broke off before all was asked (name one to ask it: JOURNAL#RUN-ID)"
            if found.broken_off
            else ""
        )
        why += "".join(f"; {run}: {gap}" for run, gap in list(found.gaps.items())[:SHOWN_GAPS])
        raise SetupError(f"{folder} holds no conversation to ask again{why}.")
    return found


def _with_data_files(case: Case, folder: Path, place: Path, named: Mapping[str, Case]) -> Case:
    """The case with the data files that the agent got then: from the journal, or where the user says that they lie.

    A stranger's journal must not hand the agent a file of this machine: its own paths are not looked at.

    Raises:
        SetupError: they are not there.
    """
    if not case.data_files:
        return case
    # The hash is of the data files, too.
    on_disk = named.get(case.hash)
    if on_disk is not None:
        return replace(case, data_folder=on_disk.folder, data_files=on_disk.data_files)
    return unpack_data_files(case, folder, place)


def _named_cases(paths: Sequence[str]) -> dict[str, Case]:
    """The cases that the user named, by hash.

    Raises:
        CaseError: one is not sound.
    """
    found = (load_case(file) for path in paths for file in find_cases(Path(path)))
    return {case.hash: case for case in found}


def _jobs(
    stored: Iterator[ConversationLines], folder: Path, questions: _Questions, steps: Mapping[str, NextStep]
) -> Iterator[Job]:
    """Conversations that were held again before a stop come last: they are only judged."""
    to_judge: dict[str, tuple[RunHeader, str]] = {}
    for lines in stored:
        header = questions.runs.get(lines.run)
        if header is None or steps[lines.run].step is Step.SKIP:
            continue
        step = steps[lines.run]
        header, digest = replace(header, attempt=step.attempt), questions.hashes[lines.run]
        if step.step is Step.JUDGE:
            to_judge[header.id] = header, digest
        else:
            asked = replace(lines, judged=())
            yield Job(action=Action.REPLAY, header=header, case_hash=digest, conversation=asked)
    if to_judge:
        for lines in read_conversation_lines(folder):
            if lines.run in to_judge:
                header, digest = to_judge[lines.run]
                yield Job(action=Action.JUDGE, header=header, case_hash=digest, conversation=lines, carried=True)
