"""Judges stored conversations again, into a journal of their own; the agent is not needed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

from adapters.errors import SetupError
from cases import Case
from harness.run import make_record
from records.codec import decode, encode
from records.journal import Damage, Journal
from records.protocols import Context, Evaluator
from records.run import RunRecord, Setting, Timing
from records.stored import StoredRun, read_runs
from records.transcript import StopReason


async def judge_again(
    folder: Path,
    run: str | None,
    journal: Journal,
    evaluators: list[Evaluator],
    change: Callable[[Setting], Setting],
    damage: Damage,
    mended: Case | None = None,
) -> AsyncIterator[tuple[StoredRun, RunRecord | None]]:
    """Judge the runs of a journal again.

    Args:
        folder: The journal to read.
        run: Only this run.
        journal: The journal to write: the conversations as they are, the new verdicts, the new records.
        evaluators: Judge.
        change: Puts the new judge into a run's setting.
        damage: Counts lines that had to be skipped.
        mended: Replaces the stored case of the same name.

    Yields:
        Each stored run with its new record; None for one whose conversation never ended.
    """
    cases: dict[tuple[str, str], Case] = {}
    for stored in read_runs(folder, run, damage, keep_lines=True):
        if not stored.ended:
            yield stored, None
            continue
        began = time.monotonic()
        paper = stored.setting.case, stored.setting.case_hash
        case = cases.get(paper)
        if case is None:
            case = cases[paper] = paper_for(stored, mended, journal)
        workspace = workspace_of(stored)
        context = Context(stored.id, case, workspace)
        transcript = stored.transcript
        broken = transcript.stop is StopReason.EXAMINER_ERROR
        insights = () if broken else tuple([await each.evaluate(transcript, context) for each in evaluators])
        setting = replace(stored.setting, workspace=_from(journal.folder, workspace), case_hash=case.hash)
        setting = change(setting)
        journal.copy_lines(stored.lines, stored.folder)
        journal.append("setting", stored.id, stored.attempt, setting)
        for insight in insights:
            journal.append("insight", stored.id, stored.attempt, insight)
        old = stored.record
        timing = old.timing if old else Timing(time.time(), time.monotonic() - began)
        record = make_record(stored.id, setting, transcript, insights, timing)
        if old is not None:
            record = replace(record, agent_version=old.agent_version, trial=old.trial, tags=old.tags)
        record = replace(record, attempt=stored.attempt)
        journal.append("run", stored.id, stored.attempt, record)
        yield stored, record
    journal.sync()


def paper_for(stored: StoredRun, mended: Case | None, journal: Journal | None = None) -> Case:
    """The case that a stored run is judged by: `mended` if that is its case, else the stored one.

    Raises:
        SetupError: the journal does not hold it.
    """
    if mended is None or mended.name != stored.setting.case:
        return stored_case(stored, journal)
    if journal is not None:
        journal.keep(f"cases/{mended.hash}.json", encode(mended))
    return mended


def stored_case(stored: StoredRun, journal: Journal | None = None) -> Case:
    """The case of a stored run as it was then, under the run's own name: cases of one content share one paper.

    Its scoring points may have changed on disk since.

    Raises:
        SetupError: the journal does not hold it.
    """
    name = f"cases/{stored.setting.case_hash}.json"
    try:
        content = (stored.folder / name).read_bytes()
        case = decode(Case, json.loads(content))
    except (OSError, ValueError) as error:
        raise SetupError(f"the case of run {stored.id} cannot be read from {stored.folder / name}: {error}") from error
    if journal is not None:
        journal.keep(name, content)
    return replace(case, name=stored.setting.case or case.name)


def workspace_of(stored: StoredRun) -> Path | None:
    """The folder with the agent's files, if it still is there."""
    if stored.setting.workspace is None:
        return None
    folder = stored.folder / stored.setting.workspace
    return folder if folder.is_dir() else None


def _from(journal: Path, workspace: Path | None) -> str | None:
    return None if workspace is None else os.path.relpath(workspace.resolve(), journal.resolve())
